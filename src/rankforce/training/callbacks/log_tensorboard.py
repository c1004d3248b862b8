"""Logs for TensorBoard."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rankforce.common.errors import RankforceError
from rankforce.training.callbacks.log_to import Point, need, show_setting


class TensorBoard:
    """Event files, written by the tensorboard package alone, in single precision."""

    def __init__(self, folder: str | Path | None = None) -> None:
        if folder is None:
            raise RankforceError("TensorBoard reads a folder: give folder=")
        if Path(folder).exists() and not Path(folder).is_dir():
            raise RankforceError(f"folder is {str(folder)!r}, which is a file: give a folder")
        self._folder = Path(folder)
        self._files = need("tensorboard.summary.writer.event_file_writer")
        self._events = need("tensorboard.compat.proto.event_pb2")
        self._summaries = need("tensorboard.compat.proto.summary_pb2")
        self._tensors = need("tensorboard.util.tensor_util")
        self._texts = need("tensorboard.plugins.text.metadata")
        self._writer: Any = None

    def begin(self, settings: dict[str, Any], done: int) -> int:
        """Open a file; a run that goes on writes all of its values again."""
        has_events = any(self._folder.glob("events.out.tfevents.*"))
        self._writer = self._files.EventFileWriter(str(self._folder))
        # Readers forget what stands in the folder from this step on: it all comes again.
        start = self._events.SessionLog(status=self._events.SessionLog.START)
        self._add(1 if done else 0, session_log=start)
        if not (done and has_events):
            self._add(0, summary=self._settings(settings))
        self._writer.flush()
        return 1

    def send(self, points: Sequence[Point]) -> None:
        """Write and flush."""
        for name, value, step in points:
            one = self._summaries.Summary.Value(tag=name, simple_value=value)
            self._add(step, summary=self._summaries.Summary(value=[one]))
        self._writer.flush()

    def end(self, status: str) -> None:
        """Close the file."""
        self._writer.close()

    def _add(self, step: int, **what: Any) -> None:
        self._writer.add_event(self._events.Event(wall_time=time.time(), step=step, **what))

    def _settings(self, settings: dict[str, Any]) -> Any:
        """A table in Markdown, which TensorBoard shows under TEXT."""
        shown = {name: show_setting(value).replace("|", r"\|") for name, value in settings.items()}
        lines = [f"| {name} | {value} |" for name, value in shown.items()]
        text = "\n".join(["| setting | value |", "| --- | --- |", *lines])
        one = self._summaries.Summary.Value(
            tag="settings",
            tensor=self._tensors.make_tensor_proto(text.encode()),
            metadata=self._texts.create_summary_metadata(display_name=None, description=None),
        )
        return self._summaries.Summary(value=[one])
