"""A device that runs the GPU's kernels on the processor, where there is no GPU: see processor.h."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import hashlib
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rankforce.kernels.compile import cache_folder
from rankforce.kernels.cuda import device
from rankforce.kernels.cuda.device import Scores

COMPILER = shutil.which("g++") or shutil.which("clang++")
KERNELS = Path(device.__file__).parent


class Way(NamedTuple):
    """How kernels are made to run here."""

    header: str
    options: tuple[str, ...]


PLAIN = Way("processor.h", ("-O1",))


class Copied(NamedTuple):
    host: Any

    def get(self) -> Any:
        return self.host


class Processor:
    """As `kernels.cuda.device.Device`, with arrays of NumPy."""

    number = 0
    processors = 2
    threads = 2048
    name = "the processor"
    full = MemoryError
    failures = (OSError,)
    free = 1 << 30

    def __init__(self, shared: int = 227 * 1024, *, backward: bool = False) -> None:
        self.shared = shared
        self.backward = backward

    def upload(self, values: Any) -> Any:
        return np.array(values)

    def empty(self, count: int, dtype: Any) -> Any:
        """Room that is not 0 by itself."""
        found = np.empty(count, dtype)
        found.view(np.uint8).fill(0xFF)
        return found

    def zeros(self, count: int, dtype: Any) -> Any:
        return np.zeros(count, dtype)

    def pointer(self, array: Any) -> int:
        return int(array.ctypes.data)

    def download(self, array: Any) -> Any:
        return array

    def fetch(self, array: Any) -> Any:
        return Copied(array.copy())

    def fill(self, array: Any, values: Any) -> None:
        array[:] = values

    def scores(self, given: Any) -> Scores:
        array = np.ascontiguousarray(given, np.float32)
        empty = functools.partial(self.empty, dtype=np.float32)
        return Scores(array, self.pointer(array), empty, contextlib.nullcontext())

    def repeated(self, launch_all: Callable[[], None]) -> Callable[[], None]:
        return launch_all

    def launch(
        self,
        files: tuple[str, ...],
        macros: tuple[tuple[str, Any], ...],
        name: str,
        *,
        blocks: int,
        threads: int,
        shared: int,
        arguments: tuple[Any, ...],
    ) -> None:
        assert shared <= self.shared
        library = compiled(files, macros)
        library.set_backward(int(self.backward))
        run(library, name, blocks, threads, shared, arguments)


def run(
    library: ctypes.CDLL, name: str, blocks: int, threads: int, shared: int, arguments: Any
) -> None:
    """Launch a kernel of a library."""
    given = (ctypes.c_void_p(one.ctypes.data) for one in arguments)
    getattr(library, f"run_{name}")(blocks, threads, shared, *given)


def kernels_of(files: tuple[str, ...]) -> str:
    """The source, with a note where each line is from; the header has the memory of a block."""
    paths = [KERNELS / name for name in files]
    texts = [f'#line 1 "{path}"\n{path.read_text("utf-8")}' for path in paths]
    return re.sub("extern __shared__ .*", "", "\n".join(texts))


@functools.cache
def compiled(
    files: tuple[str, ...], macros: tuple[tuple[str, Any], ...], way: Way = PLAIN
) -> ctypes.CDLL:
    """The kernels of these files as a library."""
    return ctypes.CDLL(str(build(files, macros, way)))


def build(files: tuple[str, ...], macros: tuple[tuple[str, Any], ...], way: Way) -> Path:
    """The file of that library, made unless it is there."""
    kernels = kernels_of(files)
    text = f'#include "{way.header}"\n{kernels}\n'
    for name, given in re.findall(r"__global__ .*?(\w+)\(([^()]*)\) \{", kernels):
        kinds = [re.sub(r"^const\s+", "", one.strip()).split()[0] for one in given.split(",")]
        taken = "".join(f", {kind}* a{number}" for number, kind in enumerate(kinds))
        passed = ", ".join(f"*a{number}" for number in range(len(kinds)))
        text += (
            f'extern "C" void run_{name}(unsigned blocks, unsigned count, unsigned shared{taken})\n'
            f"{{\n    run_grid(blocks, count, shared, [&] {{ {name}({passed}); }});\n}}\n"
        )
    folder = cache_folder() / "cuda-on-processor"
    folder.mkdir(parents=True, exist_ok=True)
    here = Path(__file__).parent
    headers = [(here / name).read_text("utf-8") for name in (way.header, "cuda_words.h")]
    what = repr((text, headers, macros, way.options))
    library = folder / f"{hashlib.sha256(what.encode()).hexdigest()[:16]}.so"
    if not library.exists():
        options = [*way.options, *(f"-D{key}={value}" for key, value in macros)]
        plain = ["-std=c++17", "-fno-strict-aliasing", "-fPIC", "-shared", "-w"]
        with tempfile.TemporaryDirectory(dir=folder) as made:
            path = Path(made) / "kernels.cpp"
            path.write_text(text, encoding="utf-8")
            built = Path(made) / "kernels.so"
            command = [str(COMPILER), *plain, *options, f"-I{here}", str(path), "-o", str(built)]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stderr
            built.rename(library)
    return library
