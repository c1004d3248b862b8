"""rf.compare and rf.evaluate on runs and qrels, in every form, against pytrec_eval and ranx."""

from __future__ import annotations

import math
import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rankforce as rf

approx = pytest.approx
DOCUMENTS = [f"d{number:02d}" for number in range(40)]
Lists = dict[str, dict[str, float]]


def make_qrels(queries: int = 12) -> dict[str, dict[str, int]]:
    """25 judged documents each; query 5 has none that is relevant."""
    rng = np.random.default_rng(1)
    found = {}
    for number in range(queries):
        labels = rng.integers(0, 4, 25) * rng.integers(0, 2, 25)
        judged = rng.choice(DOCUMENTS, 25, replace=False).tolist()
        found[f"q{number}"] = dict(zip(judged, map(int, labels * (number != 5)), strict=True))
    return found


def make_run(seed: int, queries: int = 12) -> Lists:
    """Lists of 1 to 30 documents, judged or not, with ties among the scores."""
    rng = np.random.default_rng(seed)
    found = {}
    for number in range(queries):
        size = int(rng.integers(1, 31))
        documents = rng.choice(DOCUMENTS, size, replace=False).tolist()
        found[f"q{number}"] = dict(
            zip(documents, (rng.integers(0, 8, size) / 4.0).tolist(), strict=True)
        )
    return found


QRELS = make_qrels()
A, B = make_run(2), make_run(3)
TREC = {
    "ndcg@10": "ndcg_cut_10",
    "ndcg": "ndcg",
    "map": "map",
    "map@10": "map_cut_10",
    "p@5": "P_5",
    "p@30": "P_30",
    "recall@5": "recall_5",
    "mrr": "recip_rank",
}


def trec_values(run: Lists, measure: str, qrels: Any = QRELS) -> list[float]:
    """Of pytrec_eval, in the order of the qrels."""
    pytrec_eval = pytest.importorskip("pytrec_eval")
    wanted = measure.replace("_cut_", "_cut.") if "cut" in measure else measure.replace("_", ".")
    wanted = measure if measure == "recip_rank" else wanted
    found = pytrec_eval.RelevanceEvaluator(qrels, {wanted}).evaluate(run)
    return [found[query][measure] for query in qrels]


