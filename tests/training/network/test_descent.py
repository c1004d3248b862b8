"""Steps are those of the documents: one query at a time, and one pass back for all its pairs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

import rankforce as rf
from rankforce.training.forces import shuffle_ties
from rankforce.training.network.batches import draw_order, fill_batches
from tests.reference.descent import descend, ranknet_lambdas, standardised
from tests.training.network.small import QID, SGD, TRAIN, X, Y, ranker, weights

SEED, EPOCHS, RATE = 3, 3, 0.02
ORDERS = [draw_order(TRAIN.index, SEED, epoch) for epoch in range(EPOCHS)]
ROWS = [np.flatnonzero(TRAIN.qid == one) for one in dict.fromkeys(TRAIN.qid.tolist())]


def learnt(**fitted: Any) -> NDArray[np.float32]:
    """The weights after three epochs of plain steps."""
    settings = {name: fitted.pop(name) for name in ("scaling", "epochs") if name in fitted}
    more = SGD | {"objective": "ranknet", "seed": SEED, "epochs": EPOCHS, "learning_rate": RATE}
    one = ranker(**more | settings).fit(X, Y, qid=QID, **fitted)
    return weights(one)["weight.weight"][0]


def expected(features: Any = X, **more: Any) -> NDArray[np.float64]:
    given = {"orders": ORDERS, "rate": RATE} | more
    return descend(np.asarray(features, np.float64), Y, ROWS, **given)


def assert_same(got: NDArray[Any], reference: NDArray[Any]) -> None:
    assert got == pytest.approx(reference, rel=2e-5, abs=1e-6)
    assert np.abs(reference).max() > 0.05


def test_plain_descent() -> None:
    assert_same(learnt(scaling="none"), expected())


def test_plain_descent_of_standardised_features() -> None:
    assert_same(learnt(scaling="standard"), expected(standardised(X.astype(np.float64))))


def test_scores_to_start_from() -> None:
    start = np.random.default_rng(5).normal(size=len(Y))
    assert_same(learnt(scaling="none", init_score=start), expected(start=start))


def test_weights_of_documents_and_queries() -> None:
    rng = np.random.default_rng(6)
    rows, queries = rng.uniform(size=len(Y)), rng.uniform(size=len(ROWS))
    of_query = np.concatenate([np.full(len(own), queries[q]) for q, own in enumerate(ROWS)])
    both = learnt(scaling="none", sample_weight=rows, query_weight=queries)
    assert_same(learnt(scaling="none", sample_weight=rows), expected(weights=rows))
    assert_same(learnt(scaling="none", query_weight=queries), expected(weights=of_query))
    assert_same(both, expected(weights=rows * of_query))


def test_weight_0_leaves_a_query_out() -> None:
    kept = [q for q in range(len(ROWS)) if q not in (4, 9)]
    queries = np.isin(np.arange(len(ROWS)), kept).astype(float)
    orders = [[q for q in order if q in kept] for order in ORDERS]
    assert_same(learnt(scaling="none", query_weight=queries), expected(orders=orders))


def test_weight_2_is_a_query_twice_in_small_steps() -> None:
    """The second of two steps starts from elsewhere: they are the same to the first order."""
    rows, rate = max(ROWS, key=len), 1e-5
    small = SGD | {"objective": "ranknet", "scaling": "none", "epochs": 1, "learning_rate": rate}
    once = ranker(**small).fit(X, Y, qid=QID)
    doubled = ranker(**small).fit(X, Y, qid=QID, sample_weight=np.where(QID[rows[0]] == QID, 2, 1))
    twice = ranker(**small).fit(
        np.concatenate([X, X[rows]]),
        np.concatenate([Y, Y[rows]]),
        qid=np.concatenate([QID, np.full(len(rows), 5000)]),
    )
    plain, got, wanted = (weights(one)["weight.weight"][0] for one in (once, doubled, twice))
    largest = float(np.abs(wanted).max())
    assert got == pytest.approx(wanted, abs=1e-3 * largest)
    assert got != pytest.approx(plain, abs=1e-2 * largest)


def test_each_epoch_has_an_order_of_its_own() -> None:
    assert len({tuple(order) for order in ORDERS}) == EPOCHS
    assert all(sorted(order) == list(range(len(ROWS))) for order in ORDERS)


def test_batches_are_whole_queries() -> None:
    order, sizes = ORDERS[0], TRAIN.index.sizes
    batches = list(fill_batches(order, sizes, 25))
    assert np.concatenate(batches).tolist() == order.tolist()
    filled = [int(sizes[batch].sum()) for batch in batches]
    assert max(filled) <= 25
    # None of them has room for the next query.
    assert all(f + sizes[b[0]] > 25 for f, b in zip(filled, batches[1:], strict=False))


class Small(torch.nn.Module):
    """A layer of five, with fixed weights."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = torch.nn.Linear(6, 5), torch.nn.Linear(5, 1)
        with torch.no_grad():
            for values in self.parameters():
                values.copy_(torch.linspace(-0.7, 0.9, values.numel()).reshape(values.shape))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.second(torch.tanh(self.first(x)))


