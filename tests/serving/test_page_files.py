"""The files of the page: all there, and none that asks for anything else."""

from __future__ import annotations

import re
from importlib.resources import files

import pytest

import rankforce as rf
from rankforce.common.errors import RankforceError
from rankforce.serving.page import INDEX, MADE, TYPES, asset

OWN = [one.name for one in files("rankforce.serving.page").iterdir()]
SCRIPTS = [name for name in OWN if name.endswith(".js")]


def text_of(name: str) -> str:
    return asset(name)[0].decode()


def test_every_file_is_found_from_the_first() -> None:
    """What the page names is there, and what is there is named."""
    named = set(re.findall(r'(?:href|src)="page/([^"]+)"', text_of(INDEX)))
    for name in SCRIPTS:
        named |= set(re.findall(r'from "\./([^"]+)"', text_of(name)))
        named |= set(re.findall(r'"page/([^"]+)"', text_of(name)))
    have = {name for name in OWN if "." + name.rpartition(".")[2] in TYPES} | {*MADE}
    assert named | {INDEX} == have
    assert all(asset(name)[0] for name in named)


@pytest.mark.parametrize("name", ["../server.py", "__init__.py", "nothing.js", "", "main"])
def test_no_other_file_is_given(name: str) -> None:
    with pytest.raises(RankforceError, match=rf"no file {name!r}: it has .*main\.js"):
        asset(name)


def test_nothing_needs_more_than_the_server() -> None:
    """No inline script or style, which the policy forbids, and no address of another site."""
    index = text_of(INDEX)
    assert re.findall(r"<script(?![^>]* src=)|<style|\sstyle=|\son\w+=", index) == []
    for name in OWN:
        if name.endswith((".html", ".css", ".js")):
            assert re.findall(r"https?://|innerHTML|\beval\b|@import", text_of(name)) == [], name


def test_objectives_are_those_of_the_package() -> None:
    content, kind = asset("objectives.json")
    assert kind == "application/json"
    assert all(f'"{one.name}"'.encode() in content for one in rf.objectives())
