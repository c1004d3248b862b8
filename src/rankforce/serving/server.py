"""A server process: a socket, workers, signals."""

from __future__ import annotations

import logging
import signal
import socket
import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path

import uvicorn

from rankforce.common.errors import RankforceError
from rankforce.serving.app import make_app
from rankforce.serving.door import is_loopback
from rankforce.serving.limits import Limits

BACKLOG = 2048


def serve(
    models: Mapping[str, Path],
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    workers: int = 1,
    token: str | None = None,
    limits: Limits | None = None,
    base: Path | None = None,
) -> None:
    """Serve until SIGTERM or Ctrl-C, which let requests that are being answered end."""
    if token is None and not is_loopback(host):
        raise RankforceError(
            f"others can reach {host}, so a token is needed: give --token-file FILE, or set "
            "RANKFORCE_TOKEN"
        )
    make = partial(make_app, dict(models), token=token, limits=limits, base=base)
    with listen(host, port) as door:
        app = make()
        print(f"http://{shown(door)}  (Ctrl-C stops)", flush=True)
        run_worker(app, door)


def run_worker(app: object, door: socket.socket) -> None:
    """One worker, until it is told to stop."""
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(message)s", stream=sys.stderr)
    # uvicorn raises a signal again when all is answered: a server that was told to stop ends well.
    signal.signal(signal.SIGTERM, lambda *_: None)
    config = uvicorn.Config(
        app,  # type: ignore[arg-type]
        log_config=None,
        log_level="warning",
        access_log=False,
        lifespan="on",
        timeout_graceful_shutdown=30,
        server_header=False,
    )
    uvicorn.Server(config).run(sockets=[door])


def listen(host: str, port: int) -> socket.socket:
    """A socket that accepts connections."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    door = socket.socket(family)
    door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        door.bind((host, port))
        door.listen(BACKLOG)
    except (OSError, OverflowError) as error:
        door.close()
        reason = getattr(error, "strerror", None) or error
        raise RankforceError(f"cannot listen on {host}, port {port}: {reason}") from None
    return door


def shown(door: socket.socket) -> str:
    """The address of a socket, as a browser takes it."""
    host, port = door.getsockname()[:2]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
