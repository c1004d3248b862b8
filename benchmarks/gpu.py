"""Time forces on a GPU beside the usual padded PyTorch way, and trees beside XGBoost's, in one run.

    python benchmarks/gpu.py                      # a few minutes on an H200
    python benchmarks/gpu.py --parts forces --share 0.1 --only ndcg
    python benchmarks/gpu.py --parts trees,quality --data MQ2008 --data MQ2007
    python benchmarks/gpu.py --epochs             # and epochs of an mlp on that shape
    python benchmarks/gpu.py --json result.json

The usual way pads the lists of a bucket of like lengths to one length and has matrices of every
pair: labels, gains and ideal values are padded before any timing, as ours are bound. Both find the
same forces, which is checked first, as is that our forces are those of the processor's kernels.
Times of forces are of CUDA events around calls on arrays that are on the GPU, the median of all
rounds. Times of trees are those that a user waits, the first few left out: forces, growth, values
of leaves, scores. Behind them stands what each kernel takes when it is waited for.
"""

from __future__ import annotations

import argparse
import functools
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cupy
import numpy as np
import torch

import rankforce as rf
from rankforce.forces.cuda import to_cuda

sys.path.insert(0, str(Path(__file__).parent))
from gpu_trees import check_quality
from gpu_trees import run as run_trees
from shapes import FEATURES, SHAPES, Made, make
from versions import installed

CALLS = 10  # between two events
BATCHES = (2048, 16384)  # documents
BUCKET = 32  # lengths of a bucket differ by less
MATRICES = 1 << 28  # numbers of a matrix of pairs, at most
# What the project promises on an H200, of NDCG without truncation on MSLR-WEB30K's shape, with a
# truncation of 5, and without on a tenth of Istella-X's.
MOST_MS, LEAST_TIMES = 0.4, 100.0
MOST_TRUNCATED, MOST_ISTELLA = 0.15, 1.0


