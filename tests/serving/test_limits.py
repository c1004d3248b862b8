"""What a server refuses: too much, too long, too many at once, and who has no token."""

from __future__ import annotations

import json
import signal
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.inside import run_inside
from tests.serving.conftest import Known
from tests.serving.running import JSON, Answer, Running, running, until

GOOD = {"features": [[1.0, 2.0, 3.0]]}
TOKEN = "hold fast"


@pytest.fixture(scope="module")
def small(first: Known, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A server that allows little, and listens on all addresses of this machine."""
    folder = tmp_path_factory.mktemp("small")
    (folder / "token").write_text(f"{TOKEN}\n")
    limits = ("--max-body=2000", "--max-documents=10", "--max-explained=3", "--max-requests=2")
    more = ("--max-seconds=1", "--host=0.0.0.0", f"--token-file={folder / 'token'}")
    with running(folder, first.folder, *limits, *more) as one:
        yield one


def known(token: str = TOKEN) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def test_bytes_and_documents_are_limited(small: Running):
    rows = [[1.0, 2.0, 3.0]] * 11
    answer = small.post("/rank", {"features": rows}, headers=known())
    wanted = (413, "the request has 11 documents: the limit here is 10")
    assert (answer.status, answer.error) == wanted
    answer = small.post("/explain", {"features": rows[:4]}, headers=known())
    assert answer.error == "the request has 4 documents: the limit here is 3"
    large = json.dumps(GOOD).encode() + b" " * 2000
    answer = small.post("/rank", large, headers=known())
    assert (answer.status, answer.error) == (
        413,
        "the body has more than 2,000 bytes, which is the limit here",
    )


def test_a_body_without_a_length_is_limited_too(small: Running):
    connection = small.connect()
    parts = (b" " * 500 for _ in range(9))
    headers = {**known(), "Content-Type": JSON, "Transfer-Encoding": "chunked"}
    connection.request("POST", "/rank", parts, headers, encode_chunked=True)
    assert connection.getresponse().status == 413
    connection.close()


def begin(server: Running) -> socket.socket:
    """A request that is never sent to its end."""
    line = f"POST /rank HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {TOKEN}\r\n"
    one = socket.create_connection(("127.0.0.1", server.port), timeout=30)
    one.sendall(f"{line}Content-Type: {JSON}\r\nContent-Length: 99\r\n\r\n".encode() + b"{")
    return one


def test_time_and_requests_at_once_are_limited(small: Running):
    held: list[socket.socket] = []

    def is_full() -> Answer | None:
        held.extend(begin(small) for _ in range(2))
        answer = small.post("/rank", GOOD, headers=known())
        return answer if answer.status == 503 else None

    answer = until(is_full, "two requests at once")
    assert answer.error == "2 requests are being answered already: try again"
    assert answer.headers["retry-after"] == "1"
    told = b""
    while not told.endswith(b"}"):  # it comes in parts
        part = held[0].recv(10_000)
        assert part, told
        told += part
    for one in held:
        one.close()
    assert told.startswith(b"HTTP/1.1 503 ")
    assert told.endswith(b'{"error":"the request took longer than 1 s: try again"}')
    until(lambda: small.post("/rank", GOOD, headers=known()).status == 200, "it to be free again")


def test_what_cannot_be_read_is_no_mistake_of_the_server(small: Running):
    begin(small).close()
    for text in (b'{"features": ' + b"[" * 1500, b'{"top": "x", '):
        assert small.post("/rank", text, headers=known()).status == 400

    def is_free() -> bool:
        told = small.get("/metrics", headers=known()).content
        return b"rankforce_busy_requests 0.0" in told

    until(is_free, "the end of the request that was left")
    assert "Traceback" not in small.log.read_text()


def test_a_token_is_needed(small: Running):
    for headers in ({}, known("hold"), known(""), {"Authorization": f"Basic {TOKEN}"}):
        answer = small.post("/rank", GOOD, headers=headers)
        assert answer.status == 401, headers
        assert answer.error == ("a token is needed: send the header Authorization: Bearer TOKEN")
        for path in ("/models", "/metrics"):
            assert small.get(path, headers=headers).status == 401
    assert small.post("/models/first/reload", b"").status == 401
    assert small.post("/rank", GOOD, headers=known()).status == 200
    for path in ("/healthz", "/", "/docs", "/openapi.json", "/page/main.js"):
        assert small.get(path).status == 200
    # With a token, any name may lead here.
    assert small.get("/models", headers={**known(), "Host": "ranker.example"}).status == 200


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            ["--host", "0.0.0.0"],
            "others can reach 0.0.0.0, so a token is needed: give --token-file",
        ),
        (["--model", "second"], "--model is 'second': expected NAME=FOLDER"),
        (["--model", "first={first}"], "two models are called 'first': give --model another name"),
        (["--model", "a/b={first}"], "the name of a model is 'a/b': it must be letters, digits"),
        (["--model", "b={first}/none"], "cannot read a model from {first}/none"),
        (["--token-file", "{first}/none"], "{first}/none: No such file or directory"),
        (["--workers", "0"], "workers is 0: it must be an integer from 1 up"),
        (["--max-documents", "0"], "documents is 0: it must be an integer from 1 up"),
        (["--port", "99999"], "cannot listen on 127.0.0.1, port 99999: "),
        (["--host", "no.such.host.invalid"], "others can reach no.such.host.invalid, so"),
    ],
)
def test_mistakes_on_the_command_line_are_one_sentence(
    first: Known, arguments: list[str], sentence: str
):
    port = [] if "--port" in arguments else ["--port", "0"]
    own = [one.format(first=first.folder) for one in arguments]
    answer = run_inside("serve", first.folder, *port, *own, RANKFORCE_TOKEN="")
    assert answer.returncode == 2
    lines = answer.stderr.splitlines()
    assert lines[-1].startswith(f"rankforce serve: {sentence.format(first=first.folder)}")


def test_a_port_that_is_taken_is_told(small: Running, first: Known):
    answer = run_inside("serve", first.folder, "--port", str(small.port))
    wanted = f"cannot listen on 127.0.0.1, port {small.port}: Address already in use"
    assert answer.stderr == f"rankforce serve: {wanted}\n"


def test_without_the_extra_it_says_what_to_install(first: Known, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("rankforce.serving.library.NEEDED", ("no_such_library",))
    answer = run_inside("serve", first.folder)
    wanted = "serving needs no_such_library: pip install 'rankforce[serve]'"
    assert answer.stderr == f"rankforce serve: {wanted}\n"


def refuses(server: Running) -> bool:
    try:
        socket.create_connection(("127.0.0.1", server.port)).close()
    except ConnectionRefusedError:
        return True
    return False


@pytest.mark.slow
def test_sigterm_lets_requests_end(first: Known, tmp_path: Path):
    body = json.dumps(GOOD).encode()
    with running(tmp_path, first.folder) as server:
        idle = server.connect()
        idle.request("GET", "/healthz")
        assert idle.getresponse().read()
        begun = server.begin("/rank", body)
        assert server.get("/healthz").status == 200  # the first one was accepted before
        server.process.send_signal(signal.SIGTERM)
        until(lambda: refuses(server), "the server to accept no more connections")
        assert server.process.poll() is None
        begun.send(body[-1:])
        answer = begun.getresponse()
        assert answer.status == 200
        assert json.loads(answer.read())["ranking"][0]["row"] == 0
        assert server.process.wait(60) == 0
        assert "Traceback" not in server.log.read_text()
        idle.close()
        begun.close()


def test_ctrl_c_stops_it(first: Known, tmp_path: Path):
    with running(tmp_path, first.folder) as server:
        assert server.get("/healthz").status == 200
        assert server.stop(signal.SIGINT) == 130
        assert server.log.read_text().splitlines()[-1:] == ["rankforce serve: interrupted"]
