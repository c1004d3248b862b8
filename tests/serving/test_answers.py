"""What a server answers: the ranking of the model, however it is asked; and each mistake."""

from __future__ import annotations

import json
import re

import msgspec
import numpy as np
import pyarrow as pa
import pytest

import rankforce as rf
from tests.serving.conftest import NAMES, Known
from tests.serving.running import ARROW, JSON, MSGPACK, Running, to_arrow


def expected(known: Known, rows: np.ndarray, top: int | None = None) -> list[dict]:
    best = known.ranker.rank(rows, top=top)
    places = zip(best.row.tolist(), best.rank.tolist(), best.score.tolist(), strict=True)
    return [{"id": None, "row": row, "rank": rank, "score": score} for row, rank, score in places]


def by_name(rows: np.ndarray) -> list[dict]:
    return [{"features": dict(zip(NAMES, map(float, row), strict=True))} for row in rows]


def test_all_ways_to_ask_give_the_models_ranking(server: Running, first: Known, rows: np.ndarray):
    wanted = expected(first, rows, top=7)
    table = {"features": rows.tolist(), "top": 7}
    documents = [dict(reversed(one["features"].items())) for one in by_name(rows)]
    bodies = [
        table,
        {"documents": [{"features": one} for one in documents], "top": 7},
        {"documents": [{"features": row} for row in rows.tolist()], "top": 7},
    ]
    for body in bodies:
        answer = server.post("/rank", body)
        assert answer.status == 200, answer.content
        assert answer.told["ranking"] == wanted
        packed = server.post("/rank", msgspec.msgpack.encode(body), kind=MSGPACK)
        assert packed.headers["content-type"] == MSGPACK
        assert msgspec.msgpack.decode(packed.content)["ranking"] == wanted
    columns = {name: rows[:, NAMES.index(name)] for name in ("clicks", "bm25", "age")}
    answer = server.post("/rank?top=7", to_arrow(columns), kind=ARROW)
    found = pa.ipc.open_stream(answer.content).read_all()
    assert found.to_pylist() == wanted
    assert found.schema.metadata[b"model"] == b"first"


def test_ids_come_back(server: Running, rows: np.ndarray):
    ids = [f"d{row}" for row in range(len(rows))]
    body = {"features": rows.tolist(), "ids": ids}
    ranking = server.post("/rank", body).told["ranking"]
    assert [one["id"] for one in ranking] == [f"d{one['row']}" for one in ranking]
    columns = {name: rows[:, column] for column, name in enumerate(NAMES)}
    answer = server.post(
        "/rank", to_arrow({"id": ids, **columns}), kind=ARROW, headers={"Accept": JSON}
    )
    assert answer.told["ranking"] == ranking


def test_a_request_names_its_model(server: Running, second: Known, rows: np.ndarray):
    answer = server.post("/rank", {"model": "second", "features": rows.tolist()})
    assert answer.told["model"] == "second"
    assert answer.told["ranking"] == expected(second, rows)
    versions = {one["name"]: one["version"] for one in server.get("/models").told["models"]}
    assert answer.told["version"] == versions["second"] != versions["first"]


def test_missing_values_are_allowed_where_the_request_says_so(
    server: Running, first: Known, rows: np.ndarray
):
    holes = rows.copy()
    holes[3, 1] = holes[4, 0] = np.nan
    documents = by_name(rows)
    documents[3]["features"]["age"] = None
    del documents[4]["features"]["bm25"]
    answer = server.post("/rank", {"documents": documents, "missing": "allow"})
    assert answer.told["ranking"] == expected(first, holes)
    columns = {name: pa.array(holes[:, c], from_pandas=True) for c, name in enumerate(NAMES)}
    answer = server.post(
        "/rank?missing=allow", to_arrow(columns), kind=ARROW, headers={"Accept": JSON}
    )
    assert answer.told["ranking"] == expected(first, holes)


