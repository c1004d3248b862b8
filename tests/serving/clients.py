"""Clients that ask all the time, and know what the right answer is."""

from __future__ import annotations

import http.client
import json
import threading
from collections.abc import Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

import rankforce as rf
from tests.serving.running import Running


def answers_of(rankers: Mapping[str, rf.Ranker], rows: np.ndarray) -> dict[str, list[float]]:
    """Version -> the scores of the rows, best first."""
    return {name: np.sort(one.predict(rows))[::-1].tolist() for name, one in rankers.items()}


class Crowd:
    """Threads, each with a connection of its own, that ask for the same ranking again and again.

    A connection that dies is opened anew and the request sent again, as HTTP clients do.
    """

    def __init__(self, server: Running, rows: np.ndarray, known: Mapping[str, list[float]]) -> None:
        self._server, self._known = server, known
        self._body = json.dumps({"features": rows.tolist()}).encode()
        self._is_over = threading.Event()
        self.seen: dict[str, int] = {}  # answers by version
        self.wrong: list[str] = []
        self.lost: list[str] = []
        self.retried = 0

    @property
    def count(self) -> int:
        return sum(self.seen.values())

    def _ask(self, connection: http.client.HTTPConnection) -> Any:
        connection.request("POST", "/rank", self._body, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        return answer.status, answer.read()

    def _ask_again(self, connection: http.client.HTTPConnection) -> Any:
        for _ in range(3):
            try:
                return self._ask(connection)
            except (http.client.HTTPException, ConnectionError):  # noqa: PERF203
                self.retried += 1
                connection.close()
        return 0, b"the connection died three times"

    def run(self) -> None:
        connection = self._server.connect()
        while not self._is_over.is_set():
            status, content = self._ask_again(connection)
            if status != 200:
                self.lost.append(content.decode())
                continue
            told = json.loads(content)
            version = told["version"]
            if [one["score"] for one in told["ranking"]] != self._known.get(version):
                self.wrong.append(version)
            self.seen[version] = self.seen.get(version, 0) + 1
        connection.close()

    @contextmanager
    def asking(self, threads: int) -> Any:
        workers = [threading.Thread(target=self.run) for _ in range(threads)]
        for one in workers:
            one.start()
        try:
            yield self
        finally:
            self._is_over.set()
            for one in workers:
                one.join()
