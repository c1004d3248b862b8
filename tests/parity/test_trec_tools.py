"""The same content as ir_measures, ranx and pytrec_eval: through files, and from their objects."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rankforce.formats.trec import (
    Qrels,
    Run,
    as_qrels,
    as_run,
    is_run_like,
    read_qrels,
    read_run,
    write_qrels,
    write_run,
)

ir_measures = pytest.importorskip("ir_measures")
pytrec_eval = pytest.importorskip("pytrec_eval")


@pytest.fixture(scope="module")
def ranx() -> Any:
    """Its imports warn, in some versions of what it needs, and that is not our matter."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip("ranx")


IDS = ["0010", "10", "é日本𝄞", "doc_7", "#x", "1e5", "Z", "a"]


def make_run() -> Run:
    """Scores of all sizes, some tied, and ids that look like numbers."""
    rng = np.random.default_rng(0)
    spread = rng.normal(size=(len(IDS), len(IDS))) * 10.0 ** rng.integers(-30, 30, len(IDS))
    run = {
        q: dict(zip(IDS, map(float, row), strict=True)) for q, row in zip(IDS, spread, strict=True)
    }
    run["tied"] = dict.fromkeys(IDS, 0.1)
    run["zeros"] = {"a": 0.0, "b": -0.0, "c": 5e-324}
    return run


def make_qrels() -> Qrels:
    rng = np.random.default_rng(1)
    return {q: {d: float(rng.integers(0, 4)) for d in IDS} for q in [*IDS, "tied"]}


RUN, QRELS = make_run(), make_qrels()


@pytest.fixture
def run_file(tmp_path: Path) -> Path:
    write_run(RUN, tmp_path / "ours.trec")
    return tmp_path / "ours.trec"


@pytest.fixture
def qrels_file(tmp_path: Path) -> Path:
    write_qrels(QRELS, tmp_path / "ours.qrels.trec")
    return tmp_path / "ours.qrels.trec"


def of_ir_measures(items: Any, field: str) -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = {}
    for item in items:
        assert item.doc_id not in found.setdefault(item.query_id, {})
        found[item.query_id][item.doc_id] = getattr(item, field)
    return found


class TestTheyReadOurs:
    def test_ir_measures(self, run_file: Path, qrels_file: Path) -> None:
        assert of_ir_measures(ir_measures.read_trec_run(str(run_file)), "score") == RUN
        assert of_ir_measures(ir_measures.read_trec_qrels(str(qrels_file)), "relevance") == QRELS

    def test_ir_measures_packed(self, tmp_path: Path) -> None:
        write_run(RUN, tmp_path / "a.gz")
        write_qrels(QRELS, tmp_path / "b.gz")
        found = ir_measures.read_trec_run(str(tmp_path / "a.gz"))
        assert of_ir_measures(found, "score") == RUN
        found = ir_measures.read_trec_qrels(str(tmp_path / "b.gz"))
        assert of_ir_measures(found, "relevance") == QRELS

    def test_pytrec_eval(self, run_file: Path, qrels_file: Path) -> None:
        with run_file.open(encoding="utf-8") as lines:
            assert pytrec_eval.parse_run(lines) == RUN
        with qrels_file.open(encoding="utf-8") as lines:
            assert pytrec_eval.parse_qrel(lines) == QRELS

    @pytest.mark.slow
    def test_ranx(self, ranx: Any, run_file: Path, qrels_file: Path) -> None:
        found = ranx.Run.from_file(str(run_file))
        assert found.name == "rankforce"
        assert found.to_dict() == RUN
        assert ranx.Qrels.from_file(str(qrels_file)).to_dict() == QRELS


class TestWeReadTheirs:
    @pytest.mark.slow
    def test_ranx(self, ranx: Any, tmp_path: Path) -> None:
        ranx.Run(RUN, name="bm25").save(str(tmp_path / "a.trec"))
        ranx.Qrels(QRELS).save(str(tmp_path / "b.trec"))
        assert read_run(tmp_path / "a.trec") == RUN
        assert read_qrels(tmp_path / "b.trec") == QRELS

    def test_ir_measures(self) -> None:
        """The files that it makes for trec_eval; it has no call to write one."""
        util = pytest.importorskip("ir_measures.util")
        with util.RunConverter(RUN).as_tmp_file() as file:
            assert read_run(file.name) == RUN
        whole = {query: {d: int(x) for d, x in found.items()} for query, found in QRELS.items()}
        with util.QrelsConverter(whole).as_tmp_file() as file:
            assert read_qrels(file.name) == QRELS


