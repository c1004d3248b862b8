"""Comparison.table, Comparison.record and rf.results: what is printed, and what programs read."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
import re
from typing import Any

import numpy as np
import pytest

import rankforce as rf
from rankforce.show.tables import FORMATS

approx = pytest.approx
SIZES = [4] * 10
LABELS = np.tile([2, 1, 0, 0], 10)
UP, DOWN = (4, 3, 2, 1), (1, 2, 3, 4)


def scores(good: int) -> Any:
    """Ideal lists for that many of the ten queries, then the worst ones."""
    return np.array([*UP * good, *DOWN * (10 - good)], dtype=float)


def compare(*, metric: Any = "p@2", baseline: str | None = None, **good: int) -> rf.Comparison:
    """P@2 is 1 for an ideal list and 0 for the worst."""
    systems = {name: scores(number) for name, number in good.items()}
    return rf.compare(systems, LABELS, group=SIZES, metric=metric, baseline=baseline)


def with_p(comparison: rf.Comparison, **p_values: float) -> rf.Comparison:
    """The same with other corrected p-values."""
    contrasts = {
        name: contrast._replace(adjusted=p_values.get(name, contrast.adjusted))
        for name, contrast in comparison.contrasts.items()
    }
    return dataclasses.replace(comparison, contrasts=contrasts)


def refuse(constant: str) -> Any:
    raise AssertionError(f"{constant} is no JSON")


def read_json(text: str) -> Any:
    return json.loads(text, parse_constant=refuse)


def read_csv(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text, newline="")))


def markdown_rows(text: str) -> list[list[str]]:
    """The cells of a table in Markdown, with the header and without the rule."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    rows = [[cell.strip() for cell in line.strip("|").split(" |")] for line in lines]
    return [rows[0], *rows[2:]]


TABLE = compare(old=5, new=9, bad=2)


