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
from pathlib import Path
from typing import Any

import numpy as np

from rankforce.kernels.compile import cache_folder
from rankforce.kernels.cuda.device import Scores, source

COMPILER = shutil.which("g++") or shutil.which("clang++")


class Processor:
    """As `kernels.cuda.device.Device`, with arrays of NumPy."""

    number = 0
    processors = 2

    def __init__(self, shared: int = 227 * 1024) -> None:
        self.shared = shared

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

    def fill(self, array: Any, values: Any) -> None:
        array[:] = values

    def scores(self, given: Any) -> Scores:
        array = np.ascontiguousarray(given, np.float32)
        empty = functools.partial(self.empty, dtype=np.float32)
        return Scores(array, self.pointer(array), empty, contextlib.nullcontext())

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
        kernel = getattr(compiled(files, macros), f"run_{name}")
        kernel(blocks, threads, *(ctypes.c_void_p(one.ctypes.data) for one in arguments))


@functools.cache
def compiled(files: tuple[str, ...], macros: tuple[tuple[str, Any], ...]) -> ctypes.CDLL:
    """The kernels of these files as a library."""
    kernels = source(files)
    text = '#include "processor.h"\n' + kernels
    for name, given in re.findall(r"__global__ .*?(\w+)\(([^()]*)\) \{", kernels):
        kinds = [re.sub(r"^const\s+", "", one.strip()).split()[0] for one in given.split(",")]
        taken = "".join(f", {kind}* a{number}" for number, kind in enumerate(kinds))
        passed = ", ".join(f"*a{number}" for number in range(len(kinds)))
        text += (
            f'extern "C" void run_{name}(unsigned blocks, unsigned count{taken}) {{\n'
            f"    run_grid(blocks, count, [&] {{ {name}({passed}); }});\n}}\n"
        )
    folder = cache_folder() / "cuda-on-processor"
    folder.mkdir(parents=True, exist_ok=True)
    here = Path(__file__).parent
    shim = (here / "processor.h").read_text(encoding="utf-8")
    code = hashlib.sha256((text + shim + repr(macros)).encode()).hexdigest()[:16]
    library = folder / f"{code}.so"
    if not library.exists():
        options = [f"-D{key}={value}" for key, value in macros]
        plain = ["-std=c++17", "-O1", "-fno-strict-aliasing", "-fPIC", "-shared", "-w"]
        with tempfile.TemporaryDirectory(dir=folder) as made:
            path = Path(made) / "kernels.cpp"
            path.write_text(text, encoding="utf-8")
            built = Path(made) / "kernels.so"
            command = [str(COMPILER), *plain, *options, f"-I{here}", str(path), "-o", str(built)]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stderr
            built.rename(library)
    return ctypes.CDLL(str(library))
