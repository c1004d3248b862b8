"""A worker that does not listen: connections come from the first process, through a socket."""

from __future__ import annotations

import asyncio
import socket
from functools import partial
from typing import Any

import uvicorn


class Guest(uvicorn.Server):
    """uvicorn's server on connections that are handed to it; without the first process it ends."""

    def __init__(self, config: uvicorn.Config, line: socket.socket) -> None:
        super().__init__(config)
        self._line = line
        self._coming: set[asyncio.Task[Any]] = set()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start the application, and say that connections may come."""
        await super().startup(sockets=[])
        self._line.setblocking(False)
        asyncio.get_running_loop().add_reader(self._line, self._take)
        self._line.send(b"r")

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Take no more connections, and finish those that are there."""
        asyncio.get_running_loop().remove_reader(self._line)
        await asyncio.gather(*self._coming)
        await super().shutdown(sockets=[])
        self._line.close()

    def _take(self) -> None:
        try:
            said, given, _, _ = socket.recv_fds(self._line, 1, 1)
        except BlockingIOError:
            return
        except ConnectionError:
            said, given = b"", []
        if not said:
            asyncio.get_running_loop().remove_reader(self._line)
            self.should_exit = True
        for one in given:
            task = asyncio.create_task(self._welcome(socket.socket(fileno=one)))
            self._coming.add(task)
            task.add_done_callback(self._coming.discard)

    async def _welcome(self, connection: socket.socket) -> None:
        connection.setblocking(False)
        protocol: Any = self.config.http_protocol_class
        state = {"server_state": self.server_state, "app_state": self.lifespan.state}
        make = partial(protocol, config=self.config, **state)
        await asyncio.get_running_loop().connect_accepted_socket(make, connection)