def test_what_the_model_does_not_have_is_left_out_and_told(server: Running, rows: np.ndarray):
    documents = by_name(rows)
    documents[2]["features"]["price"] = 3.0
    answer = server.post("/rank", {"documents": documents})
    assert answer.told["notes"] == ["'price' is no feature of the model: left out"]
    columns = {name: rows[:, column] for column, name in enumerate([*NAMES])}
    table = to_arrow({**columns, "price": rows[:, 0]})
    same = server.post("/rank", table, kind=ARROW, headers={"Accept": JSON})
    assert same.told == answer.told


def test_categories_go_by_value(server: Running, colours: Known):
    values = [("red", 0.1), ("blue", 0.9), ("green", 0.7), ("never seen", 0.7)]
    documents = [{"features": {"colour": colour, "age": age}} for colour, age in values]
    answer = server.post("/rank", {"model": "colours", "documents": documents})
    found = sorted(answer.told["ranking"], key=lambda one: one["row"])
    import pandas as pd

    frame = pd.DataFrame(values, columns=["colour", "age"])
    scores = colours.ranker.predict(frame.astype({"colour": "category"}))
    assert [one["score"] for one in found] == scores.tolist()
    table = to_arrow({name: frame[name].tolist() for name in frame})
    answer = server.post("/rank?model=colours", table, kind=ARROW, headers={"Accept": JSON})
    assert sorted(answer.told["ranking"], key=lambda one: one["row"]) == found
    answer = server.post("/rank", {"model": "colours", "features": [["red", 0.1]]})
    assert answer.error.startswith("features[0][0] (colour): expected a number (the code of a")


def with_value(value: object) -> dict:
    documents = [{"features": {"bm25": 1.0, "age": 2.0, "clicks": 0.0}} for _ in range(5)]
    documents[3]["features"]["age"] = value
    return {"documents": documents}


def with_field(**fields: object) -> dict:
    return {"features": [[1.0, 2.0, 3.0]], **fields}


WRONG = [
    (with_value("x"), "documents[3].features.age: expected a number, got 'x'"),
    (with_value(True), "documents[3].features.age: expected a number, got true"),
    (with_value([1]), "documents[3].features.age: expected a number, got [1]"),
    (with_value(1e39), "documents[3].features.age: expected a number that float32 can hold"),
    (with_value(None), 'documents[3].features.age: it is missing: say "missing": "allow"'),
    ({"features": [[1, 2, 3], [1, "x", 3]]}, "features[1][1] (age): expected a number, got 'x'"),
    ({"features": [[1, 2, 3], [1, None, 3]]}, "features[1][1] (age): it is missing"),
    ({"features": [[1, 2, 3], [1, 2]]}, "features[1]: expected 3 numbers, one for each feature"),
    ({"features": [1, 2, 3]}, "features[0]: expected an array of numbers, got 1"),
    ({"documents": [{"id": "a"}]}, "documents[0]: it has no features"),
    ({"documents": [{"features": {}, "label": 1}]}, "documents[0].label: no field of a document"),
    ({"documents": [{"features": {"bm25": 1, "agee": 1}}]}, "documents[0].features.age: it is"),
    ({"documents": [{"features": 1}]}, "documents[0].features: expected an object or an array"),
    ({"documents": [{"features": [1, 2, 3], "id": 1.5}]}, "documents[0].id: expected a text or"),
    ({"documents": []}, "documents: expected at least one"),
    ({"documents": [{"features": [1, 2, 3]}], "ids": ["a"]}, "ids: they go with features"),
    ({}, "documents: expected at least one"),
    ([], "the body is an array: expected an object"),
    (with_field(top=0), "top: expected an integer from 1 up, got 0"),
    (with_field(top="3"), "top: expected an integer from 1 up, got '3'"),
    (with_field(tob=3), "tob: no field of a request: did you mean top?"),
    (with_field(missing="yes"), "missing: expected \"allow\", got 'yes'"),
    (with_field(ids=["a", "b"]), "ids: expected 1 of them, got 2"),
    (with_field(ids=[None]), "ids[0]: expected a text or an integer, got null"),
    (with_field(model=3), "model: expected a text, got 3"),
    (with_field(documents=[]), "the request needs documents or features, one of the two"),
]