class TestTheirObjects:
    @pytest.mark.slow
    def test_ranx(self, ranx: Any) -> None:
        run, qrels = ranx.Run(RUN), ranx.Qrels(QRELS)
        assert as_run(run) == RUN
        assert as_qrels(qrels) == QRELS
        assert type(as_run(run)) is dict
        assert {type(label) for label in as_qrels(qrels)["a"].values()} == {float}
        assert is_run_like(run)
        assert is_run_like(qrels)

    @pytest.mark.slow
    def test_ranx_made_step_by_step(self, ranx: Any) -> None:
        run, qrels = ranx.Run(), ranx.Qrels()
        for query in RUN:
            for document, score in RUN[query].items():
                run.add_score(query, document, score)
        qrels.add_score("q", "junk", -2)
        assert as_run(run) == RUN
        assert as_qrels(qrels) == {"q": {"junk": 0.0}}
        run.add_score("a", "bad", float("nan"))
        with pytest.raises(ValueError, match="query 'a', document 'bad': the score is nan"):
            as_run(run)

    def test_ranx_one_for_the_other(self, ranx: Any) -> None:
        with pytest.raises(ValueError, match=r"run is of the type ranx\..*Qrels: expected a path"):
            as_run(ranx.Qrels(QRELS))
        with pytest.raises(ValueError, match=r"qrels is of the type ranx\..*Run: expected a path"):
            as_qrels(ranx.Run(RUN))
        with pytest.raises(ValueError, match="run holds no queries"):
            as_run(ranx.Run())

    def test_ranx_frames(self, ranx: Any) -> None:
        assert as_run(ranx.Run(RUN).to_dataframe()) == RUN
        assert as_qrels(ranx.Qrels(QRELS).to_dataframe()) == QRELS

    def test_ir_measures(self, run_file: Path, qrels_file: Path) -> None:
        run, qrels = str(run_file), str(qrels_file)
        assert is_run_like(ir_measures.read_trec_run(run))
        assert as_run(ir_measures.read_trec_run(run)) == RUN
        assert as_run(list(ir_measures.read_trec_run(run))) == RUN
        assert as_qrels(ir_measures.read_trec_qrels(qrels)) == QRELS
        assert as_qrels(list(ir_measures.read_trec_qrels(qrels))) == QRELS

    def test_ir_measures_frames(self) -> None:
        util = pytest.importorskip("ir_measures.util")
        assert as_run(util.RunConverter(RUN).as_pd_dataframe()) == RUN
        assert as_qrels(util.QrelsConverter(QRELS).as_pd_dataframe()) == QRELS

    def test_pytrec_eval(self, run_file: Path, qrels_file: Path) -> None:
        with run_file.open(encoding="utf-8") as lines:
            assert as_run(pytrec_eval.parse_run(lines)) == RUN
        with qrels_file.open(encoding="utf-8") as lines:
            assert as_qrels(pytrec_eval.parse_qrel(lines)) == QRELS


class TestSameRankingAsTrecEval:
    """pytrec_eval runs trec_eval's own code: what it says of ours is what trec_eval would say."""

    def rank(self, documents: dict[str, float], document: str) -> int:
        judge = pytrec_eval.RelevanceEvaluator({"q": {document: 1}}, {"recip_rank"})
        return round(1 / judge.evaluate({"q": documents})["q"]["recip_rank"])

    @pytest.mark.parametrize(
        "documents",
        [
            dict.fromkeys(IDS, 1.0),
            dict.fromkeys(["d9", "d10", "D9", "d", "é", "z", "日", "𝄞", "\uffee"], 0.0),
            {"a": 0.0, "b": -0.0, "c": 0.0, "top": 1.0, "low": -1.0},
        ],
    )
    def test_ranks(self, tmp_path: Path, documents: dict[str, float]) -> None:
        """Ties included: ids fall in the order of their UTF-8 bytes."""
        write_run({"q": documents}, tmp_path / "a.run")
        lines = (tmp_path / "a.run").read_text("utf-8").splitlines()
        ours = {line.split()[2]: int(line.split()[3]) for line in lines}
        assert ours == {document: self.rank(documents, document) for document in documents}

    def test_float32_ties_more(self) -> None:
        """The docstring of write_run says so: trec_eval keeps scores in float32."""
        assert self.rank({"a": 1.0 + 2**-22, "b": 1.0}, "a") == 1
        assert self.rank({"a": 1.0 + 2**-40, "b": 1.0}, "a") == 2

    @pytest.mark.parametrize("junk", [-1, -2, -3])
    def test_labels_below_zero_count_as_zero(self, tmp_path: Path, junk: int) -> None:
        """All but bpref and infAP, as the docstring of read_qrels says."""
        run = {"q": {"b": 5.0, "a": 4.0, "d": 3.0, "c": 2.0, "e": 1.0}}
        given = {"q": {"a": 1, "b": junk, "c": 2, "d": junk, "e": 0}}
        (tmp_path / "a").write_text("".join(f"q 0 {d} {x}\n" for d, x in given["q"].items()))
        ours = {"q": {d: int(x) for d, x in read_qrels(tmp_path / "a")["q"].items()}}
        measures = set(pytrec_eval.supported_measures) - {"bpref", "infAP", "gm_bpref"}
        expected = pytrec_eval.RelevanceEvaluator(given, measures).evaluate(run)
        found = pytrec_eval.RelevanceEvaluator(ours, measures).evaluate(run)
        differ = {name for name in expected["q"] if expected["q"][name] != found["q"][name]}
        assert differ <= {"num_nonrel_judged_ret"}
        assert len(expected["q"]) > 50
        theirs = pytrec_eval.RelevanceEvaluator(given, {"bpref"}).evaluate(run)["q"]["bpref"]
        changed = pytrec_eval.RelevanceEvaluator(ours, {"bpref"}).evaluate(run)["q"]["bpref"]
        assert theirs > changed