def one_query() -> rf.RankingData:
    rows = max(ROWS, key=len)
    return rf.RankingData(X[rows], Y[rows], group=[len(rows)])


def pair_by_pair(module: torch.nn.Module, data: rf.RankingData) -> dict[str, torch.Tensor]:
    """The sum of the gradients of the costs of all pairs, a pass forth and back for each."""
    total = {name: torch.zeros_like(values) for name, values in module.named_parameters()}
    for i in range(data.rows):
        for j in range(data.rows):
            if data.labels[i] <= data.labels[j]:
                continue
            high, low = module(torch.from_numpy(data.features[[i, j]])).reshape(-1)
            module.zero_grad()
            torch.nn.functional.softplus(low - high).backward()
            for name, values in module.named_parameters():
                if values.grad is not None:
                    total[name] += values.grad
    return total


def test_one_pass_back_for_all_pairs() -> None:
    """003: lambdas as gradients of the scores are the sum over pairs of a pass for each."""
    module, data = Small(), one_query()
    slow = pair_by_pair(module, data)
    scores = module(torch.from_numpy(data.features)).reshape(-1)
    lam = ranknet_lambdas(scores.detach().double().numpy(), data.labels)
    module.zero_grad()
    scores.backward(-torch.from_numpy(lam).float())
    for name, values in module.named_parameters():
        torch.testing.assert_close(values.grad, slow[name], rtol=1e-4, atol=1e-5)


def test_a_step_of_training_is_that_pass() -> None:
    module, data = Small(), one_query()
    slow, rate = pair_by_pair(module, data), 0.125
    before = {name: values.detach().clone() for name, values in module.named_parameters()}
    given = {"objective": "ranknet", "optimiser": "sgd", "scaling": "none", "epochs": 1}
    one = ranker(module, **given, learning_rate=rate).fit(data)
    for name, values in weights(one).items():
        plain = name.removeprefix("module.")
        step = torch.from_numpy(values) - before[plain]
        torch.testing.assert_close(step, -rate * slow[plain], rtol=1e-4, atol=1e-5)
    for name, values in module.named_parameters():
        assert torch.equal(values, before[name])  # the user's own module stays as it was


def test_a_batch_takes_the_mean_over_its_queries() -> None:
    """AdamW remembers a tenth of the first gradient; a run that could go on keeps that."""
    given = {"objective": "ranknet", "epochs": 2, "batch_size": 10**6, "scaling": "none"}
    one = ranker(**given, clip=1e9).fit(TRAIN, callbacks=[lambda moment: True])
    lam = np.zeros(len(Y))
    for rows in ROWS:
        lam[rows] = ranknet_lambdas(np.zeros(len(rows)), Y[rows])
    ahead = (lam[:, None] * X).sum(axis=0) / len(ROWS)
    moment = one.model_.scorer.memories[1]["0.exp_avg"][0]
    assert moment == pytest.approx(-0.1 * ahead, rel=1e-4, abs=1e-6)
    assert np.array_equal(np.sign(weights(one)["weight.weight"][0]), np.sign(ahead))


def test_a_single_step_is_not_of_rate_0() -> None:
    for warmup in (0.0, 0.5, 1.0):
        one = ranker(epochs=1, batch_size=10**6, warmup=warmup).fit(TRAIN)
        assert np.abs(weights(one)["weight.weight"]).min() > 0


def test_ties_have_a_seeded_order() -> None:
    """Batches see the documents in the order in which the whole set would be ranked."""
    index = shuffle_ties(TRAIN.index, SEED)
    ready = rf.objective("lambdarank-ndcg", k=3).bind(TRAIN, index)
    lam, _ = ready.gradients(np.zeros(len(Y)))
    some = np.array([7, 2, 11])
    part, _ = ready.take(some).gradients(np.zeros(int(index.sizes[some].sum())))
    assert np.array_equal(part, lam[index.rows_of(some)])