@pytest.mark.parametrize(("body", "sentence"), WRONG, ids=[text[:30] for _, text in WRONG])
def test_a_mistake_is_told_by_its_place(server: Running, body: object, sentence: str):
    answer = server.post("/rank", body)
    assert answer.status == 422
    assert answer.error.startswith(sentence)
    packed = server.post("/rank", msgspec.msgpack.encode(body), kind=MSGPACK)
    assert (packed.status, packed.error) == (422, answer.error)


@pytest.mark.parametrize(
    ("columns", "sentence"),
    [
        ({"bm25": [1.0], "age": ["x"], "clicks": [1.0]}, "column 'age' holds"),
        ({"bm25": [1.0], "clicks": [1.0]}, "column age: it is left out"),
        ({"bm25": [1.0], "age": [1e39], "clicks": [1.0]}, "column age, row 0: expected a number"),
        ({"bm25": [1.0], "age": [None], "clicks": [1.0]}, "column age, row 0: it is missing"),
        ({"bm25": [], "age": [], "clicks": []}, "documents: expected at least one"),
    ],
)
def test_a_mistake_in_a_table_is_told_by_its_column(server: Running, columns: dict, sentence: str):
    answer = server.post("/rank", to_arrow(columns), kind=ARROW)
    assert answer.status == 422
    assert answer.error.startswith(sentence)


def test_other_refusals(server: Running):
    good = with_field()
    assert server.post("/rank", b"{", kind=JSON).error.startswith("the body is no JSON: ")
    assert server.post("/rank", b"{", kind=JSON).status == 400
    assert server.post("/rank", b"\xc1", kind=MSGPACK).error.startswith("the body is no MessagePa")
    assert server.post("/rank", b"abc", kind=ARROW).status == 400
    assert server.post("/rank", b"1,2", kind="text/csv").status == 415
    unknown = server.post("/rank", {**good, "model": "third"})
    choices = "choose 'first', 'second' or 'colours'"
    assert (unknown.status, unknown.error) == (404, f"model: 'third' is not served: {choices}")
    assert server.get("/nothing").error == "/nothing: there is nothing here: /docs explains"
    assert server.get("/rank").status == 405
    assert server.post("/rank?top=3", good).error.startswith("top: with this content type")
    assert server.post("/rank?tip=3", to_arrow({"a": [1]}), kind=ARROW).error.startswith("tip: no")
    foreign = server.post("/rank", good, headers={"Origin": "http://example.com"})
    assert foreign.status == 403
    assert server.get("/models", headers={"Host": "example.com:80"}).status == 403
    assert server.post("/rank", good).status == 200


def test_explain_adds_up_and_has_the_forces(server: Running, first: Known, rows: np.ndarray):
    labels = [float(row % 3) for row in range(len(rows))]
    answer = server.post("/explain", {"features": rows.tolist(), "labels": labels, "top": 8})
    assert answer.status == 200, answer.content
    told = answer.told
    plain = server.post("/rank", {"features": rows.tolist(), "top": 8}).told
    same = [{name: one[name] for name in plain["ranking"][0]} for one in told["ranking"]]
    assert same == plain["ranking"]
    assert told["features"] == NAMES
    parts = first.ranker.contributions(rows)
    forces = rf.explain(
        None, first.ranker, rf.RankingData(rows, labels, group=[30], feature_names=NAMES)
    )
    pushed = {one.row: one for one in forces.documents}
    for one in told["ranking"]:
        assert sum(one["contributions"]) + one["rest"] == pytest.approx(one["score"], abs=1e-9)
        assert [*one["contributions"], one["rest"]] == parts[one["row"]].tolist()
        assert one["force"] == pushed[one["row"]].force
        assert one["kind"] == pushed[one["row"]].kind
    assert told["objective"] == forces.objective
    assert told["k"] == 5


