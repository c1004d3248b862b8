"""The GPU as the launchers see it, through CuPy: memory, compiled code, arrays of callers.

CuPy keeps compiled code on disk, keyed by source and options.
"""

from __future__ import annotations

import contextlib
import functools
import sys
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rankforce.common.errors import RankforceError

CUDA = 2  # of DLPack's kinds of devices
OPTIONS = ("--std=c++17", "--use_fast_math")  # of the compiler
_NOTHING = contextlib.nullcontext()


class Scores(NamedTuple):
    """Scores of a caller, and how arrays of the caller's library are made."""

    array: Any
    pointer: int
    empty: Any  # of a length
    stream: Any  # the context in which that library's work is waited for


class Fetched(NamedTuple):
    """An array that is on its way from the GPU."""

    host: Any
    event: Any

    def get(self) -> Any:
        """Wait for it, and no longer."""
        self.event.synchronize()
        return self.host


class Device:
    """The current GPU."""

    def __init__(self, cupy: Any) -> None:
        self._cupy = cupy
        self.number = int(cupy.cuda.runtime.getDevice())
        facts = cupy.cuda.Device(self.number).attributes
        self.processors = int(facts["MultiProcessorCount"])
        self.threads = int(facts["MaxThreadsPerMultiProcessor"])
        self.shared = int(facts["MaxSharedMemoryPerBlockOptin"])  # bytes that a block may have
        self.name = cupy.cuda.runtime.getDeviceProperties(self.number)["name"].decode()
        self.full = cupy.cuda.memory.OutOfMemoryError
        # What the driver and the runtime raise.
        self.failures = cupy.cuda.runtime.CUDARuntimeError, cupy.cuda.driver.CUDADriverError
        self._kernels: dict[tuple[Any, ...], Any] = {}
        self._compiled = functools.cache(self._compile)
        # Copies under way, whoever still wants them: CuPy gives memory that is let go to the next
        # upload at once, and what is copied would be uploaded.
        self._under_way: deque[Fetched] = deque()

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

    def fetch(self, array: Any) -> Fetched:
        """Begin to copy an array here; what is launched later waits for it, the caller does not."""
        while self._under_way and self._under_way[0].event.done:
            self._under_way.popleft()
        room = self._cupy.cuda.alloc_pinned_memory(array.nbytes)
        host = np.frombuffer(room, array.dtype, array.size)
        array.get(out=host, blocking=False)
        event = self._cupy.cuda.Event(disable_timing=True)
        event.record()
        self._under_way.append(Fetched(host, event))
        return self._under_way[-1]

    @property
    def free(self) -> int:
        """Bytes of the GPU's memory that are free, those that CuPy keeps among them."""
        pool = self._cupy.get_default_memory_pool()
        return int(self._cupy.cuda.runtime.memGetInfo()[0]) + int(pool.free_bytes())

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

    def repeated(self, launch_all: Callable[[], None]) -> Callable[[], None]:
        """Launches that are made again and again with the same arguments: as one, from the second
        time on, since what compiles or loads code cannot be recorded.
        """
        return _Repeated(self._cupy, launch_all)

    def _compile(self, files: tuple[str, ...], macros: tuple[tuple[str, Any], ...]) -> Any:
        options = (*OPTIONS, *(f"-D{key}={value}" for key, value in macros))
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


class _Repeated:
    """Launches that become one graph."""

    def __init__(self, cupy: Any, launch_all: Callable[[], None]) -> None:
        self._cupy, self._launch_all = cupy, launch_all
        self._is_new = True
        self._graph: Any = None

    def __call__(self) -> None:
        if self._is_new:
            self._is_new = False
            self._launch_all()
            return
        if self._graph is None:
            self._graph = self._record()
        self._graph.launch()

    def _record(self) -> Any:
        stream = self._cupy.cuda.Stream(non_blocking=True)  # the usual one does not record
        with stream:
            stream.begin_capture()
            try:
                self._launch_all()
            finally:
                graph = stream.end_capture()
        return graph


@functools.cache
def source(files: tuple[str, ...]) -> str:
    """These files of CUDA C++, one behind the other."""
    folder = Path(__file__).parent
    return "\n".join((folder / name).read_text(encoding="utf-8") for name in files)


@contextlib.contextmanager
def told_in_words(device: Any, rows: int, columns: int, needed: int) -> Iterator[None]:
    """Say what had no room, and how much it needs."""
    try:
        yield
    except device.full:
        raise RankforceError(
            f"{rows:,} rows of {columns} features take about {needed / 1e9:.2g} GB of the GPU's "
            f"memory, and {device.free / 1e9:.2g} GB are free: leave device out, or give fewer"
        ) from None


def find_device() -> Device:
    """The current GPU, or one line that says what is missing."""
    try:
        import cupy
    except ImportError:
        raise RankforceError("work on a GPU needs CuPy: pip install 'rankforce[cuda]'") from None
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
