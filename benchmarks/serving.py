"""Load `rankforce serve` on this machine: requests a second, p50 and p99; reloads, a killed worker.

    python benchmarks/serving.py                       # about three minutes
    python benchmarks/serving.py --seconds 1 --reloads 3
    python benchmarks/serving.py --json result.json

Each request has 100 documents with 136 features of a made-up set, in float32, and asks a forest of
300 trees x 31 leaves for the best 10. Clients are one process that keeps 1, 8 or 32 connections
busy, without a pause between two requests; it takes about half a core of its own, and on a machine
with two cores stands in the way of the second worker. Every answer is compared, by its bytes, with
one whose ranking was compared with `ranker.rank` before.

Then 8 connections go on while the model is replaced, turn by turn by another one, and a worker is
killed (SIGKILL). A request whose connection dies with its worker is sent again on a new one, as
HTTP clients do with what may be repeated; these are counted. An answer is wrong if it is not the
ranking of the version that it names, and lost if it is no ranking, or does not come.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import os
import platform
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
import pyarrow as pa
from versions import installed

import rankforce as rf
from rankforce.serving.models import version_of

DOCUMENTS, TOP, QUERIES = 100, 10, 20
CONNECTIONS = (1, 8, 32)
WORKERS = (1, 2)
JSON = "application/json"
ARROW = "application/vnd.apache.arrow.stream"
ATTEMPTS = 5


class Asked(NamedTuple):
    """A request as bytes, and the rankings that may come back, by version."""

    content: bytes
    known: Mapping[str, list[tuple[int, float]]]


class Load:
    """What clients have seen."""

    def __init__(self, port: int, asked: list[Asked]) -> None:
        self._port, self._asked = port, asked
        self._good: list[set[bytes]] = [set() for _ in asked]
        self.seconds: list[float] = []
        self.versions: set[str] = set()
        self.wrong = self.lost = self.retried = 0
        self.is_over = False

    async def run(self, connections: int) -> None:
        """Keep connections busy until it is over."""
        await asyncio.gather(*(self._client(number) for number in range(connections)))

    async def _client(self, number: int) -> None:
        line: Any = None
        while not self.is_over:
            number = (number + 1) % len(self._asked)
            began = time.perf_counter()
            for attempt in range(ATTEMPTS):
                try:
                    if line is None:
                        line = await asyncio.open_connection("127.0.0.1", self._port)
                    status, content = await exchange(line, self._asked[number].content)
                    break
                except (OSError, asyncio.IncompleteReadError):
                    line = None
                    self.retried += 1
                    status, content = 0, b""
                    await asyncio.sleep(0.01 * attempt)
            self.seconds.append(time.perf_counter() - began)
            self._judge(number, status, content)
        if line is not None:
            line[1].close()

    def _judge(self, number: int, status: int, content: bytes) -> None:
        if status != 200:
            self.lost += 1
        elif content not in self._good[number]:
            told = json.loads(content)
            found = [(one["row"], one["score"]) for one in told["ranking"]]
            self.versions.add(told["version"])
            if found == self._asked[number].known.get(told["version"]):
                self._good[number].add(content)
            else:
                self.wrong += 1


async def exchange(line: Any, content: bytes) -> tuple[int, bytes]:
    """Send a request, and read its answer."""
    reader, writer = line
    writer.write(content)
    head: bytes = await reader.readuntil(b"\r\n\r\n")
    length = head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0]
    return int(head.split(b" ", 2)[1]), await reader.readexactly(int(length))


def known_ranking(ranker: rf.Ranker, rows: np.ndarray) -> list[tuple[int, float]]:
    best = ranker.rank(rows, top=TOP)
    return list(zip(best.row.tolist(), best.score.tolist(), strict=True))


def request(path: str, kind: str, body: bytes) -> bytes:
    head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: {JSON}\r\n"
    return f"{head}Content-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body


def bodies(rows: np.ndarray, names: list[str]) -> dict[str, bytes]:
    """The same request in each form."""
    documents = [
        {"id": str(row), "features": dict(zip(names, values, strict=True))}
        for row, values in enumerate(rows.tolist())
    ]
    table = pa.table(dict(zip(names, rows.T, strict=True)))
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    by_row = {"features": rows.tolist(), "top": TOP}
    packed = msgspec.msgpack.encode(by_row)
    return {
        "JSON, by name": request(
            "/rank", JSON, msgspec.json.encode({"documents": documents, "top": TOP})
        ),
        "JSON, arrays": request("/rank", JSON, msgspec.json.encode(by_row)),
        "MessagePack, arrays": request("/rank", "application/msgpack", packed),
        "Arrow": request(f"/rank?top={TOP}", ARROW, sink.getvalue().to_pybytes()),
    }


@contextmanager
def server(folder: Path, workers: int) -> Iterator[int]:
    """A server, by its port."""
    command = [sys.executable, "-m", "rankforce", "serve", str(folder), "--port", "0"]
    process = subprocess.Popen(
        [*command, "--workers", str(workers)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        line = process.stdout.readline() if process.stdout else ""
        yield int(line.split()[2].rstrip(":").rpartition(":")[2])
    finally:
        process.terminate()
        process.wait(60)
        if process.stdout:
            process.stdout.close()


async def find_workers(port: int, count: int) -> set[int]:
    """Processes that answer, once all of them do."""
    seen: set[int] = set()
    while len(seen) < count:
        line = await asyncio.open_connection("127.0.0.1", port)
        head = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
        seen.add(json.loads((await exchange(line, head))[1])["worker"])
        line[1].close()
    return seen


async def measure(port: int, workers: int, asked: list[Asked], count: int, seconds: float) -> Any:
    await find_workers(port, workers)
    load = Load(port, asked)
    clients = asyncio.create_task(load.run(count))
    await asyncio.sleep(min(seconds, 0.5))
    load.seconds.clear()
    began = time.perf_counter()
    await asyncio.sleep(seconds)
    took, times = time.perf_counter() - began, np.array(load.seconds)
    load.is_over = True
    await clients
    assert load.wrong + load.lost + load.retried == 0, (load.wrong, load.lost, load.retried)
    p50, p99 = np.percentile(times, [50, 99]) * 1e3
    return {"requests/s": len(times) / took, "p50": p50, "p99": p99}


async def replace(
    port: int, folder: Path, rankers: list[rf.Ranker], asked: list[Asked], reloads: int
) -> dict[str, Any]:
    """Replace the model again and again, and kill a worker in the middle."""
    workers = await find_workers(port, 2)
    load = Load(port, asked)
    clients = asyncio.create_task(load.run(8))
    for turn in range(1, reloads + 1):
        rankers[turn % 2].save(folder)
        if turn == reloads // 2:
            os.kill(workers.pop(), signal.SIGKILL)
        await asyncio.sleep(1.5)  # each worker looks once a second
    load.is_over = True
    await clients
    p50, p99 = np.percentile(load.seconds, [50, 99]) * 1e3
    told = {"answers": len(load.seconds), "wrong": load.wrong, "lost": load.lost}
    assert len(load.versions) == 2, load.versions
    seen = {"sent again": load.retried, "p50": p50, "p99": p99}
    return {**told, **seen, "longest": 1e3 * max(load.seconds)}


def make_rankers(trees: int) -> tuple[list[rf.Ranker], list[np.ndarray]]:
    """Two forests, and the documents of some queries."""
    data = rf.make_data("mslr", queries=300, seed=1)
    rankers = []
    for rate in (0.1, 0.05):
        ranker = rf.Ranker(
            "lambdarank-ndcg", k=10, n_estimators=trees, learning_rate=rate, progress=False
        )
        rankers.append(ranker.fit(data))
    draw = np.random.default_rng(0)
    chosen = [draw.choice(len(data.labels), DOCUMENTS) for _ in range(QUERIES)]
    return rankers, [data.features[rows] for rows in chosen]


def make_requests(rankers: list[rf.Ranker], queries: list[np.ndarray]) -> dict[str, list[Asked]]:
    """Each query in each form, with the rankings of both models."""
    versions = [version_of(one.model_) for one in rankers]
    found: dict[str, list[Asked]] = {}
    for rows in queries:
        known = {v: known_ranking(one, rows) for v, one in zip(versions, rankers, strict=True)}
        for name, content in bodies(rows, rankers[0].feature_name_).items():
            found.setdefault(name, []).append(Asked(content, known))
    return found


def show_loads(
    folder: Path, asked: dict[str, list[Asked]], seconds: float
) -> Iterator[dict[str, Any]]:
    """Measure each form with so many workers and connections, and print a line for each."""
    print(f"\n{'body':<20} {'kB':>5} {'workers':>7} {'connections':>11} ", end="")
    print(f"{'requests/s':>10} {'p50, ms':>8} {'p99, ms':>8}")
    for workers in WORKERS:
        with server(folder, workers) as port:
            for (name, own), count in itertools.product(asked.items(), CONNECTIONS):
                one = asyncio.run(measure(port, workers, own, count, seconds))
                size = len(own[0].content) / 1e3
                print(f"{name:<20} {size:>5.0f} {workers:>7} {count:>11} ", end="")
                print(f"{one['requests/s']:>10,.0f} {one['p50']:>8.2f} {one['p99']:>8.2f}")
                yield {"body": name, "workers": workers, "connections": count} | one


def show_reloads(
    folder: Path, rankers: list[rf.Ranker], asked: list[Asked], reloads: int
) -> dict[str, Any]:
    """Replace the model under load, and print what came of it."""
    with server(folder, 2) as port:
        told = asyncio.run(replace(port, folder, rankers, asked, reloads))
    print(
        f"\n{reloads} reloads and a killed worker: {told['answers']:,} answers, "
        f"{told['wrong']} wrong, {told['lost']} lost; {told['sent again']} requests sent again "
        f"on a new connection; p50 {told['p50']:.2f} ms, p99 {told['p99']:.2f} ms, longest "
        f"{told['longest']:.0f} ms"
    )
    return told


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=5.0, help="of each load (default 5)")
    parser.add_argument("--reloads", type=int, default=20, help="replacements (default 20)")
    parser.add_argument("--trees", type=int, default=300)
    parser.add_argument("--only", default="", help="forms of requests whose name contains this")
    parser.add_argument("--json", metavar="FILE", help="write the numbers to a file as well")
    options = parser.parse_args()
    packages = ("rankforce", "uvicorn", "starlette", "msgspec", "httptools", "uvloop", "pyarrow")
    print(" ".join(f"{name} {number}" for name, number in installed(*packages).items()), end="; ")
    print(f"Python {platform.python_version()}, {os.cpu_count()} processors")
    rankers, queries = make_rankers(options.trees)
    every = make_requests(rankers, queries)
    asked = {name: own for name, own in every.items() if options.only.lower() in name.lower()}
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "run"
        rankers[0].save(folder)
        loads = list(show_loads(folder, asked, options.seconds))
        own = next(iter(asked.values()))
        reloads = show_reloads(folder, rankers, own, options.reloads)
    if options.json:
        Path(options.json).write_text(json.dumps({"load": loads, "reloads": reloads}, indent=1))


if __name__ == "__main__":
    main()
