"""The command line in this process: starting another takes seconds, most of them for imports."""

from __future__ import annotations

import io
import os
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import NamedTuple
from unittest import mock

from rankforce.cli import main
from rankforce.kernels.cache import COMPILING


class Answer(NamedTuple):
    """What a command printed, and how it ended; named as `subprocess` does."""

    returncode: int
    stdout: str
    stderr: str


def said(stderr: str) -> str:
    """What a process said, without the line of one that is the first to need a kernel."""
    return stderr.replace(f"{COMPILING}\n", "")


def run_inside(*arguments: str | Path, cwd: Path | None = None, **environment: str) -> Answer:
    """Run `rankforce` with these arguments."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2))
    before = Path.cwd()
    with mock.patch.dict(os.environ, environment), redirect_stdout(out), redirect_stderr(err):
        os.chdir(cwd or before)
        try:
            code = main([str(argument) for argument in arguments])
        except SystemExit as end:  # argparse
            code = int(end.code or 0)
        finally:
            os.chdir(before)
    for stream in (out, err):
        stream.seek(0)
    return Answer(code, out.read(), err.read())
