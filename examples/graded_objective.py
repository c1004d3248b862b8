"""Clicks up, grades not down: a graded objective (Svore et al. 2011, section 6.1, Table 1).

    python examples/graded_objective.py                       # a minute or two
    python examples/graded_objective.py --queries 300 --trees 50 --out front.png

Rankers on a made-up set with human grades and click rates: LambdaMART for NDCG, and the same with
a second tier that tells documents of one grade apart by their clicks, for several weights of that
tier. A scorecard chooses the weight on a validation set: NDCG@3 within a tolerance of the best,
then CNDCG@3. The table has both metrics on the test set with a paired t-test, as in the paper. How
far the two objectives agree while learning (Figure 2) comes last, and with --out the trade-off.
"""

from __future__ import annotations

import argparse

import numpy as np

import rankforce as rf

CUTOFFS = (1, 2, 3, 5, 10)
WEIGHTS = (0.0, 0.05, 0.1, 0.2, 0.3)
GRADES = rf.objective("lambdarank-ndcg")
CLICKS = rf.objective("lambdarank(cndcg)", source="clicks")
UNSEEN = rf.objective("lambdarank(cndcg)", source="clicks or 0")  # never shown: 0 clicks
METRICS = ("ndcg@3", "cndcg@3(source=clicks)")


def graded(weight: float) -> rf.Mixed:
    return rf.graded([GRADES, CLICKS], weights=[1.0 - weight, weight])


def show(base: rf.Ranker, chosen: rf.Ranker, test: rf.RankingData) -> None:
    scores = {"grades": base.predict(test), "grades, then clicks": chosen.predict(test)}
    found = {}
    for name, source in (("ndcg", ""), ("cndcg", "(source=clicks)")):
        for k in CUTOFFS:
            metric = rf.metric(f"{name}@{k}{source}")
            found[name.upper(), f"@{k}"] = rf.compare(scores, test, metric=metric, test="t")
    print(rf.results(found))
    by_level = rf.compare(scores, test, metric=rf.scorecard(METRICS, level=0.05), test="t")
    for tier in by_level.tiers:
        contrast = tier.contrasts["grades, then clicks"]
        sign = "better" if contrast.is_better else "worse"
        is_sure = "significantly " if contrast.p_value < 0.05 else "not significantly "
        print(f"{tier.metric.name} is {is_sure}{sign} (p = {contrast.p_value:.2g})")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--queries", type=int, default=1500, help="to train on, and to test on")
    parser.add_argument("--trees", type=int, default=150)
    parser.add_argument("--tolerance", type=float, default=0.004, help="of NDCG@3")
    parser.add_argument("--out", metavar="FILE", help="picture of the trade-off over the weight")
    options = parser.parse_args()
    train, valid, test = (
        rf.make_data("mslr", queries=options.queries, seed=seed) for seed in range(3)
    )
    parameters = {"n_estimators": options.trees, "num_leaves": 30, "progress": False}
    train.sources["clicks or 0"] = np.nan_to_num(train.sources["clicks"])
    against = {
        "all pairs, unseen = 0 clicks": UNSEEN,
        "pairs of one grade, both clicked": graded(1.0),
    }
    recorders = {name: rf.Recorder([], metrics="", against=one) for name, one in against.items()}
    rankers = {}
    for weight in WEIGHTS:
        watching = list(recorders.values()) if weight == 0.0 else []
        rankers[f"{weight:g}"] = rf.Ranker(graded(weight), **parameters).fit(
            train, callbacks=watching
        )
    card = rf.scorecard(METRICS, tolerance=options.tolerance)
    judged = {name: rf.evaluate(ranker, valid, card) for name, ranker in rankers.items()}
    best = card.choose(judged)
    print(f"weight of the clicks, chosen on other queries: {best}\n")
    show(rankers["0"], rankers[best], test)
    print("\nShare of documents that clicks push the same way as grades, or not at all")
    for name, recorder in recorders.items():
        curves = recorder.curves
        found = zip(curves.trees, curves.series["agreement"]["share"], strict=True)
        shown = "  ".join(f"{trees}: {share:.2f}" for trees, share in list(found)[::3])
        print(f"  {name:34} {shown}")
    if options.out:
        trade = rf.trade_off(graded, train, test, metrics=METRICS, **parameters)
        print(f"\n{trade.table()}\n\nthe front: w = {trade.front}; {trade.plot(options.out)}")


if __name__ == "__main__":
    main()