class TestTable:
    def test_text(self) -> None:
        head, rule, old, new, bad, *_ = TABLE.table().splitlines()
        assert re.split(r"\s{2,}", head) == [
            "system", "P@2", "difference", "95 % interval", "p", "effect", "wins", "ties", "losses",
        ]  # fmt: skip
        assert set(rule) == {"-"}
        assert old.split() == ["old", "0.5000", "baseline"]
        assert new.split()[:3] == ["new", ">0.9000", "+0.4000"]
        assert bad.split()[:3] == ["bad", "0.2000", "-0.3000"]
        assert new.split()[-3:] == ["4", "6", "0"]
        assert bad.split()[-3:] == ["0", "7", "3"]
        assert str(TABLE) == TABLE.table()

    def test_text_tells_how_to_read_it(self) -> None:
        table = TABLE.table()
        for told in (
            "P@2: higher is better, relevant is y > 0",
            "mean over 10 queries",
            "p: Fisher's randomisation test, two-sided, exact, corrected by Holm",
            "difference: from old; * p < 0.05, ** p < 0.01, *** p < 0.001",
            "a random ranking has 0.5, an ideal one 1",
            ">: best",
        ):
            assert told in table

    def test_markdown(self) -> None:
        rows = markdown_rows(TABLE.table("markdown"))
        assert [row[:3] for row in rows[1:]] == [
            ["old", "0.5000", "baseline"],
            ["new", "**0.9000**", "+0.4000"],
            ["bad", "0.2000", "-0.3000"],
        ]
        assert {len(row) for row in rows} == {9}

    def test_latex(self) -> None:
        table = TABLE.table("latex")
        assert r"new & \textbf{0.9000} & +0.4000 &" in table
        assert r"\textcolor{red}{bad} & 0.2000 & $-$0.3000 &" in table
        assert r"95 \% interval" in table
        assert table.count("{") == table.count("}")

    def test_csv(self) -> None:
        rows = read_csv(TABLE.table("csv"))
        assert [row["system"] for row in rows] == ["old", "new", "bad"]
        for row in rows:
            assert float(row["mean"]) == TABLE.means[row["system"]]
            assert (row["metric"], row["baseline"], row["test"]) == ("P@2", "old", "fisher")
        for row in rows[1:]:
            contrast = TABLE.contrasts[row["system"]]
            for field in ("difference", "low", "high", "p_value", "adjusted", "effect"):
                assert float(row[field]) == getattr(contrast, field)
            assert [int(row[field]) for field in ("wins", "ties", "losses")] == [
                contrast.wins,
                contrast.ties,
                contrast.losses,
            ]
        assert rows[0]["p_value"] == ""

    def test_json(self) -> None:
        found = read_json(TABLE.table("json"))
        assert found == read_json(json.dumps(TABLE.record()))
        assert [system["system"] for system in found["systems"]] == ["old", "new", "bad"]
        assert [system["mean"] for system in found["systems"]] == list(TABLE.means.values())
        assert found["queries"] == 10
        assert (found["random"], found["perfect"]) == (approx(0.5), 1.0)

    def test_json_of_what_is_infinite(self) -> None:
        """The same difference in every query has no spread: the effect is infinite."""
        c = compare(old=0, new=10)
        assert c.contrasts["new"].effect == np.inf
        assert read_json(c.table("json"))["systems"][1]["effect"] is None
        assert read_csv(c.table("csv"))[1]["effect"] == ""
        assert "+inf" in c.table()

    def test_record_is_plain(self) -> None:
        def check(value: Any) -> None:
            for inner in value.values() if isinstance(value, dict) else value:
                if isinstance(inner, (dict, list)):
                    check(inner)
                else:
                    assert inner is None or type(inner) in (str, int, float, bool)

        for metric in ("p@2", rf.metric("mrr", no_relevant="skip"), "arpb@1"):
            check(compare(metric=metric, old=5, new=9).record())

    def test_record_tells_all_parameters(self) -> None:
        c = rf.compare(
            {"a": scores(5), "b": scores(6)}, LABELS, group=SIZES, metric="p@2", test="bootstrap",
            alternative="worse", correction="bh", resamples=500, confidence=0.9, seed=3,
            weights=np.ones(10),
        )  # fmt: skip
        told = {key: c.record()[key] for key in (
            "test", "alternative", "correction", "resamples", "confidence", "seed", "weighted",
        )}  # fmt: skip
        assert told == {
            "test": "bootstrap", "alternative": "worse", "correction": "bh", "resamples": 500,
            "confidence": 0.9, "seed": 3, "weighted": True,
        }  # fmt: skip
        assert "90 % interval" in c.table()
        assert "500 resamples, seed 3" in c.table()

    def test_digits(self) -> None:
        for digits in (0, 1, 6):
            rows = markdown_rows(TABLE.table("markdown", digits=digits))
            assert rows[1][1] == f"{0.5:.{digits}f}"
            assert rows[3][2] == f"{-0.3:+.{digits}f}"

    @pytest.mark.parametrize("format", FORMATS)
    def test_no_line_end_after_the_last_line(self, format: str) -> None:
        assert not TABLE.table(format).endswith(("\n", "\r"))

    def test_names_of_all_kinds(self) -> None:
        names = ["a|b", "a_b*c", "50 % & {x}", "two\nlines", 'say "x", y', "日本", "=1+1"]
        c = compare(**dict.fromkeys(names, 5))
        assert [row["system"] for row in read_csv(c.table("csv"))] == names
        assert [one["system"] for one in read_json(c.table("json"))["systems"]] == names
        assert "two lines" in c.table()
        assert r"50 \% \& \{x\}" in c.table("latex")
        assert r"| a\|b |" in c.table("markdown")

    def test_zero_has_no_minus(self) -> None:
        """For a metric that is better when lower, signs are turned round, and 0 with them."""
        for metric in ("p@2", "arpb@1"):
            c = compare(metric=metric, old=5, new=5)
            assert "-0.0000" not in c.table()
            assert "-0.0" not in c.table("csv")


