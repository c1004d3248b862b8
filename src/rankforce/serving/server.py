"""A server process: a socket, workers, signals."""

from __future__ import annotations

import logging
import signal
import socket
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import uvicorn

from rankforce.common.checks import check_whole
from rankforce.common.errors import RankforceError
from rankforce.serving.answers import warm
from rankforce.serving.app import check_limits, make_app
from rankforce.serving.door import is_loopback
from rankforce.serving.guest import Guest
from rankforce.serving.limits import Limits
from rankforce.serving.models import LOG, Models
from rankforce.serving.workers import run_workers

BACKLOG = 2048  # connections that wait to be accepted
KEEP = 65  # seconds that a connection without a request stays open
DRAIN = 30  # seconds that requests have to end when the server is told to stop


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
    check_whole("workers", workers, least=1)
    check_limits(limits or Limits())
    work = partial(run_worker, dict(models), token=token, limits=limits, base=base)
    with listen(host, port) as door:
        say = partial(print, f"rankforce serves {address(door)}: Ctrl-C stops it", flush=True)
        if workers == 1:
            work(door, ready=say)
            return
        if not hasattr(socket, "send_fds"):
            raise RankforceError(f"workers is {workers}: on this system there can be one")
        set_log()
        warm(Models(models, base=base))  # for what is wrong with them; kernels are compiled once
        say()
        run_workers(partial(work, is_guest=True), door, workers)


def run_worker(
    models: Mapping[str, Path],
    door: socket.socket,
    *,
    ready: Callable[[], None] = lambda: None,
    is_guest: bool = False,
    **rest: Any,
) -> None:
    """One worker, until it is told to stop; a guest gets connections through `door`."""
    set_log()
    app = make_app(models, **rest)
    ready()
    # uvicorn raises a signal again when all is answered: a server that was told to stop ends well.
    signal.signal(signal.SIGTERM, lambda *_: None)
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        lifespan="on",
        ws="none",
        timeout_keep_alive=KEEP,
        timeout_graceful_shutdown=DRAIN,
        server_header=False,
        backlog=BACKLOG,
    )
    if is_guest:
        Guest(config, door).run()
    else:
        uvicorn.Server(config).run(sockets=[door])


def set_log() -> None:
    """Lines of the log go to standard error, with the time and the process."""
    logging.basicConfig(format="%(asctime)s %(process)d %(levelname)s %(message)s")
    LOG.setLevel(logging.INFO)


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


def address(door: socket.socket) -> str:
    """The address of a socket, as a browser takes it."""
    host, port = door.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