@pytest.fixture(scope="module")
def ranx() -> Any:
    """Its imports warn, in some versions of what it needs, and that is not our matter."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip("ranx")


class TestAgainstTrecEval:
    @pytest.mark.parametrize("name", TREC)
    def test_every_query(self, name: str) -> None:
        metric = rf.metric(name, preset="trec_eval")
        c = rf.compare({"a": A, "b": B}, QRELS, metric=metric)
        for system, run in (("a", A), ("b", B)):
            expected = trec_values(run, TREC[name])
            assert c.values[system].tolist() == approx(expected, rel=0, abs=1e-14)
        assert c.query_ids.tolist() == list(QRELS)

    @pytest.mark.parametrize("name", TREC)
    def test_a_list_that_is_not_there(self, name: str) -> None:
        """An empty list is worth nothing, as `trec_eval -c` has it."""
        run = {query: documents for query, documents in A.items() if query not in ("q1", "q7")}
        metric = rf.metric(name, preset="trec_eval")
        found = rf.evaluate(run, QRELS, metric, missing="zero")
        here = {query: labels for query, labels in QRELS.items() if query in run}
        expected = dict(zip(here, trec_values(run, TREC[name], here), strict=True))
        for query, value in zip(found.query_ids, found.values[0], strict=True):
            assert value == approx(expected.get(query, 0.0), rel=0, abs=1e-14)

    def test_ties_rank_by_id_descending(self) -> None:
        run, qrels = {"q": {"a": 1.0, "b": 1.0, "é": 1.0}}, {"q": {"a": 1, "b": 0, "é": 0}}
        metric = rf.metric("mrr", preset="trec_eval")
        assert rf.evaluate(run, qrels, metric).means == {metric.name: approx(1 / 3)}
        assert trec_values(run, "recip_rank", qrels) == approx([1 / 3], abs=1e-6)
        run["q"]["a"] = 1.0 + 1e-9  # which single precision does not see, and double does
        assert rf.evaluate(run, qrels, metric).means == {metric.name: approx(1 / 3)}
        assert rf.evaluate(run, qrels, "mrr").means == {"MRR": 1.0}

    def test_order_of_documents_in_the_run_does_not_matter(self) -> None:
        turned = {query: dict(reversed(documents.items())) for query, documents in A.items()}
        c = rf.compare({"a": A, "turned": turned}, QRELS)
        assert c.contrasts["turned"].ties == len(QRELS)

    def test_documents_left_out_lower_the_value(self) -> None:
        """The ideal ranking has all judged documents, not those found alone."""
        qrels = {"q": {"a": 1, "b": 1, "c": 1}}
        found = rf.evaluate({"q": {"a": 2.0}}, qrels, "ndcg, recall@5, map")
        ideal = sum(1 / math.log2(1 + rank) for rank in (1, 2, 3))
        assert found.means == approx({"NDCG": 1 / ideal, "Recall@5": 1 / 3, "MAP": 1 / 3})

    def test_documents_nobody_judged_are_not_relevant(self) -> None:
        found = rf.evaluate({"q": {"x": 3.0, "a": 2.0}}, {"q": {"a": 1, "b": 0}}, "mrr, p@1, p@2")
        assert found.means == {"MRR": 1 / 2, "P@1": 0.0, "P@2": 1 / 2}

    def test_p_of_a_short_list(self) -> None:
        """Over k in trec_eval; here over the documents that could have been there."""
        run, qrels = {"q": {"a": 1.0}}, {"q": {"a": 1, "b": 0, "c": 0}}
        assert rf.evaluate(run, qrels, "p@5").means == {"P@5": 1 / 3}
        assert rf.evaluate(run, qrels, "p@5(trec_eval)").means == {"P@5(trec_eval)": 1 / 5}


@pytest.mark.slow  # ranx compiles for 20 seconds
class TestAgainstRanx:
    """Without ties, and with documents that are judged, where conventions agree."""

    NAMES = {  # noqa: RUF012 - nothing changes it
        "ndcg@10(gain=y, no_relevant=0)": "ndcg@10",
        "ndcg(gain=y, no_relevant=0)": "ndcg",
        "ndcg@10(no_relevant=0)": "ndcg_burges@10",
        "p@5(over=k)": "precision@5",
        "mrr": "mrr",
        "mrr@3": "mrr@3",
        "recall@5": "recall@5",
        "map": "map",
    }

    @staticmethod
    def untied() -> Lists:
        rng = np.random.default_rng(5)
        return {
            query: {document: float(rng.normal()) for document in documents}
            for query, documents in A.items()
        }

    @pytest.mark.parametrize("name", NAMES)
    def test_every_query(self, name: str, ranx: Any) -> None:
        run = self.untied()
        found = rf.evaluate(run, QRELS, name)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = ranx.evaluate(
                ranx.Qrels(QRELS), ranx.Run(run), self.NAMES[name], return_mean=False, threads=1
            )
        # ranx sorts queries by their ids.
        order = np.argsort(found.query_ids.astype(str), kind="stable")
        assert found.values[0][order] == approx(np.asarray(expected), rel=0, abs=1e-12)


class TestForms:
    """The same numbers whatever holds the runs and the qrels."""

    EXPECTED = rf.compare({"a": A, "b": B}, QRELS, metric="ndcg@10")

    def check(self, a: Any, b: Any, qrels: Any) -> None:
        c = rf.compare({"a": a, "b": b}, qrels, metric="ndcg@10")
        assert c.p_values == self.EXPECTED.p_values
        told, expected = (
            dict(zip(found.query_ids, found.values["b"], strict=True))
            for found in (c, self.EXPECTED)
        )
        assert told == expected

    @pytest.fixture
    def files(self, tmp_path: Path) -> dict[str, Path]:
        paths = {name: tmp_path / name for name in ("a.run", "b.run.gz", "x.qrels")}
        rf.write_run(A, paths["a.run"])
        rf.write_run(B, paths["b.run.gz"])
        rf.write_qrels(QRELS, paths["x.qrels"])
        return paths

    def test_paths(self, files: dict[str, Path]) -> None:
        self.check(*files.values())
        self.check(*map(str, files.values()))
        self.check(files["a.run"], B, QRELS)
        self.check(A, B, str(files["x.qrels"]))

    @pytest.mark.slow
    def test_ranx(self, ranx: Any) -> None:
        self.check(ranx.Run(A), ranx.Run(B), ranx.Qrels(QRELS))
        self.check(ranx.Run(A), B, QRELS)
        self.check(A, B, ranx.Qrels(QRELS))

    def test_ir_measures(self, files: dict[str, Path]) -> None:
        ir_measures = pytest.importorskip("ir_measures")
        run = list(ir_measures.read_trec_run(str(files["a.run"])))
        qrels = list(ir_measures.read_trec_qrels(str(files["x.qrels"])))
        self.check(run, B, qrels)
        self.check(iter(run), B, iter(qrels))
        self.check(ir_measures.read_trec_run(str(files["a.run"])), B, QRELS)

    @pytest.mark.parametrize("library", ["pandas", "polars"])
    def test_frames(self, library: str) -> None:
        module = pytest.importorskip(library)

        def frame(lists: Any, number: str) -> Any:
            rows = [
                (q, d, value) for q, documents in lists.items() for d, value in documents.items()
            ]
            names = ("query_id", "doc_id", number)
            columns = map(list, zip(*rows, strict=True))
            return module.DataFrame(dict(zip(names, columns, strict=True)))

        self.check(frame(A, "score"), frame(B, "score"), frame(QRELS, "relevance"))

    def test_ids_that_are_numbers(self) -> None:
        c = rf.compare({"a": {7: {1: 0.5, 2: 0.25}}}, {"7": {"1": 0, "2": 1}}, metric="mrr")
        assert c.means == {"a": 1 / 2}
        assert c.query_ids.tolist() == ["7"]

    def test_labels_below_zero_are_not_relevant(self) -> None:
        found = rf.evaluate({"q": {"a": 2.0, "b": 1.0}}, {"q": {"a": -2, "b": 1}}, "mrr, ndcg")
        assert found.means == approx({"MRR": 1 / 2, "NDCG": 1 / math.log2(3)})


class TestMissing:
    QRELS = {"1": {"a": 1}, "2": {"a": 1}, "3": {"a": 1}}  # noqa: RUF012
    FULL = {"1": {"a": 1.0}, "2": {"a": 1.0, "b": 2.0}, "3": {"a": 1.0}}  # noqa: RUF012
    PART = {"1": {"b": 1.0}, "3": {"a": 1.0}}  # noqa: RUF012

    def compare(self, **options: Any) -> rf.Comparison:
        systems = {"full": self.FULL, "part": self.PART}
        return rf.compare(systems, self.QRELS, metric="mrr", **options)

    def test_error(self) -> None:
        with pytest.raises(
            ValueError,
            match=r"^query '2' is judged, but run 'part' has no document for it: missing='zero' "
            r"counts such a query as an empty list, missing='skip' leaves it out$",
        ):
            self.compare()

    def test_zero(self) -> None:
        c = self.compare(missing="zero")
        assert c.values["part"].tolist() == [0.0, 0.0, 1.0]
        assert c.means == approx({"full": 2.5 / 3, "part": 1 / 3})
        assert c.queries == 3

    def test_skip(self) -> None:
        c = self.compare(missing="skip")
        assert c.query_ids.tolist() == ["1", "3"]
        assert c.means == {"full": 1.0, "part": 0.5}
        assert "1 judged queries are not in every run: left out" in c.table()

    def test_an_empty_list_is_missing_too(self) -> None:
        part = {**self.PART, "2": {}}
        with pytest.raises(ValueError, match="query '2' is judged, but run 'part' has no document"):
            rf.compare({"full": self.FULL, "part": part}, self.QRELS)
        c = rf.compare({"part": part}, self.QRELS, metric="mrr", missing="zero")
        assert c.means["part"] == approx(1 / 3)

    @pytest.mark.parametrize("preset", [None, "trec_eval"])
    @pytest.mark.parametrize("name", ["ndcg@5", "map", "p@5", "recall@5", "mrr"])
    def test_zero_is_zero_for_every_metric(self, name: str, preset: str | None) -> None:
        metric = rf.metric(name, preset=preset)
        c = rf.compare({"part": self.PART}, self.QRELS, metric=metric, missing="zero")
        assert c.values["part"][1] == 0.0

    def test_zero_of_an_own_metric(self) -> None:
        def never_asked(scores: Any, labels: Any) -> float:
            assert len(scores)
            return 1.0

        c = rf.compare({"part": self.PART}, self.QRELS, metric=never_asked, missing="zero")
        assert c.values["part"].tolist() == [1.0, 0.0, 1.0]

    def test_queries_nobody_judged_are_noted(self) -> None:
        more = {**self.FULL, "8": {"a": 1.0}, "9": {"a": 1.0}}
        c = rf.compare({"full": self.FULL, "more": more}, self.QRELS, metric="mrr")
        assert c.query_ids.tolist() == ["1", "2", "3"]
        assert c.contrasts["more"].ties == 3
        assert "2 queries of the runs are not judged and left out" in c.table()
        assert "2 queries of the runs are not judged and left out" in c.record()["notes"]

    @pytest.mark.parametrize("missing", ["error", "zero", "skip"])
    def test_ids_that_do_not_match(self, missing: str) -> None:
        """Zeros for every query would look like a result."""
        other = {f"00{query}": documents for query, documents in self.FULL.items()}
        with pytest.raises(
            ValueError,
            match=r"^no query of run 'other' is judged: it has '001' and so on, the qrels have '1'",
        ):
            rf.compare({"full": self.FULL, "other": other}, self.QRELS, missing=missing)

    def test_no_query_in_every_run(self) -> None:
        systems = {"one": {"1": {"a": 1.0}}, "three": {"3": {"a": 1.0}}}
        with pytest.raises(ValueError, match="no judged query is in every run"):
            rf.compare(systems, self.QRELS, missing="skip")

    def test_unknown(self) -> None:
        with pytest.raises(
            ValueError, match=r"^missing is 'ignore': choose 'error', 'zero' or 'skip'$"
        ):
            self.compare(missing="ignore")


class TestLowerIsBetter:
    QRELS = {"q": {"a": 1, "b": 0, "c": 2}}  # noqa: RUF012

    def test_every_relevant_document_is_ranked(self) -> None:
        c = rf.compare(
            {"good": {"q": {"c": 3.0, "a": 2.0}}, "bad": {"q": {"x": 3.0, "a": 2.0, "c": 1.0}}},
            self.QRELS,
            metric="arpb@1",
        )
        assert c.means == {"good": 1.0, "bad": 1.0 + 2.0}
        assert c.best == ["good"]
        assert not c.contrasts["bad"].is_better

    @pytest.mark.parametrize("metric", ["arp", "arpb@1"])
    @pytest.mark.parametrize("missing", ["error", "zero"])
    def test_a_document_without_rank(self, metric: str, missing: str) -> None:
        """No rank is no small rank: a run that finds nothing would be perfect."""
        runs = {"good": {"q": {"c": 3.0, "a": 2.0}}, "bad": {"q": {"a": 2.0}}}
        with pytest.raises(
            ValueError,
            match=r"^ARP.* needs the rank of every relevant document, but run 'bad' does not have "
            r"document 'c' of query 'q'$",
        ):
            rf.compare(runs, self.QRELS, metric=metric, missing=missing)

    def test_what_counts_as_relevant_is_up_to_the_metric(self) -> None:
        run = {"q": {"c": 3.0, "b": 2.0}}
        assert rf.evaluate(run, self.QRELS, "arpb@1(rel=2)").means == {"ARPb@1(rel=2)": 0.0}
        with pytest.raises(ValueError, match="document 'a' of query 'q'"):
            rf.evaluate(run, self.QRELS, "arpb@1(rel=1)")


class TestMistakes:
    GOOD = {"q1": {"a": 1.0}, "q2": {"a": 1.0}}  # noqa: RUF012
    QRELS = {"q1": {"a": 1}, "q2": {"a": 1}}  # noqa: RUF012

    @pytest.mark.parametrize(
        ("run", "message"),
        [
            ({"q1": {"a": 1.0}, "q2": {"a": math.nan}}, "run 'b', query 'q2', document 'a': the "),
            ({"q1": {"a": 1.0}, "q2": {"a": math.inf}}, "run 'b', query 'q2', document 'a': the "),
            ({"q1": {"a": 1.0}, "q2": {"a": "x"}}, "run 'b', query 'q2', document 'a': the score"),
            ({"q1": {"1": 1.0, 1: 2.0}, "q2": {"a": 1.0}}, "run 'b', query 'q1', document '1' is"),
            ({"q1": {"a": 1.0}, "q2": [1.0]}, "run 'b', query 'q2' is [1.0]: expected a dict"),
            ({}, "run 'b' holds no queries: expected one or more"),
            ([0.5, 0.25], "run 'b', row 0 is 0.5: expected query_id, doc_id, score"),
            (np.zeros(2), "run 'b' is of the type numpy.ndarray: expected a path"),
            (
                rf.Ranker(),
                "run 'b' is of the type rankforce.training.ranker.Ranker: expected a path",
            ),
            ("nowhere.run", "nowhere.run: No such file or directory"),
        ],
    )
    def test_runs(self, run: Any, message: str) -> None:
        with pytest.raises(ValueError, match="^" + re.escape(message)):
            rf.compare({"a": self.GOOD, "b": run}, self.QRELS)

    def test_documents_twice_in_a_list(self) -> None:
        ir_measures = pytest.importorskip("ir_measures")
        twice = [ir_measures.ScoredDoc("q1", "a", score) for score in (2.0, 1.0)]
        with pytest.raises(
            ValueError, match="run 'b', row 1: document 'a' of query 'q1' stands twice"
        ):
            rf.compare({"a": self.GOOD, "b": twice}, self.QRELS)

    def test_documents_twice_in_a_file(self, tmp_path: Path) -> None:
        path = tmp_path / "twice.run"
        path.write_text("q1 Q0 a 1 2.0 t\nq2 Q0 a 1 2.0 t\nq2 Q0 a 2 1.0 t\n")
        with pytest.raises(
            ValueError, match=r"twice\.run, line 3: document 'a' of query 'q2' stands twice"
        ):
            rf.compare({"a": self.GOOD, "b": path}, self.QRELS)

    def test_scores_beyond_single_precision(self) -> None:
        run = {"q1": {"a": 1.0}, "q2": {"a": 1e39}}
        with pytest.raises(
            ValueError, match=r"^run 'b': score of row . \(query q2\) is 1e\+39: single"
        ):
            rf.compare({"a": self.GOOD, "b": run}, self.QRELS, metric="ndcg(trec_eval)")

    @pytest.mark.parametrize(
        ("qrels", "message"),
        [
            ({}, "qrels holds no queries: expected one or more"),
            ({"a": 1}, "qrels, query 'a' is 1: expected a dictionary document -> label"),
            ({"q1": {"a": math.nan}}, "qrels, query 'q1', document 'a': the label is nan"),
            ("nowhere.qrels", "nowhere.qrels: No such file or directory"),
        ],
    )
    def test_qrels(self, qrels: Any, message: str) -> None:
        with pytest.raises(ValueError, match="^" + re.escape(message)):
            rf.compare({"a": self.GOOD}, qrels)

    def test_a_run_in_place_of_qrels(self, tmp_path: Path) -> None:
        rf.write_run(self.GOOD, tmp_path / "a.run")
        with pytest.raises(ValueError, match=r"a\.run, line 1: .*this looks like a run file"):
            rf.compare({"a": self.GOOD}, tmp_path / "a.run")

    @pytest.mark.parametrize("key", ["group", "qid", "weights"])
    def test_options_of_rows(self, key: str) -> None:
        with pytest.raises(ValueError, match=f"^{key}= is for labels by row: qrels know"):
            rf.compare({"a": self.GOOD}, self.QRELS, **{key: [1, 1]})  # type: ignore[arg-type]


class TestOwnMetric:
    def test_sees_what_was_ranked(self) -> None:
        seen = []

        def spy(scores: Any, labels: Any) -> float:
            seen.append((scores.tolist(), labels.tolist()))
            return 1.0

        rf.evaluate({"q": {"a": 1.0, "b": 2.0, "x": 3.0}}, {"q": {"a": 2, "b": 0, "z": 1}}, spy)
        assert seen == [([3.0, 2.0, 1.0], [0.0, 0.0, 2.0])]  # by id, descending

    def test_names_the_query(self) -> None:
        def picky(scores: Any, labels: Any) -> float:
            return math.nan if len(scores) == 1 else 1.0

        runs = {"a": {"q1": {"a": 1.0, "b": 1.0}}, "b": {"q1": {"a": 1.0}}}
        with pytest.raises(ValueError, match="picky of query q1 is a number for system 'a', but"):
            rf.compare(runs, {"q1": {"a": 1}}, metric=picky)