class TestPercent:
    @pytest.mark.parametrize(
        "metric", ["ndcg@3", "p@2", "map", "mrr", "recall@2", "err", "rbp(0.8)", "bndcg"]
    )
    def test_shares(self, metric: str) -> None:
        c = compare(metric=metric, old=5, new=9)
        rows = markdown_rows(c.table("markdown", percent=True, digits=3))
        assert rows[0][1] == f"{c.metric.name} (%)"
        assert float(rows[1][1]) == approx(100 * c.means["old"], abs=5e-4)
        assert float(rows[2][2].strip("\\*")) == approx(100 * c.differences["new"], abs=5e-4)
        low, high = map(float, rows[2][3].split(" to "))
        found = c.contrasts["new"]
        assert (low, high) == approx((100 * found.low, 100 * found.high), abs=5e-4)

    @pytest.mark.parametrize("metric", ["arp", "arpb@1", "dcg@3", lambda scores, labels: 37.0])
    def test_what_is_no_share(self, metric: Any) -> None:
        """Sums of ranks, sums of gains, and functions of which nothing is known."""
        c = compare(metric=metric, old=5, new=9)
        assert c.table(percent=True) == c.table()
        assert "percent" not in rf.results({"x": c}, percent=True)
        number = f"{c.means['old']:.2f}"
        assert number in rf.results({"x": c}, percent=True)

    def test_programs_get_shares(self) -> None:
        for format in ("csv", "json"):
            assert TABLE.table(format, percent=True) == TABLE.table(format)

    def test_beside_each_other(self) -> None:
        found = {name: compare(metric=name, old=5, new=9) for name in ("p@2", "arpb@1")}
        rows = markdown_rows(rf.results(found, "markdown"))
        assert rows[1] == ["old", "50.00", f"{found['arpb@1'].means['old']:.2f}"]
        assert "shares in percent" in rf.results(found)


class TestStars:
    LEVELS = (
        (0.05, ""),
        (np.nextafter(0.05, 0), "*"),
        (0.01, "*"),
        (np.nextafter(0.01, 0), "**"),
        (0.001, "**"),
        (np.nextafter(0.001, 0), "***"),
        (0.0, "***"),
        (1.0, ""),
    )

    @pytest.mark.parametrize(("p", "stars"), LEVELS)
    def test_levels_are_strict(self, p: float, stars: str) -> None:
        c = with_p(compare(old=5, new=9), new=p)
        assert c.contrasts["new"].stars == stars
        cell = markdown_rows(c.table("markdown"))[2][2]
        assert cell == "+0.4000" + r"\*" * len(stars)
        assert read_csv(c.table("csv"))[1]["stars"] == stars
        assert read_json(c.table("json"))["systems"][1]["stars"] == stars
        assert markdown_rows(rf.results({"x": c}, "markdown"))[2][1] == (
            "**90.00**" + r"\*" * len(stars)
        )

    def test_small_p_values(self) -> None:
        for p, shown in ((0.00004, "<0.0001"), (0.00005001, "0.0001"), (0.0, "<0.0001")):
            table = with_p(compare(old=5, new=9), new=p).table()
            assert f" {shown} " in table

    def test_the_table_of_a_comparison_stars_what_is_worse_too(self) -> None:
        c = with_p(compare(old=5, bad=1), bad=0.02)
        assert "-0.4000*" in c.table()

    @pytest.mark.parametrize("rows", ["systems", "comparisons"])
    def test_results_star_improvements_only(self, rows: str) -> None:
        c = with_p(compare(old=5, new=9, bad=1), new=0.02, bad=0.0001)
        text = rf.results({"x": c}, "csv", rows=rows)
        assert "90.00*" in text
        assert "10.00" in text
        assert "10.00*" not in text

    @pytest.mark.parametrize("rows", ["systems", "comparisons"])
    def test_results_star_lower_where_that_is_better(self, rows: str) -> None:
        c = with_p(compare(metric="arpb@1", old=5, new=9, bad=1), new=0.02, bad=0.02)
        text = rf.results({"x": c}, "csv", rows=rows)
        assert f"{c.means['new']:.2f}*" in text
        assert f"{c.means['bad']:.2f}*" not in text