class Padded:
    """LambdaRank-NDCG without truncation: n x n matrices of lists padded to one length."""

    def __init__(self, data: Made) -> None:
        order = np.argsort(data.sizes, kind="stable")
        starts = np.cumsum(data.sizes) - data.sizes
        bucket = (data.sizes[order] + BUCKET - 1) // BUCKET
        self.rows = len(data.labels)
        self.parts = []
        for width in np.unique(bucket):
            chosen = order[bucket == width]
            longest = int(data.sizes[chosen].max())
            for part in np.array_split(chosen, -(-len(chosen) * longest**2 // MATRICES)):
                self.parts.append(self._pad(data, part, starts[part], longest))

    def _pad(self, data: Made, part: Any, starts: Any, longest: int) -> tuple[Any, ...]:
        place = np.arange(longest)
        is_there = place < data.sizes[part][:, None]
        index = np.where(is_there, starts[:, None] + place, 0)
        gain = np.where(is_there, 2.0 ** data.labels[index] - 1.0, 0.0)
        best = -np.sort(-gain, axis=1)
        ideal = (best / np.log2(2.0 + place)).sum(axis=1)
        inverse = np.divide(1.0, ideal, out=np.zeros(len(part)), where=ideal > 0)
        tensors = (torch.from_numpy(one).cuda() for one in (index, is_there))
        floats = (torch.from_numpy(one).float().cuda() for one in (gain, inverse))
        return (*tensors, *floats)

    def __call__(self, scores: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        lam, hess = torch.empty_like(scores), torch.empty_like(scores)
        for index, is_there, gain, inverse in self.parts:
            padded = scores[index].masked_fill(~is_there, float("-inf"))
            order = padded.argsort(dim=1, descending=True, stable=True)
            rank = order.argsort(dim=1)
            discount = 1.0 / torch.log2(2.0 + rank)
            differ = gain[:, :, None] - gain[:, None, :]
            is_pair = (differ > 0) & is_there[:, :, None] & is_there[:, None, :]
            weight = differ * (discount[:, :, None] - discount[:, None, :]).abs()
            weight = (weight * inverse[:, None, None]).masked_fill(~is_pair, 0.0)
            share = torch.sigmoid(padded[:, None, :] - padded[:, :, None])
            force = (weight * share).masked_fill(~is_pair, 0.0)
            second = (force * (1.0 - share)).masked_fill(~is_pair, 0.0)
            lam[index[is_there]] = (force.sum(2) - force.sum(1))[is_there]
            hess[index[is_there]] = (second.sum(2) + second.sum(1))[is_there]
        return lam, hess


def median_ms(call: Callable[[], object], rounds: int, calls: int = CALLS) -> float:
    """Milliseconds of one call on the GPU."""
    call()
    took = []
    for _ in range(rounds):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        for _ in range(calls):
            call()
        end.record()
        end.synchronize()
        took.append(start.elapsed_time(end) / calls)
    return float(np.median(took))


def apart(data: Made, got: Any, expected: Any) -> float:
    """Largest difference of forces, relative to the largest force of the query."""
    got, expected = (np.asarray(one, np.float64) for one in (got, expected))
    starts = np.cumsum(data.sizes) - data.sizes
    scale = np.repeat(np.maximum.reduceat(np.abs(expected), starts), data.sizes)
    return float((np.abs(got - expected) / np.maximum(scale, 1e-30)).max())


def contenders(k: int) -> dict[str, Any]:
    """Every objective at `k`, and without truncation where that is a choice."""
    found = {}
    for entry in rf.objectives():
        if entry.of_clicks:
            continue
        name = entry.name if "tau" not in entry.uses else f"{entry.name}, tau {k}"
        found[name] = rf.objective(entry.name, k=k)
        if "tau" in entry.uses and not entry.needs_k:
            found[f"{entry.name}, no tau"] = rf.objective(entry.name)
    return found


def bind(objective: Any, data: Made) -> tuple[Any, Any]:
    """The objective bound on the processor and on the GPU."""
    ready = objective.prepare(data.labels, group=data.sizes)
    return ready, to_cuda(ready)


def peak_bytes(call: Callable[[], object]) -> int:
    """Bytes that a call takes at most, its results among them."""
    pool = cupy.get_default_memory_pool()
    torch.cuda.empty_cache()
    pool.free_all_blocks()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated() + pool.total_bytes()
    call()
    torch.cuda.synchronize()
    return int(torch.cuda.max_memory_allocated() + pool.total_bytes() - before)


def compare(data: Made, rounds: int) -> dict[str, Any]:
    """LambdaRank-NDCG without truncation: ours, and the usual way."""
    scores = torch.from_numpy(data.scores).float().cuda()
    ready, ours = bind(rf.objective("lambdarank-ndcg", tau=float("inf")), data)
    padded = Padded(data)
    given = scores.cpu().numpy().astype(np.float64)
    result: dict[str, Any] = {"apart": {}, "ms": {}, "bytes": {}}
    for norm in ("none", "lightgbm", "std"):
        found = zip(
            ours.gradients(scores, norm=norm), ready.gradients(given, norm=norm), strict=True
        )
        result["apart"][norm] = max(apart(data, one.cpu(), other) for one, other in found)
        call = functools.partial(ours.gradients, scores, norm=norm)
        result["ms"][norm] = median_ms(call, rounds)
    theirs = zip(padded(scores), ours.gradients(scores), strict=True)
    result["apart"]["padded"] = max(apart(data, one.cpu(), other.cpu()) for one, other in theirs)
    result["ms"]["padded"] = median_ms(lambda: padded(scores), max(rounds // 5, 2), 1)
    result["ms"]["costs"] = median_ms(lambda: ours.costs(scores), rounds)
    result["bytes"]["ours"] = peak_bytes(lambda: ours.gradients(scores))
    result["bytes"]["padded"] = peak_bytes(lambda: padded(scores))
    result["ms"]["none, again"] = median_ms(lambda: ours.gradients(scores), rounds)
    return result


def report(title: str, data: Made, result: dict[str, Any]) -> None:
    rows = len(data.labels)
    print(f"\n{title}: {len(data.sizes):,} queries, {rows:,} documents, LambdaRank-NDCG, no tau")
    print(f"{'':24}{'ms':>10}{'of padded':>12}{'bytes a document':>18}{'apart':>10}")
    for name, ms in result["ms"].items():
        ratio = f"1/{result['ms']['padded'] / ms:.0f}"
        key = {"none": "ours", "padded": "padded"}.get(name, "")
        memory = f"{result['bytes'][key] / rows:.0f}" if key else ""
        far = f"{result['apart'][name]:.1e}" if name in result["apart"] else ""
        print(f"{name:24}{ms:10.3f}{ratio:>12}{memory:>18}{far:>10}")


def every(data: Made, k: int, rounds: int, only: str) -> dict[str, dict[str, float]]:
    """Time, and difference from the processor's kernels, of every objective and norm."""
    found: dict[str, dict[str, float]] = {}
    scores = torch.from_numpy(data.scores).float().cuda()
    given = scores.cpu().numpy().astype(np.float64)
    for name, objective in contenders(k).items():
        if only not in name.lower():
            continue
        ready, ours = bind(objective, data)
        row: dict[str, float] = {"apart": 0.0}
        for norm in ("none", "lightgbm", "std"):
            pairs = zip(
                ours.gradients(scores, norm=norm), ready.gradients(given, norm=norm), strict=True
            )
            row["apart"] = max(row["apart"], *(apart(data, one.cpu(), two) for one, two in pairs))
            call = functools.partial(ours.gradients, scores, norm=norm)
            row[norm] = median_ms(call, rounds)
        found[name] = row
        print(
            f"{name:40}{row['none']:9.3f}{row['lightgbm']:11.3f}{row['std']:9.3f}{row['apart']:10.1e}"
        )
    return found


def time_epochs(data: Made) -> dict[str, float]:
    """Seconds of an epoch of an mlp, by documents of a batch, the first epoch left out."""
    rng = np.random.default_rng(0)
    features = np.exp(rng.normal(size=(len(data.labels), FEATURES))).astype(np.float32)
    features[:, :10] += data.labels[:, None]
    train = rf.RankingData(features, data.labels, group=data.sizes)
    found = {}
    for size in BATCHES:
        took: list[float] = []
        ranker = rf.Ranker(
            "lambdarank-ndcg",
            model="mlp",
            hidden=[256, 128, 64],
            batch_size=size,
            epochs=4,
            device="cuda",
            progress=False,
        )
        ranker.fit(train, callbacks=[lambda moment, took=took: took.append(moment.seconds.tree)])
        found[str(size)] = min(took[1:])
        value = ranker.score(train, metric="ndcg@10")
        print(
            f"mlp 256-128-64, {len(data.labels):,} x {FEATURES}, {size:,} documents a batch: "
            f"{found[str(size)]:.2f} s an epoch (first {took[0]:.2f}), NDCG@10 {value:.3f}"
        )
    return found


def check_promises(data: Made, share: float, rounds: int) -> dict[str, float]:
    """Forces with a truncation, and of lists that are thousands long."""
    long = make(SHAPES["istella-x"], share=share)  # of a tenth of its queries
    found = {}
    for name, own, tau, most in (
        ("tau 5", data, 5, MOST_TRUNCATED),
        ("a tenth of Istella-X's queries, no tau", long, float("inf"), MOST_ISTELLA),
    ):
        scores = torch.from_numpy(own.scores).float().cuda()
        ours = bind(rf.objective("lambdarank-ndcg", tau=tau), own)[1]
        found[name] = median_ms(functools.partial(ours.gradients, scores), rounds)
        mark = "" if found[name] <= most else "  missed"
        print(f"{name}, norm none: at most {most} ms: {found[name]:.3f} ms{mark}")
    return found


def time_forces(options: argparse.Namespace) -> dict[str, Any]:
    """NDCG beside the padded way, what is promised, every objective, and epochs if asked."""
    data = make(SHAPES[options.shape], share=options.share)
    result = compare(data, options.rounds)
    report(SHAPES[options.shape].title, data, result)
    for norm in ("none", "lightgbm"):
        ms, times = result["ms"][norm], result["ms"]["padded"] / result["ms"][norm]
        mark = "" if ms <= MOST_MS and times >= LEAST_TIMES else "  missed"
        print(
            f"norm {norm}: at most {MOST_MS} ms and {LEAST_TIMES:.0f} times as fast as padded: "
            f"{ms:.3f} ms, {times:.0f} times{mark}"
        )
    promised = check_promises(data, options.share, options.rounds)
    few = make(SHAPES[options.shape], share=options.share * 0.1)
    print(f"\n{'every objective, ms':40}{'none':>9}{'lightgbm':>11}{'std':>9}{'apart':>10}")
    print(f"{f'{len(few.labels):,} documents':40}")
    rest = every(few, options.k, max(options.rounds // 4, 2), options.only.lower())
    epochs = time_epochs(data) if options.epochs else {}
    return {"result": result, "promised": promised, "objectives": rest, "epochs": epochs}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--shape", choices=list(SHAPES), default="mslr")
    parser.add_argument("--share", type=float, default=1.0, help="share of the queries (default 1)")
    parser.add_argument("--rounds", type=int, default=20, help="rounds to take the median of")
    parser.add_argument("--k", type=int, default=10)
    parser.add_argument("--only", default="", help="objectives whose name contains this")
    parser.add_argument("--epochs", action="store_true", help="time epochs of an mlp as well")
    parser.add_argument("--parts", default="forces,trees,quality", help="what to run, with commas")
    parser.add_argument(
        "--trees",
        type=int,
        default=100,
        help="trees that are timed; ten times as many in the long run",
    )
    parser.add_argument("--bins", type=int, default=127, help="bins of a feature")
    parser.add_argument(
        "--data",
        action="append",
        default=[],
        metavar="FOLDER",
        help="S1.txt.gz to S5.txt.gz, to compare the quality of trees on",
    )
    parser.add_argument("--json", metavar="FILE", help="write the numbers to a file as well")
    options = parser.parse_args()
    versions = installed("rankforce", "torch", "numpy")
    versions |= {"cupy": cupy.__version__, "GPU": torch.cuda.get_device_name()}
    print("; ".join(f"{name} {number}" for name, number in versions.items()))
    parts = options.parts.split(",")
    record: dict[str, Any] = {"versions": versions}
    if "forces" in parts:
        record |= time_forces(options)
    if "trees" in parts:
        record["trees"] = run_trees(options)
    if "quality" in parts:
        record["quality"] = check_quality(options.data)
    if options.json:
        Path(options.json).write_text(json.dumps(record, indent=2))


if __name__ == "__main__":
    main()
