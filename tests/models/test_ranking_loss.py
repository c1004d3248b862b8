"""The loss of PyTorch: one cost and one gradient, however scores, labels and queries are given."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

import rankforce as rf
from rankforce.models.network.ranking_loss import total_cost
from tests.contract.cases import PAIRWISE, Case, assert_close, make_data, plain_cases

CASES = plain_cases()
PLAIN_PAIRS = [case for case in CASES if case in PAIRWISE]
DATA = make_data([9, 1, 4, 6], spread=6.0, seed=11)
SIZES = list(DATA.sizes)
QUERY = np.repeat(np.arange(len(SIZES)), SIZES)
Found = tuple[float, np.ndarray]


def tensor(values: Any, dtype: torch.dtype = torch.float64) -> torch.Tensor:
    return torch.tensor(np.asarray(values), dtype=dtype, requires_grad=True)


def found(loss: rf.RankingLoss, scores: Any, labels: Any, **queries: Any) -> Found:
    """Value and gradient."""
    given = tensor(scores)
    value = loss(given, labels, **queries)
    value.backward()
    return value.item(), given.grad.numpy()


def padded(values: np.ndarray, filler: float) -> tuple[np.ndarray, np.ndarray]:
    """One row a query, and where its documents are."""
    mask = np.arange(max(SIZES)) < np.array(SIZES)[:, None]
    table = np.full(mask.shape, filler)
    table[mask] = values
    return table, mask


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("norm", ["none", "lightgbm", "std"])
def test_gradient_is_minus_the_forces(case: Case, norm: str) -> None:
    labels = case.labels(DATA.labels)
    lam, _ = case.objective().gradients(DATA.scores, labels, group=SIZES, norm=norm, iteration=5)
    for reduction, queries in (("sum", 1), ("mean", len(SIZES))):
        loss = rf.RankingLoss(case.objective(), norm=norm, reduction=reduction)
        loss.iteration = 5
        _, gradient = found(loss, DATA.scores, labels, sizes=SIZES)
        assert_close(gradient, -lam / queries, "gradient", 1e-12)


@pytest.mark.parametrize("case", [*PLAIN_PAIRS, Case("squared-error")], ids=str)
def test_gradient_is_the_derivative_of_the_value(case: Case) -> None:
    """In float64; no step is long enough to change a rank."""
    labels = torch.from_numpy(case.labels(DATA.labels))
    loss = rf.RankingLoss(case.objective(), reduction="sum").eval()
    _, gradient = found(loss, DATA.scores, labels, sizes=SIZES)
    step, expected = 1e-4, []
    for row in range(len(DATA.scores)):
        move = step * (np.arange(len(DATA.scores)) == row)
        up, down = (loss(tensor(DATA.scores + way * move), labels, SIZES) for way in (1, -1))
        expected.append((up - down).item() / (2 * step))
    assert_close(gradient, np.array(expected), "gradient", 1e-4)


@pytest.mark.parametrize("case", PLAIN_PAIRS, ids=str)
def test_value_is_the_sum_of_weight_and_cost_of_pairs(case: Case) -> None:
    objective, labels = case.objective(sigma=1.5), case.labels(DATA.labels)
    ready = objective.prepare(labels, group=SIZES)
    total = 0.0
    for query in range(len(SIZES)):
        hi, lo, weight = ready.pairs(DATA.scores, query=query)
        total += weight @ np.logaddexp(0.0, -1.5 * (DATA.scores[hi] - DATA.scores[lo]))
    value, _ = found(rf.RankingLoss(objective), DATA.scores, labels, sizes=SIZES)
    assert value == pytest.approx(total / len(SIZES), rel=1e-9)


@pytest.mark.parametrize("norm", ["none", "std"])
def test_flat_padded_and_single_queries_agree(norm: str) -> None:
    loss = rf.RankingLoss("lambdarank-ndcg", k=3, norm=norm, reduction="sum")
    value, gradient = found(loss, DATA.scores, DATA.labels, sizes=SIZES)
    assert gradient.any()
    single = [found(loss, DATA.scores[rows], DATA.labels[rows]) for rows in DATA]
    assert value == pytest.approx(sum(one for one, _ in single))
    assert np.allclose(gradient, np.concatenate([one for _, one in single]))
    for filler in (0.0, np.nan, -np.inf):
        scores, mask = padded(DATA.scores, filler)
        labels, _ = padded(DATA.labels, filler)
        got = found(loss, scores, labels, mask=mask)
        assert got[0] == value
        assert np.array_equal(got[1][mask], gradient)
        assert not got[1][~mask].any()
    column = found(loss, DATA.scores[:, None], DATA.labels[:, None], sizes=SIZES)
    assert column[0] == value
    assert np.array_equal(column[1][:, 0], gradient)


def test_mask_may_lie_anywhere() -> None:
    loss = rf.RankingLoss("lambdarank-ndcg", k=3)
    value, gradient = found(loss, [3.0, 1.0, 2.0], [0, 1, 2])
    mask = torch.tensor([[False] * 5, [True, False, True, False, True]])
    scores, labels = np.full((2, 5), 9.0), np.full((2, 5), -1)
    scores[mask], labels[mask] = [3.0, 1.0, 2.0], [0, 1, 2]
    got = found(loss, scores, labels, mask=mask)
    assert got[0] == value, "a row without documents is no query"
    assert np.array_equal(got[1][mask], gradient)


@pytest.mark.parametrize(
    "make", [np.asarray, torch.as_tensor, list, lambda qid: list(map(str, qid))]
)
def test_queries_by_id_in_any_order(make: Any) -> None:
    loss = rf.RankingLoss("lambdamart-ex random", k=3).eval()
    value, gradient = found(loss, DATA.scores, DATA.labels, sizes=SIZES)
    order = np.random.default_rng(3).permutation(len(QUERY))
    got = found(loss, DATA.scores[order], DATA.labels[order], qid=make(QUERY[order]))
    assert got[0] == pytest.approx(value)
    assert np.allclose(got[1], gradient[order])


LABELS = {
    "list": list(DATA.labels),
    "int": torch.tensor(DATA.labels.astype(int)),
    "bfloat16": torch.tensor(DATA.labels, dtype=torch.bfloat16),
    "int8": DATA.labels.astype(np.int8),
}


@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS)
def test_labels_of_any_kind(labels: Any) -> None:
    loss = rf.RankingLoss("lambdarank-ndcg", k=3)
    value, gradient = found(loss, DATA.scores, DATA.labels, sizes=torch.tensor(SIZES))
    got = found(loss, DATA.scores, labels, sizes=SIZES)
    assert got[0] == value
    assert np.array_equal(got[1], gradient)


def test_a_mix_reads_labels_by_name() -> None:
    clicks = np.where(np.arange(len(QUERY)) % 3, 0.1 * np.arange(len(QUERY)), np.nan) / 2
    both = rf.graded(["lambdarank-ndcg", rf.objective("lambdarank(cndcg)", source="click")])
    labels = {"grade": DATA.labels, "click": clicks}
    lam, _ = both.gradients(DATA.scores, labels, group=SIZES)
    loss = rf.RankingLoss(both, reduction="sum")
    given = {name: torch.from_numpy(values) for name, values in labels.items()}
    assert np.allclose(found(loss, DATA.scores, given, sizes=SIZES)[1], -lam)
    table = {name: padded(values, -1.0)[0] for name, values in labels.items()}
    scores, mask = padded(DATA.scores, 0.0)
    assert np.allclose(found(loss, scores, table, mask=mask)[1][mask], -lam)


def test_explicit_pairs() -> None:
    loss = rf.RankingLoss("preferences")
    pairs = (torch.tensor([0, 2]), torch.tensor([1, 1]), torch.tensor([1.0, 3.0]))
    value, gradient = found(loss, [0.0, 0.0, 0.0], {"preferences": pairs})
    assert value == pytest.approx(4 * np.log(2))
    assert np.allclose(gradient, [-0.5, 2.0, -1.5])


def test_iterations_count_while_training_and_are_saved(tmp_path: Path) -> None:
    moving = rf.scheduled("ranknet", "lambdarank-ndcg", schedule="linear", rate=0.25)
    loss = rf.RankingLoss(moving, reduction="sum")
    for iteration in range(3):
        lam, _ = moving.gradients(DATA.scores, DATA.labels, group=SIZES, iteration=iteration)
        assert np.allclose(found(loss, DATA.scores, DATA.labels, sizes=SIZES)[1], -lam)
    loss.eval()
    value, _ = found(loss, DATA.scores, DATA.labels, sizes=SIZES)
    assert loss.iteration == 3
    model = torch.nn.ModuleList([torch.nn.Linear(2, 1), loss])
    save_file(model.state_dict(), tmp_path / "model.safetensors")
    again = torch.nn.ModuleList([torch.nn.Linear(2, 1), rf.RankingLoss(moving, reduction="sum")])
    again.load_state_dict(load_file(tmp_path / "model.safetensors"))
    for other in (again[1].eval(), copy.deepcopy(loss), pickle.loads(pickle.dumps(loss))):
        assert other.iteration == 3
        assert found(other, DATA.scores, DATA.labels, sizes=SIZES)[0] == value


def test_objectives_by_name_table_or_made() -> None:
    made = rf.objective("lambdagap-x+", k=5, tau=7)
    for given in (made, made.table()):
        assert rf.RankingLoss(given).objective == made
    assert rf.RankingLoss("LambdaGap X+", k=5, tau=7).objective == made
    shown = repr(rf.RankingLoss(made, norm="std", reduction="sum"))
    assert shown == f"RankingLoss({made!r}, norm='std', reduction='sum')"


@pytest.mark.parametrize("labels", [[1, 1, 1], [0, 0, 2]], ids=["no pair", "one query alone"])
def test_without_pairs_all_is_zero(labels: list[int]) -> None:
    for norm in ("none", "lightgbm", "std"):
        loss = rf.RankingLoss("lambdarank-ndcg", k=3, norm=norm)
        value, gradient = found(loss, [3.0, 2.0, 1.0], labels, sizes=[2, 0, 1])
        assert value == 0.0
        assert gradient.tolist() == [0.0, 0.0, 0.0]


def test_mean_is_over_queries_with_documents() -> None:
    loss = rf.RankingLoss("ranknet")
    assert loss(torch.zeros(4), [1, 0, 1, 0], [2, 0, 2]).item() == pytest.approx(np.log(2))
    assert loss(torch.zeros(4), [1, 0, 0, 0], [2, 2]).item() == pytest.approx(np.log(2) / 2)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_types_of_scores(dtype: torch.dtype) -> None:
    """The gradient comes back in theirs; a scaled loss overflows no sooner than it must."""
    rounded = tensor(DATA.scores, dtype).detach().double()
    loss = rf.RankingLoss("lambdarank-ndcg", k=3)
    value, gradient = found(loss, rounded, DATA.labels, sizes=SIZES)
    scores = tensor(DATA.scores, dtype)
    got = loss(scores, DATA.labels, SIZES)
    (1024.0 * got).backward()
    wide = torch.float64 if dtype == torch.float64 else torch.float32
    assert got.dtype == wide
    assert got.item() == pytest.approx(value, rel=1e-6)
    assert scores.grad.dtype == dtype
    close = {torch.float16: 1e-3, torch.bfloat16: 1e-2}.get(dtype, 1e-6)
    assert_close(scores.grad.double().numpy(), 1024.0 * gradient, "gradient", close)


def network() -> torch.nn.Module:
    torch.manual_seed(1)
    return torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))


FEATURES = torch.randn(len(QUERY), 4, generator=torch.Generator().manual_seed(2))


def trained(model: Any, step: Any = None) -> list[torch.Tensor]:
    """Gradients of the parameters after one backward pass."""
    loss = rf.RankingLoss("lambdarank-ndcg", k=3)
    (step or (lambda: loss(model(FEATURES), DATA.labels, sizes=SIZES)))().backward()
    return [one.grad for one in model.parameters()]


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_compiled_models(backend: str) -> None:
    expected = trained(network())
    torch.testing.assert_close(trained(torch.compile(network(), backend=backend)), expected)


# PyTorch warns of itself: its compiler asks every tensor that enters a graph for its gradient.
@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf")
def test_compiled_steps_with_the_loss_in_them() -> None:
    loss, model = rf.RankingLoss("lambdarank-ndcg", k=3), network()
    labels = torch.from_numpy(DATA.labels)

    @torch.compile(backend="aot_eager")
    def step() -> torch.Tensor:
        return 2.0 * loss(model(FEATURES), labels, sizes=SIZES)

    expected = [2.0 * one for one in trained(network())]
    torch.testing.assert_close(trained(model, step), expected)
    assert loss.iteration == 1


def test_autocast() -> None:
    expected = trained(network())
    model, loss = network(), rf.RankingLoss("lambdarank-ndcg", k=3)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        scores = model(FEATURES)
        assert scores.dtype == torch.bfloat16
        value = loss(scores, DATA.labels, sizes=SIZES)
        assert value.dtype == torch.float32
    value.backward()
    got = [one.grad for one in model.parameters()]
    largest = max(one.abs().max() for one in expected)
    torch.testing.assert_close(got, expected, rtol=0.0, atol=0.03 * largest.item())


def test_what_is_kept_for_the_backward_pass_is_one_number_a_document() -> None:
    kept: list[int] = []

    def pack(saved: torch.Tensor) -> torch.Tensor:
        kept.append(saved.numel())
        return saved

    scores = tensor(np.linspace(0.0, 1.0, 500))
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda saved: saved):
        rf.RankingLoss("lambdarank-ndcg")(scores, np.arange(500) % 5).backward()
    assert max(kept) == 500


def test_no_gradient_where_none_is_asked_for() -> None:
    loss = rf.RankingLoss("lambdarank-ndcg", k=3)
    value, _ = found(loss, DATA.scores, DATA.labels, sizes=SIZES)
    with torch.no_grad():
        got = loss(tensor(DATA.scores), DATA.labels, SIZES)
    assert got.item() == value
    assert not got.requires_grad
    assert not loss(torch.from_numpy(DATA.scores), DATA.labels, SIZES).requires_grad


def test_second_derivatives_are_refused() -> None:
    model = network()
    value = rf.RankingLoss("ranknet")(model(FEATURES), DATA.labels, SIZES)
    with pytest.raises(rf.RankforceError, match="no second derivatives: leave create_graph=True"):
        torch.autograd.grad(value, list(model.parameters()), create_graph=True)


class OnDevice:
    """What `CudaReady` promises, of tensors of this machine."""

    def __init__(self) -> None:
        self.ready = rf.objective("lambdarank-ndcg", k=3).prepare(DATA.labels, group=SIZES)

    def costs(self, scores: torch.Tensor, *, iteration: int) -> torch.Tensor:
        assert scores.dtype == torch.float32
        return torch.tensor(self.ready.costs(scores, iteration=iteration), dtype=torch.float32)

    def gradients(self, scores: torch.Tensor, *, norm: str, iteration: int) -> Any:
        assert scores.is_contiguous()
        found = self.ready.gradients(scores, norm=norm, iteration=iteration)
        return tuple(torch.tensor(one, dtype=torch.float32) for one in found)


def test_forces_that_stay_on_their_device() -> None:
    scores = tensor(np.repeat(DATA.scores, 2), torch.bfloat16)
    total_cost(OnDevice(), scores[::2], norm="std", iteration=2).backward()
    other = tensor(DATA.scores, torch.bfloat16)
    total_cost(OnDevice().ready, other, norm="std", iteration=2).backward()
    assert torch.equal(scores.grad[::2], other.grad)


ZEROS = torch.zeros(4)
TABLE = torch.zeros(2, 3)
MASK = torch.tensor([[True, True, False], [True, True, True]])
L3 = torch.zeros(2, 3)
NAN = torch.tensor([0.0, float("nan"), 1.0, float("inf")])
BAD = torch.tensor([[0.0, 0.0, float("nan")], [0.0, -float("inf"), 0.0]])
WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "labels": ({"labels": [1, 0, 0]}, "labels have shape (3,), but scores have shape (4,)"),
    "named": (
        {"labels": {"grade": [1, 0, 0, 1], "click": [1]}},
        "labels 'click' have shape (1,), but scores have shape (4,)",
    ),
    "ragged": (
        {"labels": [[1], [0, 0]]},
        "labels are of different lengths: give one number for each document, or a dictionary of "
        "such by name",
    ),
    "texts": (
        {"labels": ["a", "b", "c", "d"]},
        "labels are list: give one number for each document, or a dictionary of such by name",
    ),
    "NaN label": ({"labels": [0, np.nan, 1, 0]}, "label of row 1 is nan: labels must be finite"),
    "sizes": ({"sizes": [2, 3]}, "sizes add up to 5, but there are 4 rows"),
    "size": ({"sizes": [5, -1]}, "sizes[1] is -1: sizes are integers from 0 up"),
    "sizes shape": (
        {"sizes": [[2, 2]]},
        "sizes must be a list of query sizes, got shape (1, 2)",
    ),
    "qid": (
        {"qid": torch.zeros(3)},
        "qid must hold one id for each of the 4 rows, got shape (3,)",
    ),
    "both": (
        {"sizes": [4], "qid": [1, 1, 1, 1]},
        "give sizes=, qid= or mask=, not sizes= and qid=",
    ),
    "mask of flat": (
        {"mask": torch.ones(4, dtype=torch.bool)},
        "mask= is for padded scores (queries, longest), but scores have shape (4,)",
    ),
    "no mask": (
        {"scores": TABLE, "labels": L3},
        "scores have shape (2, 3): give (documents,) or (documents, 1), or (queries, longest) "
        "with mask=",
    ),
    "mask shape": (
        {"scores": TABLE, "labels": L3, "mask": MASK[:, :2]},
        "mask has shape (2, 2), but scores have shape (2, 3)",
    ),
    "mask type": (
        {"scores": TABLE, "labels": L3, "mask": MASK.float()},
        "mask is torch.float32: it must be boolean, True for a document",
    ),
    "padded labels": (
        {"scores": TABLE, "mask": MASK},
        "labels have shape (4,), but scores have shape (2, 3)",
    ),
    "padded pairs": (
        {"scores": TABLE, "labels": {"preferences": [[0, 1]]}, "mask": MASK},
        "preferences are pairs of rows: give flat scores, not padded ones",
    ),
    "NaN": ({"scores": NAN}, "non-finite scores: 2 of 4, first scores[1] = nan"),
    "NaN column": (
        {"scores": NAN[:, None]},
        "non-finite scores: 2 of 4, first scores[1] = nan",
    ),
    "padded NaN": (
        {"scores": BAD, "labels": L3, "mask": MASK},
        "non-finite scores: 1 of 5, first scores[1, 1] = -inf",
    ),
    "empty": (
        {"scores": torch.zeros(0), "labels": []},
        "there are no documents: scores have shape (0,)",
    ),
    "empty mask": (
        {"scores": TABLE, "labels": L3, "mask": ~MASK & MASK},
        "there are no documents: mask is False everywhere",
    ),
    "integers": (
        {"scores": torch.zeros(4, dtype=torch.int64)},
        "scores are torch.int64: they must be a tensor of floats",
    ),
    "array": ({"scores": np.zeros(4)}, "scores are ndarray: they must be a tensor of floats"),
}


@pytest.mark.parametrize(("given", "message"), WRONG.values(), ids=WRONG)
def test_mistakes_in_a_batch(given: dict[str, Any], message: str) -> None:
    loss = rf.RankingLoss("ranknet")
    with pytest.raises(rf.RankforceError) as error:
        loss(**{"scores": ZEROS, "labels": [1, 0, 2, 0]} | given)
    assert str(error.value) == message
    assert loss.iteration == 0


MADE = rf.objective("ranknet")
REFUSED: dict[str, tuple[Any, dict[str, Any], str]] = {
    "norm": ("ranknet", {"norm": "l2"}, "norm is 'l2': choose 'none', 'lightgbm' or 'std'"),
    "reduction": ("ranknet", {"reduction": "none"}, "reduction is 'none': choose 'mean' or 'sum'"),
    "threads": (
        "ranknet",
        {"threads": 0.5},
        "threads is 0.5: it must be an integer from -1 to 4096",
    ),
    "made": (
        MADE,
        {"sigma": 2.0},
        "the objective is made already: give sigma to rf.objective, not to the loss",
    ),
    "table": (
        {"name": "ranknet"},
        {"sigma": 2.0},
        "the objective is a table: sigma belongs into it",
    ),
}


@pytest.mark.parametrize(("objective", "given", "message"), REFUSED.values(), ids=REFUSED)
def test_mistakes_in_a_loss(objective: Any, given: dict[str, Any], message: str) -> None:
    with pytest.raises(rf.RankforceError) as error:
        rf.RankingLoss(objective, **given)
    assert str(error.value) == message


def run(program: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_without_torch_one_line_says_what_to_install() -> None:
    said = run(
        "import sys\n"
        "class Missing:\n"
        "    def find_spec(self, name, path, target=None):\n"
        "        if name == 'torch': raise ModuleNotFoundError('No torch', name=name)\n"
        "sys.meta_path.insert(0, Missing())\n"
        "from rankforce import *\n"
        "import rankforce as rf\n"
        "print(rf.objective('ranknet').pairs([1, 2], [0, 1]).weight)\n"
        "try: rf.RankingLoss\n"
        "except rf.RankforceError as error: print(error)\n"
    )
    assert said == "[1.]\nnetworks need PyTorch: pip install 'rankforce[torch]'\n"


@pytest.mark.slow
def test_nothing_else_imports_torch() -> None:
    said = run(
        "import sys\n"
        "from rankforce import *\n"
        "Ranker(n_estimators=2, progress=False).fit(make_data(queries=5))\n"
        "print('torch' in sys.modules)\n"
    )
    assert said == "False\n"