class TestBest:
    @pytest.mark.parametrize(
        ("good", "best"),
        [
            ({"a": 5, "b": 9}, ["b"]),
            ({"a": 9, "b": 5}, ["a"]),
            ({"a": 9, "b": 5, "c": 9}, ["a", "c"]),
            ({"a": 5, "b": 5}, ["a", "b"]),
            ({"a": 5}, ["a"]),
        ],
    )
    def test_bold(self, good: dict[str, int], best: list[str]) -> None:
        for metric in ("p@2", "arpb@1"):
            c = compare(metric=metric, **good)
            assert c.best == best
            for text, column in (
                (c.table("markdown"), 1),
                (rf.results({"x": c}, "markdown"), 1),
            ):
                bold = [row[0] for row in markdown_rows(text)[1:] if "**" in row[column]]
                assert bold == best
            marked = [line.split()[0] for line in c.table().splitlines() if "  >" in line]
            assert marked == best

    def test_of_several_baselines(self) -> None:
        """The best of all systems of a comparison, whatever they were compared with."""
        two = [compare(a=5, b=7), compare(c=2, d=9)]
        row = markdown_rows(rf.results({"x": two}, "markdown", rows="comparisons"))[1]
        assert [cell.startswith("**") for cell in row[1:]] == [False, False, False, True]


class TestSystemsAsRows:
    """Table 4 of Adalia et al. 2025: data sets and cutoffs as columns, objectives as rows."""

    FOUND = {  # noqa: RUF012 - nothing changes it
        ("Istella-S", "k = 1"): with_p(compare(RankNet=5, Gap=9), Gap=0.0001),
        ("Istella-S", "k = 2"): with_p(compare(RankNet=5, Gap=6), Gap=0.04),
        ("MSLR", "k = 1"): with_p(compare(RankNet=8, Gap=7, other=10), Gap=0.0001, other=0.2),
    }

    def test_text(self) -> None:
        table = rf.results(self.FOUND, digits=1).split("\n\n")[0].splitlines()
        assert table[0].split() == ["Istella-S", "MSLR"]
        assert re.split(r"\s{2,}", table[2]) == ["system", "k = 1", "k = 2", "k = 1"]
        assert [line.split() for line in table[4:]] == [
            ["RankNet", "50.0", "50.0", "80.0"],
            ["Gap", ">90.0***", ">60.0*", "70.0"],
            ["other", ">100.0"],
        ]

    def test_text_notes(self) -> None:
        notes = rf.results(self.FOUND).split("\n\n")[1].splitlines()
        assert notes == [
            ">: the best; shares in percent",
            "better than RankNet: * p < 0.05, ** p < 0.01, *** p < 0.001",
            "p: Fisher's randomisation test, two-sided, exact",
            "p: Fisher's randomisation test, two-sided, exact, corrected by Holm",
            f"P@2: {rf.metric('p@2').conventions}",
            "means over 10 queries",
        ]

    def test_latex(self) -> None:
        text = rf.results(self.FOUND, "latex", caption="Precision, in %")
        assert r"& \multicolumn{2}{c}{Istella-S} & \multicolumn{1}{c}{MSLR} \\" in text
        assert r"\cmidrule(lr){2-3} \cmidrule(lr){4-4}" in text
        assert r"\caption{Precision, in \%}" in text
        assert r"\textbf{90.00}$^{***}$" in text
        assert r"\textcolor{red}{70.00}" in text  # worse than its baseline

    def test_csv_and_json(self) -> None:
        expected = [
            ("RankNet", "50.0", "50.0", "80.0"),
            ("Gap", "90.0***", "60.0*", "70.0"),
            ("other", "", "", "100.0"),
        ]
        names = ("system", "Istella-S k = 1", "Istella-S k = 2", "MSLR k = 1")
        rows = [dict(zip(names, values, strict=True)) for values in expected]
        assert read_csv(rf.results(self.FOUND, "csv", digits=1)) == rows
        assert read_json(rf.results(self.FOUND, "json", digits=1)) == rows

    def test_references(self) -> None:
        rows = markdown_rows(rf.results(self.FOUND, "markdown", references=True))
        assert rows[1] == ["Perfect model", "100.00", "100.00", "100.00"]
        assert rows[2] == ["Random model", "50.00", "50.00", "50.00"]

    def test_references_that_are_not_known(self) -> None:
        c = compare(metric=lambda scores, labels: 0.5, a=5)
        rows = markdown_rows(rf.results({"x": c}, "markdown", references=True))
        assert rows[1:3] == [["Perfect model", ""], ["Random model", ""]]

    def test_names(self) -> None:
        text = rf.results(
            self.FOUND, "markdown", names={"Gap": "LambdaGap-S+", "other": ("a", "b")}
        )
        assert [row[0] for row in markdown_rows(text)[1:]] == ["RankNet", "LambdaGap-S+", "a b"]

    def test_keys_of_unequal_depth(self) -> None:
        found = {("MSLR", "k = 1"): compare(a=5, b=6), "all": compare(a=5, b=6)}
        names = read_csv(rf.results(found, "csv"))[0]
        assert list(names) == ["system", "MSLR k = 1", "all"]


