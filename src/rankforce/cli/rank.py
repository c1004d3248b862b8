"""Rank the documents of every query of a file or a folder, best first.

Columns: query, rank, document (its id, or its row if the file has none), score, with tabs; or a run
in the form of TREC; or JSON.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from rankforce.cli.files import add_model_and_data, columns_of, output

if TYPE_CHECKING:
    from rankforce.common.types import Ints
    from rankforce.data.queries import Ranking
    from rankforce.data.ranking_data import RankingData

EXAMPLES = """examples:
  rankforce rank --model run/ --data test.txt --top 10
  rankforce rank --model run/ --data test.txt --format trec --out run.trec
  rankforce rank --model run/ --data test.txt --top 3 --json
  rankforce rank --model run/ --data shards/ --top 10 --out lists.txt
"""
KEYS = ("query", "rank", "document", "score")
LINES = 1 << 16  # made at a time


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of this verb."""
    add_model_and_data(parser)
    parser.add_argument("--top", type=int, help="documents of each query (default: all)")
    parser.add_argument("--format", choices=["tsv", "trec"], default="tsv")
    parser.add_argument("--json", action="store_true", help="print JSON, for programs")
    parser.add_argument("--out", metavar="FILE", help="where the lists go (default: print them)")


def run(options: argparse.Namespace) -> None:
    """Rank and write."""
    import rankforce as rf

    ranker = rf.load(options.model, base=options.base)
    needs = ("qid", "doc_id")
    data = rf.read(options.data, like=ranker, needs=needs, keep="disk", **columns_of(options))
    ranking = ranker.rank(data, top=options.top)
    if options.format == "trec" and not options.json:
        documents = _documents(data, ranking.row)
        _write_run(options, ranking.query.tolist(), documents, ranking.score.tolist())
        return
    with output(options.out) as file:
        if options.json:
            file.write("[")
        for number, line in enumerate(_lines(data, ranking)):
            if options.json:
                told = json.dumps(dict(zip(KEYS, line, strict=True)))
                file.write(told if number == 0 else f", {told}")
            else:
                file.write("{}\t{}\t{}\t{!r}\n".format(*line))
        if options.json:
            file.write("]\n")


def _documents(data: RankingData, rows: Ints) -> list[Any]:
    """Ids of documents, or their rows if they have none."""
    found = data.doc_ids_of(rows)
    return list((rows if found is None else found).tolist())


def _lines(data: RankingData, ranking: Ranking) -> Iterator[tuple[Any, ...]]:
    """Query, rank, document and score of each, some of them made at a time."""
    query, rank, row, score = ranking
    for first in range(0, len(row), LINES):
        some = slice(first, first + LINES)
        columns = query[some].tolist(), rank[some].tolist(), _documents(data, row[some])
        yield from zip(*columns, score[some].tolist(), strict=True)


def _write_run(options: argparse.Namespace, *columns: list[Any]) -> None:
    """The ranking as a run, by the rules of all files of runs."""
    from rankforce.formats.run_forms import RUN, from_columns
    from rankforce.formats.trec import run_texts

    queries, documents, scores = columns
    found = from_columns([list(map(str, queries)), list(map(str, documents)), scores], RUN, "data")
    texts = list(run_texts(found, place=options.out or "standard output"))
    with output(options.out) as file:
        file.writelines(texts)
