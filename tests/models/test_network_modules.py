"""Networks: the same numbers as the encoder, lists that do not mix, and ONNX."""

from __future__ import annotations

import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest
import torch

from rankforce.common.errors import RankforceError
from rankforce.models.network import encoder as encoder_module
from rankforce.models.network.encoder import SCALINGS, Encoder
from rankforce.models.network.library import load_torch
from rankforce.models.network.modules import BODIES, Encode, Net, groups_of, make_body
from tests.models.test_encoder import ROWS, fit

SIZES = torch.tensor([40, 3, 1, 0, 17, 39, 100, 300])


def make_net(kind: str, scaling: str = "log", **more: Any) -> Net:
    """A network with weights that all matter, where some are 0 to begin with."""
    encoder = fit(scaling=scaling)
    net = Net(Encode(encoder), make_body(kind, encoder, **more))
    generator = torch.Generator().manual_seed(5)
    for weights in net.parameters():
        torch.nn.init.normal_(weights, std=0.2, generator=generator)
    return net.eval()


@torch.no_grad()
def score(net: Any, rows: Any, sizes: Any = None) -> Any:
    return net(torch.from_numpy(rows), sizes).numpy()


@pytest.mark.parametrize("scaling", SCALINGS)
@pytest.mark.parametrize("flags", [True, False])
def test_the_module_encodes_as_numpy_does(scaling, flags):
    rows = ROWS.copy()
    rows[:4, 1] = [3e38, -3e38, 1e-30, 0]
    rows[:4, 6] = [9, -1, 4, np.nan]
    encoder = fit(scaling=scaling, flags=flags)
    found = Encode(encoder)(torch.from_numpy(rows)).numpy()
    np.testing.assert_allclose(found, encoder.apply(rows), rtol=2e-7, atol=1e-6)


def test_small_values_of_the_log_are_exact():
    rows = np.geomspace(1e-12, 1e-5, 100, dtype=np.float32)[:, None]
    encoder = Encoder.fit(rows, names=["a"], categorical=[])
    found = Encode(encoder)(torch.from_numpy(rows)).numpy()
    np.testing.assert_allclose(found, encoder.apply(rows), atol=1e-6)


@pytest.mark.parametrize("kind", BODIES)
def test_a_list_is_scored_without_the_others(kind):
    net = make_net(kind)
    found = score(net, ROWS, SIZES)
    ends = np.cumsum(SIZES.numpy())
    for begin, end in zip(ends - SIZES.numpy(), ends, strict=True):
        alone = score(net, ROWS[begin:end])
        np.testing.assert_allclose(found[begin:end], alone, rtol=1e-4, atol=1e-5)


def test_attention_looks_at_the_list_and_mlp_does_not():
    other = ROWS.copy()
    other[1:40, 0] += 100
    changed = {}
    for kind in BODIES:
        net = make_net(kind)
        changed[kind] = abs(score(net, ROWS, SIZES) - score(net, other, SIZES))
    assert changed["linear"][0] == changed["mlp"][0] == 0
    assert changed["attention"][0] > 1e-4
    assert changed["attention"][40:].max() < 1e-5


def test_attention_does_not_know_the_order_of_a_list():
    net = make_net("attention", layers=2)
    order = np.random.default_rng(1).permutation(len(ROWS))
    np.testing.assert_allclose(
        score(net, ROWS[order]), score(net, ROWS)[order], rtol=1e-4, atol=1e-5
    )


def test_attention_begins_as_the_mlp_of_its_layers():
    encoder = fit()
    attention = make_body("attention", encoder, seed=3).eval()
    rows = torch.from_numpy(encoder.apply(ROWS))
    for weights in attention.layers.parameters():
        torch.nn.init.normal_(weights, std=0.2)
    own = attention.layers(attention.embed(rows))
    torch.testing.assert_close(attention(rows, SIZES), own)
    assert own.std() > 0.1


@pytest.mark.parametrize("kind", BODIES)
def test_every_network_begins_as_a_linear_ranker_at_0(kind):
    encoder = fit()
    body = make_body(kind, encoder, seed=3)
    rows = torch.from_numpy(encoder.apply(ROWS))
    scores = body(rows, SIZES)
    assert not scores.any()
    scores.backward(torch.from_numpy(np.random.default_rng(2).normal(size=500)).float())
    straight = body.weight if kind == "linear" else body.layers.straight
    assert straight.weight.grad.abs().sum() > 0


def test_a_linear_ranker_is_a_sum_of_weights():
    encoder = fit()
    body = make_body("linear", encoder)
    encoded = encoder.apply(ROWS)
    weights, by_code = (torch.nn.init.normal_(one).detach() for one in body.parameters())
    assert len(by_code) == 6  # five codes, and one for all others
    expected = encoded[:, :-1] @ weights.numpy()[0] + by_code.numpy()[encoded[:, -1].astype(int), 0]
    found = body(torch.from_numpy(encoded)).detach().numpy()
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("kind", BODIES)
def test_gradients_reach_every_weight(kind):
    """From where a network begins: of those that are 0 the last learn first, then those before."""
    encoder = fit()
    net = Net(Encode(encoder), make_body(kind, encoder))
    start = {name: weights.detach().clone() for name, weights in net.named_parameters()}
    steps = torch.optim.SGD(net.parameters(), lr=0.01)
    forces = torch.from_numpy(np.random.default_rng(2).normal(size=500)).float()
    for _ in range(3):
        steps.zero_grad()
        net(torch.from_numpy(ROWS), SIZES).backward(forces)
        steps.step()
    stuck = [name for name, one in net.named_parameters() if torch.equal(one, start[name])]
    assert stuck == []