class TestComparisonsAsRows:
    """Table 5 of Marcuzzi et al. 2023: metrics as rows, two baselines, each with its systems."""

    @staticmethod
    def pair(first: int, second: int, p: float) -> list[rf.Comparison]:
        return [
            with_p(compare(mart_k=5, ex_k=first), ex_k=p),
            with_p(compare(mart_k3=6, ex_k3=second), ex_k3=p),
        ]

    NAMES = {  # noqa: RUF012 - nothing changes it
        "mart_k": ("tau = k", "LambdaMART"),
        "ex_k": ("tau = k", "EX"),
        "mart_k3": ("tau = k + 3", "LambdaMART"),
        "ex_k3": ("tau = k + 3", "EX"),
    }

    def found(self) -> dict[Any, Any]:
        return {
            ("MSLR", "NDCG@5"): self.pair(7, 8, 0.02),
            ("MSLR", "NDCG@10"): self.pair(8, 5, 0.004),
            ("Yahoo", "NDCG@5"): self.pair(5, 6, 1.0),
        }

    def results(self, format: str = "text", **options: Any) -> str:
        return rf.results(
            self.found(), format, rows="comparisons", names=self.NAMES, digits=0, **options
        )

    def test_text(self) -> None:
        table = self.results(mark="significant").split("\n\n")[0].splitlines()
        assert re.split(r"\s{2,}", table[0].strip()) == ["tau = k", "tau = k + 3"]
        assert table[2].split() == ["LambdaMART", "EX", "LambdaMART", "EX"]
        assert [line.split() for line in table[4:] if not line.startswith("-")] == [
            ["MSLR"],
            ["NDCG@5", "50", "70*", "60", "80*"],
            ["NDCG@10", "50", ">80**", "60", "50"],
            ["Yahoo"],
            ["NDCG@5", "50", "50", "60", "60"],
        ]

    def test_notes_name_both_baselines(self) -> None:
        notes = self.results(mark="significant").split("\n\n")[1]
        assert ">: p < 0.01 (italic: p < 0.05); shares in percent" in notes
        assert "better than mart_k, mart_k3: * p < 0.05" in notes

    def test_markdown(self) -> None:
        rows = markdown_rows(self.results("markdown", mark="significant"))
        assert rows == [
            ["", "tau = k LambdaMART", "tau = k EX", "tau = k + 3 LambdaMART", "tau = k + 3 EX"],
            ["**MSLR**", "", "", "", ""],
            ["NDCG@5", "50", r"_70_\*", "60", r"_80_\*"],
            ["NDCG@10", "50", r"**80**\*\*", "60", "50"],
            ["**Yahoo**", "", "", "", ""],
            ["NDCG@5", "50", "50", "60", "60"],
        ]

    def test_latex(self) -> None:
        text = self.results("latex", mark="significant")
        assert r"& \multicolumn{2}{c}{tau = k} & \multicolumn{2}{c}{tau = k + 3} \\" in text
        assert r"\multicolumn{5}{l}{\textit{Yahoo}} \\" in text
        assert r"\textit{70}$^{*}$" in text
        assert r"\textbf{80}$^{**}$" in text
        assert r"\textcolor{red}{50}" in text  # significant, but worse: neither bold nor starred
        assert text.count(r"\textbf") == 1

    def test_csv_and_json(self) -> None:
        names = ["section", "", *(" ".join(levels) for levels in self.NAMES.values())]
        expected = [
            dict(zip(names, values, strict=True))
            for values in (
                ("MSLR", "NDCG@5", "50", "70*", "60", "80*"),
                ("MSLR", "NDCG@10", "50", "80**", "60", "50"),
                ("Yahoo", "NDCG@5", "50", "50", "60", "60"),
            )
        ]
        assert read_csv(self.results("csv")) == expected
        assert read_json(self.results("json")) == expected

    def test_references(self) -> None:
        rows = markdown_rows(self.results("markdown", references=True))
        assert rows[0][-2:] == ["perfect model", "random model"]
        assert rows[2][-2:] == ["100", "50"]

    def test_a_row_of_no_section_is_in_none(self) -> None:
        found = {("MSLR", "NDCG@5"): compare(a=5, b=6), "all": compare(a=5, b=6)}
        rows = read_csv(rf.results(found, "csv", rows="comparisons"))
        assert [row["section"] for row in rows] == ["MSLR", ""]

    def test_without_sections(self) -> None:
        rows = read_csv(rf.results({"x": compare(a=5, b=6)}, "csv", rows="comparisons"))
        assert rows == [{"": "x", "a": "50.00", "b": "60.00"}]


