"""Server processes for tests: on a free port of this machine, gone when the block ends."""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from tests.ctrl_c import started

JSON, MSGPACK = "application/json", "application/msgpack"
ARROW = "application/vnd.apache.arrow.stream"
PATIENCE = 60.0  # seconds: machines that run tests are busy


class Answer(NamedTuple):
    status: int
    headers: Mapping[str, str]
    content: bytes

    @property
    def told(self) -> Any:
        return json.loads(self.content)

    @property
    def error(self) -> str:
        return str(self.told["error"])


class Running(NamedTuple):
    """A server, its port, and the file that its log goes to."""

    process: subprocess.Popen[str]
    port: int
    log: Path

    def connect(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)

    def ask(
        self,
        method: str,
        path: str,
        body: Any = None,
        kind: str = JSON,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """One request on a connection of its own; a body that is no bytes is sent as JSON."""
        content = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        own = {} if body is None else {"Content-Type": kind}
        connection = self.connect()
        try:
            connection.request(method, path, content, {**own, **(headers or {})})
            found = connection.getresponse()
            return Answer(found.status, dict(found.getheaders()), found.read())
        finally:
            connection.close()

    def get(self, path: str, **more: Any) -> Answer:
        return self.ask("GET", path, **more)

    def post(self, path: str, body: Any, **more: Any) -> Answer:
        return self.ask("POST", path, body, **more)

    def begin(self, path: str, body: bytes) -> http.client.HTTPConnection:
        """A request of which all but the last byte is sent."""
        connection = self.connect()
        connection.putrequest("POST", path)
        connection.putheader("Content-Type", JSON)
        connection.putheader("Content-Length", str(len(body)))
        connection.endheaders(body[:-1])
        return connection

    def stop(self, sign: int = signal.SIGTERM) -> int:
        """Tell it to stop, and wait; how it ended."""
        self.process.send_signal(sign)
        return self.process.wait(PATIENCE)


@contextmanager
def running(folder: Path, *arguments: str | Path, **environment: str) -> Iterator[Running]:
    """`rankforce serve` with these arguments; `folder` is where its log goes."""
    log = folder / f"log-{time.monotonic_ns()}"
    command = [sys.executable, "-m", "rankforce", "serve", *map(str, arguments), "--port", "0"]
    with (
        open(log, "w") as errors,
        started(
            command,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            env={**os.environ, **environment},
        ) as process,
    ):
        line = process.stdout.readline() if process.stdout else ""
        assert line.startswith("rankforce serves http://"), log.read_text()
        port = int(line.split()[2].rstrip(":").rpartition(":")[2])
        yield Running(process, port, log)


def until(is_so: Callable[[], Any], what: str) -> Any:
    """Wait for something; what it is then."""
    latest = time.monotonic() + PATIENCE
    while time.monotonic() < latest:
        if found := is_so():
            return found
        time.sleep(0.02)
    raise AssertionError(f"waited {PATIENCE:g} s for {what}")


def to_arrow(columns: Mapping[str, Any]) -> bytes:
    table = pa.table(dict(columns))
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())
