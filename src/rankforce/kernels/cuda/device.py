"""The GPU as the launchers see it, through CuPy: memory, compiled code, arrays of callers.

CuPy keeps compiled code on disk, keyed by source and options.
"""

from __future__ import annotations

import contextlib
import functools
import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rankforce.common.errors import RankforceError

CUDA = 2  # of DLPack's kinds of devices
_NOTHING = contextlib.nullcontext()


class Scores(NamedTuple):
    """Scores of a caller, and how arrays of the caller's library are made."""

    array: Any
    pointer: int
    empty: Any  # of a length
    stream: Any  # the context in which that library's work is waited for


class Device:
    """The current GPU."""

    def __init__(self, cupy: Any) -> None:
        self._cupy = cupy
        self.number = int(cupy.cuda.runtime.getDevice())
        facts = cupy.cuda.Device(self.number).attributes
        self.processors = int(facts["MultiProcessorCount"])
        self.shared = int(facts["MaxSharedMemoryPerBlockOptin"])  # bytes that a block may have
        self._kernels: dict[tuple[Any, ...], Any] = {}
        self._compiled = functools.cache(self._compile)

    def upload(self, values: Any) -> Any:
        """An array in the GPU's memory."""
        return self._cupy.asarray(np.ascontiguousarray(values))

    def empty(self, count: int, dtype: Any) -> Any:
        """Room for numbers."""
        return self._cupy.empty(count, dtype)

    def zeros(self, count: int, dtype: Any) -> Any:
        """Zeros."""
        return self._cupy.zeros(count, dtype)

    def pointer(self, array: Any) -> int:
        """Where an array of `upload`, `empty` or `zeros` is."""
        return int(array.data.ptr)

    def download(self, array: Any) -> Any:
        """An array of any library as one of NumPy."""
        return array.cpu().numpy() if hasattr(array, "cpu") else self._cupy.asnumpy(array)

    def fill(self, array: Any, values: Any) -> None:
        """Copy numbers of NumPy into an array of any library."""
        if hasattr(array, "cpu"):
            array.copy_(sys.modules["torch"].from_numpy(values))
        else:
            array.set(values.astype(array.dtype))

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
        """Run a kernel of these files with `blocks` of `threads` and bytes of `shared` memory."""
        key = files, macros, name, shared
        kernel = self._kernels.get(key)
        if kernel is None:
            kernel = self._kernels[key] = self._compiled(files, macros).get_function(name)
            kernel.max_dynamic_shared_size_bytes = max(shared, kernel.max_dynamic_shared_size_bytes)
        kernel((blocks,), (threads,), arguments, shared_mem=shared)

    def _compile(self, files: tuple[str, ...], macros: tuple[tuple[str, Any], ...]) -> Any:
        options = ("--std=c++17", "--use_fast_math", *(f"-D{key}={value}" for key, value in macros))
        return self._cupy.RawModule(code=source(files), options=options)

    def scores(self, given: Any) -> Scores:
        """A caller's scores as they are, or as float32 one behind the other."""
        torch = sys.modules.get("torch")
        if torch is not None and isinstance(given, torch.Tensor):
            return self._of_torch(torch, given)
        kind = given.__dlpack_device__()[0] if hasattr(given, "__dlpack_device__") else None
        if kind != CUDA and not hasattr(given, "__cuda_array_interface__"):
            raise RankforceError(
                f"scores are a {type(given).__name__} in the processor's memory: give an array on "
                "the GPU, of torch or CuPy"
            )
        array = self._cupy.asarray(given)
        self._check_number(array.device.id)
        array = self._cupy.ascontiguousarray(array, np.float32)
        empty = functools.partial(self._cupy.empty, dtype=np.float32)
        return Scores(array, self.pointer(array), empty, _NOTHING)

    def _of_torch(self, torch: Any, given: Any) -> Scores:
        if given.device.type != "cuda":
            raise RankforceError(
                f"scores are on the device {str(given.device)!r}: their forces are found on 'cuda'"
            )
        self._check_number(given.device.index)
        array = given.detach().to(torch.float32).contiguous()
        empty = functools.partial(torch.empty, dtype=torch.float32, device=array.device)
        own = torch.cuda.current_stream(array.device)
        # The usual stream is CuPy's as well, and telling takes 20 microseconds.
        stream = self._cupy.cuda.Stream.from_external(own) if own.cuda_stream else _NOTHING
        return Scores(array, array.data_ptr(), empty, stream)

    def _check_number(self, number: int) -> None:
        if number != self.number:
            raise RankforceError(
                f"scores are on the device 'cuda:{number}', but labels on 'cuda:{self.number}'"
            )


@functools.cache
def source(files: tuple[str, ...]) -> str:
    """These files of CUDA C++, one behind the other."""
    folder = Path(__file__).parent
    return "\n".join((folder / name).read_text(encoding="utf-8") for name in files)


def find_device() -> Device:
    """The current GPU, or one line that says what is missing."""
    try:
        import cupy
    except ImportError:
        raise RankforceError("forces on a GPU need CuPy: pip install 'rankforce[cuda]'") from None
    try:
        count = cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        raise RankforceError(f"CuPy finds no GPU: {error}") from None
    if not count:
        raise RankforceError("CuPy finds no GPU: there is none, or CUDA_VISIBLE_DEVICES hides it")
    return _device(int(cupy.cuda.runtime.getDevice()))


@functools.cache
def _device(number: int) -> Device:
    import cupy

    return Device(cupy)
