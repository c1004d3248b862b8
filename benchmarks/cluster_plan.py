"""Tables of `docs/scale.md`: what 1 and 10 billion documents cost on many machines.

    python benchmarks/cluster_plan.py                     # half a minute
    python benchmarks/cluster_plan.py --add 1e-9 --cores 32 --latency 20e-6

Speeds of one core and of a message of ours are what `benchmarks/cluster.py` measures; that all
cores of a worker add up values at that speed is taken for granted, so that work is a lower bound.
"""

from __future__ import annotations

import argparse

import numpy as np
from cluster_model import (
    Machine,
    Task,
    best_interval,
    documents_held,
    memory,
    most_workers,
    simulate,
    time_with_losses,
)

NETWORKS = {"10 Gbit/s": 1.25e9, "1 Gbit/s": 1.25e8}
WORKERS = (4, 16, 64, 256)
MEMORY = 256 << 30
BYTES = (1.2, 2.2, 3.2)  # a value
DOCUMENTS = (10**9, 10**10)
BILLION = Task(10**9)
MONTH = 30 * 86400.0


def table(head: list[str], rows: list[list[str]]) -> str:
    """Markdown.

    >>> print(table(["a", "b"], [["1", "2"]]))
    | a | b |
    | ---: | ---: |
    | 1 | 2 |
    """
    lines = [head, ["---:"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def memory_table() -> str:
    """GiB of a worker."""
    rows = []
    for documents in DOCUMENTS:
        for workers in WORKERS:
            sizes = [memory("data", Task(documents), workers, a_value=v) for v in BYTES]
            cells = [f"{size / 2**30:,.1f}" for size in sizes]
            rows.append([f"{documents:,}", str(workers), *cells])
    return table(["documents", "workers", *(f"{size} bytes a value" for size in BYTES)], rows)


def bytes_table(machine: Machine) -> str:
    """MB that the busiest worker sends for a tree; how many documents there are does not matter."""
    kinds = {'engine="histogram"': ("histogram", 0), 'engine="lightgbm"': ("lightgbm", 0)}
    kinds |= {"data": ("data", 0), "data, integers": ("data", 32)}
    kinds |= {"voting": ("voting", 0), "feature": ("feature", 0)}
    rows = []
    for workers in (2, 3, *WORKERS):
        costs = [
            simulate(mode, BILLION._replace(levels=levels), machine, workers)
            for mode, levels in kinds.values()
        ]
        rows.append([str(workers), *(f"{cost.bytes.max() / 1e6:,.1f}" for cost in costs)])
    return table(["workers", *kinds], rows)


def seconds_table(machine: Machine) -> str:
    """Seconds of a tree, and how much of them is work."""
    kinds = [(mode, network) for network in NETWORKS for mode in ("lightgbm", "data", "voting")]
    head = ["documents", "workers", "work", *(f"{mode}, {network}" for mode, network in kinds)]
    rows = []
    for documents in DOCUMENTS:
        for workers in WORKERS:
            costs = [
                simulate(m, Task(documents), machine._replace(bandwidth=NETWORKS[n]), workers)
                for m, n in kinds
            ]
            cells = [f"{cost.seconds:.2f} ({cost.work / cost.seconds:.0%})" for cost in costs]
            rows.append([f"{documents:,}", str(workers), f"{costs[0].work:.2f}", *cells])
    return table(head, rows)


def straggler_table(machine: Machine) -> str:
    """How many times longer a tree takes than with workers that are all alike."""
    rows = []
    for workers in WORKERS:
        even = simulate("lightgbm", BILLION, machine, workers).seconds
        one = np.arange(workers) == 0
        costs = [
            simulate("lightgbm", BILLION, machine, workers, slow=np.where(one, times, 1.0))
            for times in (1.5, 2.0)
        ]
        costs += [
            simulate("lightgbm", BILLION, machine, workers, jitter=jitter) for jitter in (0.1, 0.3)
        ]
        rows.append([str(workers), *(f"{cost.seconds / even:.2f}" for cost in costs)])
    head = ["workers", "one at 2/3 of the speed", "one at half", "jitter 0.1", "jitter 0.3"]
    return table(head, rows)


def loss_table(machine: Machine) -> str:
    """Hours of 1,000 trees, where each machine is lost once in 30 days on average."""
    rows = []
    for workers in WORKERS:
        tree = simulate("lightgbm", BILLION, machine, workers).seconds
        mean = MONTH / workers
        best = max(round(best_interval(tree, save=5.0, mean=mean)), 1)
        hours = [
            time_with_losses(1000, tree, every=every, save=5.0, start=600.0, mean=mean) / 3600
            for every in (best, 100, 1000)
        ]
        cells = [f"{1000 * tree / 3600:.2f}", str(best), *(f"{hour:.2f}" for hour in hours)]
        rows.append([str(workers), *cells])
    head = ["workers", "hours, nothing lost", "best interval in trees"]
    head += ["hours, saved so often", "hours, saved at every 100", "hours, saved at the end"]
    return table(head, rows)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--add", type=float, default=2e-9, help="seconds a value, of one core")
    parser.add_argument("--look", type=float, default=5e-9, help="seconds a bin, of one core")
    parser.add_argument("--cores", type=int, default=16, help="of a worker")
    parser.add_argument("--latency", type=float, default=50e-6, help="seconds of a message")
    parser.add_argument("--message", type=float, default=45e-6, help="seconds of ours for it")
    options = parser.parse_args()
    machine = Machine(
        options.add / options.cores,
        options.look / options.cores,
        NETWORKS["10 Gbit/s"],
        options.latency,
        options.message,
    )
    print(f"{BILLION}\n{machine}\n")
    for size in BYTES:
        held = documents_held(BILLION, MEMORY, a_value=size)
        print(f"{MEMORY >> 30} GiB hold {held:,} documents at {size} bytes a value")
    print(f"\nGiB of a worker\n\n{memory_table()}\n")
    print(f"MB sent for a tree by the worker that sends most\n\n{bytes_table(machine)}\n")
    print(f"Seconds of a tree (share of work)\n\n{seconds_table(machine)}\n")
    for documents in DOCUMENTS:
        most = most_workers(Task(documents), machine)
        print(f"A team is fastest with {most:.0f} workers for {documents:,} documents.")
    print(f"\nTimes as long with stragglers, 10 Gbit/s\n\n{straggler_table(machine)}\n")
    print(f"1,000 trees; 10 minutes to start again, 5 s to save\n\n{loss_table(machine)}")


if __name__ == "__main__":
    main()
