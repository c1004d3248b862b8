"""List the objectives, or explain one: formula, parameters, source, cost."""

from __future__ import annotations

import argparse
import json
import textwrap
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rankforce.forces.description import Entry

EXAMPLES = """examples:
  rankforce objectives
  rankforce objectives lambdagap-x+
  rankforce objectives "lambdarank(ndcg@10)"
  rankforce objectives mix
  rankforce objectives auto
  rankforce objectives --json
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of this verb."""
    parser.add_argument(
        "name",
        nargs="?",
        metavar="NAME",
        help="the objective to explain; 'mix' for several at once, 'auto' for what fits a metric",
    )
    parser.add_argument("--json", action="store_true", help="print JSON, for programs")


def run(options: argparse.Namespace) -> None:
    """Print all objectives, or one."""
    from rankforce.forces.auto import is_auto
    from rankforce.forces.registry import ENTRIES, parse_name

    if is_auto(options.name):
        _print_auto(as_json=options.json)
        return
    if options.name in ("mix", "graded", "scheduled", "preferences"):
        print(MIXES)
        return
    entries = ENTRIES if options.name is None else [parse_name(options.name).entry]
    if options.json:
        print(json.dumps([_record(entry) for entry in entries], indent=2))
    elif options.name is None:
        _print_table(entries)
    else:
        _print_one(entries[0])


MIXES = """Several objectives at once, in Python and as a table of the configuration file

  Every objective takes source = "NAME", the labels that it reads (default: the first), and
  norm = "none", "lightgbm" or "std" of its own.

A sum, each part with its weight:
  0.7 * rf.objective("lambdarank-ndcg", k=10) + 0.3 * rf.objective("ranknet", source="click")
  a.mixed(b, weight=0.3)                       # 0.7 of a, 0.3 of b

  [objective]
  mix = [{ name = "lambdarank-ndcg", k = 10, weight = 0.7 },
         { name = "ranknet", source = "click", weight = 0.3 }]

  Each part has a norm for itself; norm = "none", "lightgbm" or "std" is that of the sum, here and
  below: LambdaGap-S+ is rf.mix([(1, "lambdarank-p@10"), (mu, "lambdagap-s@10")], norm="lightgbm").

Tiers in order of trust: the second pushes only pairs that the first does not tell apart, and leaves
out documents without clicks (Svore et al. 2011, section 4):
  rf.graded(["lambdarank-ndcg", rf.objective("lambdarank(cndcg)", source="click")],
            weights=[0.8, 0.2])

  [objective]
  graded = [{ name = "lambdarank-ndcg" }, { name = "lambdarank(cndcg)", source = "click" }]
  weights = [0.8, 0.2]
  leave_out_zeros = true

From one objective to another while learning (section 5): schedule "linear" (w grows by rate each
iteration) or "exponential" (by exp(-rate / iteration)), from start up to 1; in Python any function:
  rf.scheduled("lambdarank-ndcg", rf.objective("lambdarank-ndcg", cost="sigmoid"),
               schedule="linear", start=0.1, rate=0.01, norm="std")

  [objective]
  scheduled = [{ name = "lambdarank-ndcg" }, { name = "lambdarank-ndcg", cost = "sigmoid" }]
  norm = "std"
  schedule = "linear"
  start = 0.1
  rate = 0.01

Explicit pairs, several and contradicting ones allowed (Tunys 2015), alone or in a mix:
  rf.objective("preferences")                  # RankingData(..., preferences=(hi, lo, weight))
  rankforce train --preferences pairs.txt --objective preferences ...
  pairs.txt: QUERY BETTER WORSE [WEIGHT], documents by their ids"""


def _record(entry: Entry) -> dict[str, object]:
    return {
        "name": entry.name,
        "formula": entry.formula,
        "source": entry.source,
        "cost": entry.cost,
        "parameters": entry.parameters,
        "aliases": list(entry.aliases),
    }


def _print_table(entries: list[Entry]) -> None:
    wide = max(len(entry.name) for entry in entries)
    cost = max(len(entry.cost) for entry in entries)
    print(f"{'name':{wide}}  {'cost':{cost}}  weight of a pair")
    for entry in entries:
        print(f"{entry.name:{wide}}  {entry.cost:{cost}}  {entry.formula}")
    print(
        "\ni, j are the ranks of the pair, i above j; G is the gain, b = [y > 0], d(r) the discount"
        "\n1 / log2(1 + r), rho = |d(i) - d(j)|, delta = d(j - i) - d(j - i + 1)."
        "\nAny case will do; spaces and hyphens do not count. A plain Python function is an"
        "\nobjective too: rf.objective(function), or rf.additive(gain, value) for a metric."
        "\nSeveral at once, explicit pairs, and weights that move: rankforce objectives mix"
        "\nWhich one fits a metric, and why: rankforce objectives auto"
    )


AUTO = """auto: the objective that fits the metric, chosen before training

  The first metric that is watched decides, of a scorecard its first; without one it is NDCG, at k
  if that is given. The metric's cutoff, gain, source and other parameters are those of the
  objective, unless they are given. A run says what was chosen and why, and its model keeps it.

  rf.Ranker("auto", eval_metric="p@5")
  rankforce train --objective auto --metric p@5 ..."""


def _print_auto(*, as_json: bool) -> None:
    from rankforce.forces.auto import NEAREST, OWN, Row, choices

    found = choices()
    if as_json:
        records = [
            {"metric": metric, "objective": row.shown, "reason": row.reason}
            for metric, row in found.items()
        ]
        print(json.dumps(records, indent=2))
        return
    found |= {"a function": Row("as for NDCG", NEAREST), "rf.additive": Row("itself", OWN)}
    print(AUTO)
    for reason in dict.fromkeys(row.reason for row in found.values()):
        print()
        for metric, row in found.items():
            if row.reason == reason:
                print(f"  {metric:12}{row.shown}")
        print(textwrap.indent(textwrap.fill(reason, 84), " " * 14))


def _print_one(entry: Entry) -> None:
    from rankforce.training.settings_table import TABLE

    print(f"{entry.name}\n")
    print(f"  {'force ' if entry.listwise else 'weight'}      {entry.formula}")
    print(f"  source      {entry.source}")
    print(f"  cost        {entry.cost} per query")
    print(f"  parameters  {', '.join(entry.parameters)}{' (k is needed)' if entry.needs_k else ''}")
    for name in sorted(entry.uses):
        print(textwrap.indent(textwrap.fill(f"{name}: {TABLE[name].help}", 84), " " * 14))
    if entry.aliases:
        print(f"  also called {', '.join(entry.aliases)}")
    k = ", k=5" if entry.needs_k else ""
    print(f'\n  rf.objective("{entry.name}"{k})')
