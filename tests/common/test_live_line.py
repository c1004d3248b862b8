"""What a long task says: a live line in a terminal, lines on a stream or to a logger, silence."""

from __future__ import annotations

import io
import logging
import sys

import pytest

from rankforce.common import live_line
from rankforce.common.live_line import Voice
from tests.common.terminal import Terminal, Times


@pytest.fixture
def times(monkeypatch: pytest.MonkeyPatch) -> Times:
    clock = Times()
    monkeypatch.setattr(live_line, "time", clock)
    return clock


def speak(voice: Voice, times: Times) -> None:
    """Something each second for 25 of them, and two lines that stay."""
    voice.say("begin")
    for second in range(1, 26):
        times.now += 1.0
        voice.for_now(f"step {second}")
    voice.say("end")


@pytest.mark.parametrize("wish", [None, True])
def test_a_terminal_has_one_line_that_changes(wish: bool | None, times: Times) -> None:
    stream = Terminal()
    speak(Voice(wish, stream=stream), times)
    first, *drawn, gone, last = stream.getvalue().split("\r")
    assert first == "begin\n"
    assert [one.rstrip() for one in drawn] == [f"step {second}" for second in range(1, 26)]
    assert gone == " " * len("step 25")
    assert last == "end\n"


def test_other_streams_have_a_line_each_ten_seconds(times: Times) -> None:
    stream = io.StringIO()
    speak(Voice(True, stream=stream), times)
    assert stream.getvalue().splitlines() == ["begin", "step 10", "step 20", "end"]


def test_a_line_that_stays_is_a_sign_of_life_too(times: Times) -> None:
    stream = io.StringIO()
    voice = Voice(True, stream=stream)
    for what, seconds in (("a", 9.0), ("b", 0.5), ("c", 9.0), ("d", 1.0)):
        times.now += seconds
        (voice.say if what == "b" else voice.for_now)(what)
    assert stream.getvalue().splitlines() == ["b", "d"]


def test_without_a_wish_lines_go_to_the_logger(
    times: Times, caplog: pytest.LogCaptureFixture
) -> None:
    stream = io.StringIO()
    with caplog.at_level(logging.INFO, "rankforce"):
        speak(Voice(None, stream=stream), times)
    assert caplog.messages == ["begin", "step 10", "step 20", "end"]
    assert stream.getvalue() == ""


@pytest.mark.parametrize("kind", [io.StringIO, Terminal])
def test_silence(kind: type[io.StringIO], times: Times, caplog: pytest.LogCaptureFixture) -> None:
    stream = kind()
    with caplog.at_level(logging.INFO, "rankforce"):
        voice = Voice(False, stream=stream)
        speak(voice, times)
        voice.for_now("step", always=True)
        voice.end()
    assert caplog.messages == []
    assert stream.getvalue() == ""


def test_what_comes_too_soon_is_left_out_unless_it_must_be_shown(times: Times) -> None:
    stream = Terminal()
    voice = Voice(None, stream=stream)
    for what, seconds in (("a", 0.0), ("b", 0.05), ("c", 0.06), ("d", 0.01)):
        times.now += seconds
        voice.for_now(what)
    voice.for_now("e", always=True)
    voice.end()
    assert stream.getvalue() == "\ra\rc\re\n"


def test_the_time_so_far_stands_before_each_line(times: Times) -> None:
    stream = io.StringIO()
    voice = Voice(True, stream=stream, is_timed=True)
    times.now += 75.0
    assert voice.seconds == 75.0
    voice.for_now("half")
    times.now += 1.0
    voice.say("done")
    assert stream.getvalue().splitlines() == ["1:15  half", "1:16  done"]


def test_standard_error_is_looked_up_when_a_voice_is_made(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    Voice(True).say("here")
    assert stream.getvalue() == "here\n"
