"""Network namespaces with a switch between them, and programs inside.

Every namespace has one device, `eth0`; the switch has a namespace of its own, so that nothing is
heard outside of them. All are taken away at the end, whatever happens.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any


def address(worker: int) -> str:
    """The address of a worker, in its namespace.

    >>> address(0)
    '10.77.0.1'
    """
    return f"10.77.0.{worker + 1}"


def need_root() -> None:
    """End with a sentence where namespaces cannot be made; die politely, so that they go."""
    if sys.platform != "linux" or os.geteuid() or not shutil.which("ip"):
        sys.exit(f"network namespaces need Linux, the program ip and root: sudo {sys.executable}")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))


class Network:
    """So many namespaces."""

    def __init__(self, many: int) -> None:
        self._name = f"rf{os.getpid()}"
        self._spaces = [f"{self._name}-{worker}" for worker in range(many)]
        self._made: list[str] = []

    def __enter__(self) -> Network:
        try:
            self._build()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for space in self._made:
            subprocess.run(["ip", "netns", "del", space], check=False)

    def _build(self) -> None:
        switch = f"{self._name}-s"
        for space in [switch, *self._spaces]:
            self._made.append(space)
            _run(f"ip netns add {space}")
            _run(f"ip netns exec {space} sysctl -qw net.ipv6.conf.default.disable_ipv6=1")
            _run(f"ip -n {space} link set lo up")
        _run(f"ip -n {switch} link add bridge type bridge")
        _run(f"ip -n {switch} link set bridge up")
        for worker, space in enumerate(self._spaces):
            _run(f"ip -n {space} link add eth0 type veth peer name port{worker} netns {switch}")
            _run(f"ip -n {switch} link set port{worker} master bridge up")
            _run(f"ip -n {space} addr add {address(worker)}/24 dev eth0")
            _run(f"ip -n {space} link set eth0 up")

    def answers(self, program: Path, spec: dict[str, Any], *, longest: float) -> list[Any]:
        """What a program prints last, as JSON, in the first `spec["workers"]` namespaces at once.

        It is given the `spec` with its own "rank", as JSON too.
        """
        runs = []
        try:
            for rank, space in enumerate(self._spaces[: spec["workers"]]):
                given = json.dumps(spec | {"rank": rank})
                words = ["ip", "netns", "exec", space, sys.executable, str(program), given]
                runs.append(subprocess.Popen(words, stdout=subprocess.PIPE, text=True))
            texts = [run.communicate(timeout=longest)[0] for run in runs]
        except subprocess.TimeoutExpired:
            sys.exit(f"{spec['workers']} workers did not end within {longest:.0f} seconds")
        finally:
            for run in runs:
                run.kill()
                run.wait()
        if any(run.returncode for run in runs):
            sys.exit(f"{program.name} failed with {spec['workers']} workers")
        return [json.loads(text.splitlines()[-1]) for text in texts]


def limit(rate: float) -> None:
    """Let the worker whose namespace this is send at most `rate` bytes a second."""
    _run(f"tc qdisc replace dev eth0 root tbf rate {round(8 * rate)}bit burst 32kb limit 4mb")


def free() -> None:
    """Let it send as fast as it goes again."""
    _run("tc qdisc del dev eth0 root")


def _run(words: str) -> None:
    done = subprocess.run(words.split(), capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{words!r} failed: {done.stderr.strip()}")