@pytest.mark.parametrize("kind", BODIES)
def test_the_seed_decides_and_global_random_numbers_stay(kind):
    torch.manual_seed(11)
    expected = torch.rand(3)
    torch.manual_seed(11)
    encoder = fit()
    one, same, other = (make_body(kind, encoder, seed=seed).state_dict() for seed in (1, 1, 2))
    assert torch.equal(torch.rand(3), expected)
    assert all(torch.equal(one[name], same[name]) for name in one)
    if kind != "linear":
        assert any(not torch.equal(one[name], other[name]) for name in one)


@pytest.mark.parametrize("kind", BODIES)
@pytest.mark.parametrize("rows", [0, 1])
def test_few_rows_have_scores(kind, rows):
    net = make_net(kind)
    assert score(net, ROWS[:rows]).shape == (rows,)
    assert score(net, ROWS[:rows], torch.tensor([rows])).shape == (rows,)
    assert score(net.train(), ROWS[:rows], torch.tensor([0, rows])).shape == (rows,)


def test_groups_hold_every_row_once_and_little_padding():
    lengths = np.random.default_rng(4).geometric(0.01, 200)
    groups = list(groups_of(lengths))
    rows = np.concatenate([group.rows[group.is_there] for group in groups])
    assert np.sort(rows).tolist() == list(range(lengths.sum()))
    assert sum(g.rows.size for g in groups) < 2 * lengths.sum()
    assert len(groups) < 12


LONG = """
import resource, numpy as np, torch
from rankforce.models.network.encoder import Encoder
from rankforce.models.network.modules import make_body
rows = np.random.default_rng(0).normal(size=(9000, 4)).astype(np.float32)
encoder = Encoder.fit(rows, names=list("abcd"))
body = make_body("attention", encoder, hidden=[8], size=16, layers=1)
rows = torch.from_numpy(encoder.apply(rows))
body(rows[:90], torch.tensor([50, 40])).sum().backward()
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
body(rows, torch.tensor([5000, 4000])).sum().backward()
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024)
"""


@pytest.mark.slow
def test_a_list_of_5000_documents_needs_no_matrix_of_pairs():
    found = subprocess.run([sys.executable, "-c", LONG], capture_output=True, text=True, check=True)
    pairs = 2 * 2 * 5000**2 * 4 / 2**20  # MB: two lists, two heads, float32
    assert float(found.stdout) < pairs / 2


@pytest.mark.parametrize(
    ("kind", "scaling"), [("linear", "quantile"), ("mlp", "both"), ("attention", "log")]
)
@pytest.mark.slow
def test_onnx_gives_the_same_scores_for_any_number_of_rows(
    kind, scaling, tmp_path: Path, monkeypatch
):
    monkeypatch.setattr(encoder_module, "KNOTS", 9)  # the exporter is slow with many pieces
    net = make_net(kind, scaling, hidden=[16], size=8)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the exporter's own, of PyTorch's older names
        made = torch.onnx.export(
            net,
            (torch.from_numpy(ROWS[:7]),),
            dynamo=True,
            verbose=False,
            input_names=["features"],
            output_names=["scores"],
            dynamic_shapes=({0: torch.export.Dim("rows")},),
        )
    assert made is not None
    made.save(tmp_path / "net.onnx")
    session = onnxruntime.InferenceSession(tmp_path / "net.onnx")
    for rows in (1, 33, 500):
        (found,) = session.run(None, {"features": ROWS[:rows]})
        np.testing.assert_allclose(found, score(net, ROWS[:rows]), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("sizes", "sentence"),
    [
        ([2, 3], "sizes of lists add up to 5, but there are 500 rows"),
        ([600, -100], "expected one integer from 0 up for each"),
        ([250.0, 250.0], "sizes of lists are float32 of shape"),
        ([[500]], r"shape \(1, 1\): expected one integer"),
    ],
)
@pytest.mark.parametrize("kind", BODIES)
def test_sizes_that_do_not_fit_are_refused(kind, sizes, sentence):
    with pytest.raises(RankforceError, match=sentence):
        score(make_net(kind), ROWS, torch.tensor(sizes))


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"kind": "tree"}, "model is 'tree': choose 'linear', 'mlp' or 'attention'"),
        ({"hidden": [8, 0]}, "hidden is 0: it must be an integer from 1 up"),
        ({"dropout": 1.0}, "dropout is 1.0: it must be from 0 up and below 1"),
        ({"size": 10, "heads": 4}, "heads is 4: it must divide the size of attention, 10"),
        ({"layers": 0}, "layers is 0: it must be an integer from 1 up"),
    ],
)
def test_settings_that_make_no_network_are_refused(settings, sentence):
    with pytest.raises(RankforceError, match=sentence):
        make_body(**{"kind": "attention", "encoder": fit(), **settings})


def test_features_of_another_width_are_refused():
    with pytest.raises(RankforceError, match="expected rows of 9 features"):
        score(make_net("mlp"), ROWS[:, :5])


def test_a_missing_pytorch_is_one_sentence(monkeypatch):
    assert load_torch() is torch
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(RankforceError, match=r"need PyTorch: pip install 'rankforce\[torch\]'"):
        load_torch()


def test_the_package_and_the_encoder_do_without_pytorch():
    code = "import sys, rankforce, rankforce.models.network.encoder; print('torch' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout == "False\n"
