"""NVIDIA's compiler of kernels, which needs no GPU, and a device that notes what would be launched.

NVRTC is what CuPy calls. For a real architecture it goes on to machine code, so a kernel that wants
more registers or shared memory than that architecture has is refused here and not by a user's GPU.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import importlib.util
import re
from pathlib import Path
from typing import Any, NamedTuple

from rankforce.kernels.cuda.device import OPTIONS, source
from tests.kernels.processor import Processor

Macros = tuple[tuple[str, Any], ...]
MOST_REGISTERS = 65536  # of a block, whatever the architecture


class Limits(NamedTuple):
    """What the kernels are told of a GPU."""

    shared: int  # bytes that a block may have
    threads: int  # of a multiprocessor


# Of a T4, an A100, an H100.
ARCHITECTURES = {
    "sm_75": Limits(shared=64 * 1024, threads=1024),
    "sm_80": Limits(shared=163 * 1024, threads=2048),
    "sm_90": Limits(shared=227 * 1024, threads=2048),
}


class Variant(NamedTuple):
    """What is compiled at once."""

    files: tuple[str, ...]
    macros: Macros

    def __str__(self) -> str:
        return f"{self.files[-1]} {' '.join(f'{key}={value}' for key, value in self.macros)}"


class Shape(NamedTuple):
    """The most that any launch of a kernel asks for."""

    threads: int
    shared: int


class Recorder(Processor):
    """A device that runs nothing: it notes which kernels it was asked for, and in what shape."""

    def __init__(self, architecture: str) -> None:
        limits = ARCHITECTURES[architecture]
        super().__init__(limits.shared)
        self.threads = limits.threads
        self.seen: dict[Variant, dict[str, Shape]] = {}

    def empty(self, count: int, dtype: Any) -> Any:
        """Zeros: what no kernel wrote is read all the same."""
        return self.zeros(count, dtype)

    def launch(
        self,
        files: tuple[str, ...],
        macros: Macros,
        name: str,
        *,
        blocks: int,
        threads: int,
        shared: int,
        arguments: tuple[Any, ...],
    ) -> None:
        kernels = self.seen.setdefault(Variant(files, macros), {})
        before = kernels.get(name, Shape(0, 0))
        kernels[name] = Shape(max(threads, before.threads), max(shared, before.shared))


class Used(NamedTuple):
    """What a compiled kernel takes, as the assembler reports it."""

    registers: int  # of a thread
    spilled: int  # bytes of a thread that registers did not hold
    shared: int  # bytes of a block, besides those of the launch


class Built(NamedTuple):
    """Machine code of some files."""

    cubin: bytes
    log: str

    @property
    def kernels(self) -> dict[str, Used]:
        found = {}
        for part in self.log.split("Compiling entry function ")[1:]:
            registers = re.search(r"Used (\d+) registers", part)
            assert registers is not None, self.log
            spilled = sum(map(int, re.findall(r"(\d+) bytes spill stores", part)))
            shared = sum(map(int, re.findall(r"(\d+) bytes smem", part)))
            found[part.split("'")[1]] = Used(int(registers[1]), spilled, shared)
        return found


def find_nvrtc() -> Any:
    """The library of the package nvidia-cuda-nvrtc, or else the system's; None if there is none."""
    spec = importlib.util.find_spec("nvidia")
    folders = list(spec.submodule_search_locations or ()) if spec else []
    packed = [path for one in folders for path in Path(one).glob("*/lib/libnvrtc.so.*")]
    found = str(max(packed)) if packed else ctypes.util.find_library("nvrtc")
    return ctypes.CDLL(found) if found else None


NVRTC = find_nvrtc()


def build(architecture: str, variant: Variant) -> Built:
    """Compile as CuPy would on a GPU of that architecture; an error fails with the whole log."""
    options = [f"--gpu-architecture={architecture}", *OPTIONS, "--ptxas-options=-v"]
    options += [f"-D{key}={value}" for key, value in variant.macros]
    text, name = source(variant.files).encode(), variant.files[-1].encode()
    program = ctypes.c_void_p()
    _check(NVRTC.nvrtcCreateProgram(ctypes.byref(program), text, name, 0, None, None))
    try:
        given = (ctypes.c_char_p * len(options))(*(option.encode() for option in options))
        status = NVRTC.nvrtcCompileProgram(program, len(options), given)
        log = _read(program, "ProgramLog").rstrip(b"\0").decode()
        assert status == 0, f"{variant} for {architecture}:\n{log}"
        return Built(_read(program, "CUBIN"), log)
    finally:
        NVRTC.nvrtcDestroyProgram(ctypes.byref(program))


def _read(program: ctypes.c_void_p, what: str) -> bytes:
    size = ctypes.c_size_t()
    _check(getattr(NVRTC, f"nvrtcGet{what}Size")(program, ctypes.byref(size)))
    room = ctypes.create_string_buffer(size.value)
    _check(getattr(NVRTC, f"nvrtcGet{what}")(program, room))
    return room.raw


def _check(status: int) -> None:
    NVRTC.nvrtcGetErrorString.restype = ctypes.c_char_p
    assert status == 0, NVRTC.nvrtcGetErrorString(status).decode()
