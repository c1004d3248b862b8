"""Rank the documents of every query of a file, best first.

Columns: query, rank, document (its id, or its row if the file has none), score, with tabs; or a run
in the form of TREC; or JSON.
"""

from __future__ import annotations

import argparse
import json
from typing import Any

from rankforce.cli.files import add_model_and_data, columns_of, output

EXAMPLES = """examples:
  rankforce rank --model run/ --data test.txt --top 10
  rankforce rank --model run/ --data test.txt --format trec --out run.trec
  rankforce rank --model run/ --data test.txt --top 3 --json
"""


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
    data = rf.read(options.data, like=ranker, **columns_of(options))
    ranking = ranker.rank(data, top=options.top)
    documents = ranking.row.tolist() if data.doc_ids is None else data.doc_ids[ranking.row].tolist()
    if options.format == "trec" and not options.json:
        _write_run(options, ranking.query.tolist(), documents, ranking.score.tolist())
        return
    columns = (ranking.query.tolist(), ranking.rank.tolist(), documents, ranking.score.tolist())
    lines = zip(*columns, strict=True)
    with output(options.out) as file:
        if options.json:
            keys = ("query", "rank", "document", "score")
            file.write(json.dumps([dict(zip(keys, line, strict=True)) for line in lines]) + "\n")
        else:
            file.writelines(f"{q}\t{r}\t{d}\t{s!r}\n" for q, r, d, s in lines)


def _write_run(options: argparse.Namespace, *columns: list[Any]) -> None:
    """The ranking as a run, by the rules of all files of runs."""
    from rankforce.formats.run_forms import RUN, from_columns
    from rankforce.formats.trec import run_texts

    queries, documents, scores = columns
    found = from_columns([list(map(str, queries)), list(map(str, documents)), scores], RUN, "data")
    texts = list(run_texts(found, place=options.out or "standard output"))
    with output(options.out) as file:
        file.writelines(texts)
