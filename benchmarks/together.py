"""Small trainings that share the cores: in one, two and three processes at once.

    python benchmarks/training.py --only together

Threads wait as rankforce has them wait, and as GNU's OpenMP does by itself. Every process has
trained once and waits for the start; the time is that until the last one is done, and of all rounds
the best counts.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import subprocess
import sys
import time

WAITS: dict[str, dict[str, str]] = {
    "as rankforce waits": {},
    "as OpenMP waits": {"GOMP_SPINCOUNT": "300000"},
}
AT_ONCE = {"alone": 1, "two": 2, "three": 3}
# Two at once may take as long as one after the other; one that is alone at most this share of the
# time that it takes with threads that spin.
PROMISED = {"two at once / in turn": 1.25, "alone / as OpenMP waits": 1.03}


def wait_and_fit(queries: int, trees: int, threads: int) -> None:
    """Train once to have all loaded, say so, and train when told."""
    import rankforce as rf

    data = rf.make_data("mslr", queries=queries, seed=0)
    ranker = rf.Ranker(k=10, n_estimators=trees, threads=threads, progress=False)
    ranker.fit(data)
    print("ready", flush=True)
    sys.stdin.readline()
    ranker.fit(data)
    print(hashlib.sha256(ranker.model_.text().encode()).hexdigest(), flush=True)


def time_at_once(count: int, sizes: list[str], waits: dict[str, str]) -> tuple[float, set[str]]:
    """Seconds until so many trainings are done, and the models that came out."""
    from rankforce.engines.waits import WAITS as NAMES

    usual = {name: value for name, value in os.environ.items() if name not in NAMES}
    pipe, command = subprocess.PIPE, [sys.executable, __file__, *sizes]
    ones = [
        subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env=usual | waits)
        for _ in range(count)
    ]
    for one in ones:
        assert one.stdout is not None
        if one.stdout.readline() != "ready\n":
            raise RuntimeError("a training has failed")
    start = time.perf_counter()
    for one in ones:
        assert one.stdin is not None
        one.stdin.write("go\n")
        one.stdin.flush()
    models = {one.communicate()[0].strip() for one in ones}
    return time.perf_counter() - start, models


def run_together(
    *, queries: int = 200, trees: int = 150, threads: int = 2, rounds: int = 3
) -> dict[str, dict[str, float]]:
    """Seconds for each way of waiting and each number at once."""
    results: dict[str, dict[str, float]] = {title: {} for title in WAITS}
    models: set[str] = set()
    sizes = [str(queries), str(trees), str(threads)]
    for _ in range(rounds):
        for name, count in AT_ONCE.items():
            for title, waits in WAITS.items():
                seconds, seen = time_at_once(count, sizes, waits)
                models |= seen
                results[title][name] = min(seconds, results[title].get(name, seconds))
    if len(models) != 1:
        raise RuntimeError("the models differ")
    return results


def report_together(results: dict[str, dict[str, float]]) -> None:
    columns = ("alone", "2 in turn", "2 at once", "3 at once")
    print(f"\n{'small trainings, s':28}" + "".join(f"{column:>11}" for column in columns))
    for title, row in results.items():
        numbers = (row["alone"], 2 * row["alone"], row["two"], row["three"])
        print(f"{title:28}" + "".join(f"{number:11.2f}" for number in numbers))
    ours, usual = results.values()
    ratios = (ours["two"] / (2 * ours["alone"]), ours["alone"] / usual["alone"])
    print(f"{'':28}{'ratio':>11}{'at most':>11}")
    for (title, limit), ratio in zip(PROMISED.items(), ratios, strict=True):
        mark = "" if ratio <= limit else "  missed"
        print(f"{title:28}{ratio:11.3f}{limit:11.2f}{mark}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("queries", "trees", "threads"):
        parser.add_argument(name, type=int)
    options = parser.parse_args()
    wait_and_fit(options.queries, options.trees, options.threads)