class TestMistakes:
    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"format": "pdf"}, "the format is 'pdf': choose one of text, markdown, latex, html"),
            ({"rows": "metrics"}, "rows is 'metrics': choose 'systems' or 'comparisons'"),
            ({"mark": "all"}, "mark is 'all': choose 'best' or 'significant'"),
            ({"digits": -1}, "digits is -1: it must be an integer from 0 up"),
            ({"digits": 1.5}, "digits is 1.5: it must be an integer from 0 up"),
            ({"names": {"a": 5}}, "a header is 5: it must be a text, or a tuple of texts"),
        ],
    )
    def test_options(self, options: dict[str, Any], message: str) -> None:
        with pytest.raises(ValueError, match=re.escape(message)):
            rf.results({"x": compare(a=5, b=6)}, **options)

    @pytest.mark.parametrize(
        ("comparisons", "message"),
        [
            ({}, "comparisons is "),
            ([compare(a=5)], "comparisons is list: give a dictionary"),
            (compare(a=5), "comparisons is Comparison: give a dictionary"),
            ({"x": []}, "x: expected a comparison or a list of them"),
            ({"x": 0.5}, "x: expected a comparison or a list of them"),
            ({("x", "y"): "z"}, "x y: expected a comparison or a list of them"),
            ({5: compare(a=5)}, "a header is 5: it must be a text, or a tuple of texts"),
            ({(): compare(a=5)}, "a header is (): it must be a text, or a tuple of texts"),
            (
                {"x": [compare(a=5), compare(metric="mrr", b=5)]},
                "x: comparisons by MRR and P@2 differ",
            ),
            ({"x": [compare(a=5), compare(b=6, a=7)]}, "x: 'a' has two means, 0.5 and 0.7"),
        ],
    )
    def test_comparisons(self, comparisons: Any, message: str) -> None:
        with pytest.raises(ValueError, match=re.escape(message)):
            rf.results(comparisons)