def test_explain_by_another_objective(server: Running, rows: np.ndarray):
    columns = {name: rows[:, column] for column, name in enumerate(NAMES)}
    table = to_arrow({**columns, "label": [1, 0] * 15})
    answer = server.post("/explain?objective=lambdagap-x&k=3", table, kind=ARROW)
    assert answer.told["objective"] == "LambdaGap-X@3"
    body = {"features": rows.tolist(), "labels": [1.0, 0.0] * 15}
    same = server.post("/explain", {**body, "objective": "lambdagap-x", "k": 3})
    assert same.told == answer.told
    wrong = server.post("/explain", {**body, "objective": "lambdagapp"})
    assert wrong.status == 422
    assert "lambdagapp" in wrong.error
    few = server.post("/explain", {**body, "labels": [1.0]})
    assert few.error == "labels: expected 30, one for each document, got 1"
    text = server.post("/explain", {**body, "labels": ["a"] * 30})
    assert text.error == "labels[0]: expected a number, got 'a'"


def test_models_are_told(server: Running, first: Known):
    told = server.get("/models").told["models"]
    assert [one["name"] for one in told] == ["first", "second", "colours"]
    own = told[0]
    assert (own["trees"], own["kind"]) == (5, "forest")
    assert [one["name"] for one in own["features"]] == NAMES
    low, high = own["features"][0]["range"]
    assert 0 <= low < high <= 1
    history = first.ranker.evals_result_
    assert own["metrics"] == {n: {m: v[-1] for m, v in one.items()} for n, one in history.items()}
    assert sorted(told[2]["features"][0]["categories"]) == ["blue", "green", "red"]


def test_metrics_count_requests(server: Running):
    def count(path: str, status: int) -> float:
        text = server.get("/metrics").content.decode()
        line = rf'rankforce_requests_total{{path="{path}",status="{status}"}} (\S+)'
        found = re.search(line, text)
        return float(found[1]) if found else 0.0

    good, bad = count("/rank", 200), count("/rank", 422)
    server.post("/rank", with_field())
    server.post("/rank", with_field(top=0))
    assert (count("/rank", 200), count("/rank", 422)) == (good + 1, bad + 1)
    text = server.get("/metrics").content.decode()
    assert 'rankforce_request_seconds_bucket{le="0.01",path="/rank"}' in text
    assert "rankforce_busy_requests 0.0" in text


def test_addresses_are_documented_and_there(server: Running):
    told = server.get("/openapi.json").told
    assert told["openapi"].startswith("3.1")
    for path, methods in told["paths"].items():
        for method in methods:
            answer = server.ask(method.upper(), path.replace("{name}", "first"))
            assert answer.status in (200, 415), path
    forms = told["components"]["schemas"]
    named = re.findall(r'"#/components/schemas/(\w+)"', json.dumps(told))
    assert set(named) <= set(forms)
    page = server.get("/docs")
    assert "default-src 'none'" in page.headers["content-security-policy"]
    text = page.content.decode()
    assert all(path in text for path in told["paths"])
    assert "//" not in re.sub(r"<!doctype[^>]*>", "", text).replace("application/", "")


def test_the_page_and_its_files_are_the_servers_own(server: Running):
    page = server.get("/")
    assert page.headers["content-type"].startswith("text/html")
    assert "'unsafe-inline'" not in page.headers["content-security-policy"]
    for name in re.findall(r'(?:src|href)="(page/[^"]+)"', page.content.decode()):
        assert server.get(f"/{name}").status == 200, name
    for name in ("..%2Fserver.py", "__init__.py", "%2e%2e/server.py", "nothing.js"):
        assert server.get(f"/page/{name}").status == 404
