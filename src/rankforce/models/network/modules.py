"""Networks as PyTorch modules: features in, a score for each document out.

This file needs PyTorch: it is imported only where a network is used, behind `load_torch`.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.functional import layer_norm, scaled_dot_product_attention

from rankforce.common.checks import check_choice, check_number, check_whole
from rankforce.common.errors import RankforceError
from rankforce.common.types import Ints
from rankforce.models.network.encoder import (
    FARTHEST,
    LARGEST,
    LOGGED,
    MIDDLE,
    PLACED,
    Encoder,
    check_columns,
)

BODIES = ("linear", "mlp", "attention")
HIDDEN = (256, 128, 64)
LONGEST = 2  # times the shortest list of a group is its longest, to which the others are padded
# Lists are padded to a multiple of so many documents: other numbers of rows, up to 31, MKL takes
# in another way on several threads.
WHOLE = 4
WIDEST = 16  # numbers that stand for a category, at most
# Adam moves all weights by steps of one length: those of the straight path beside hidden layers,
# of which there are few, need longer ones.
FASTER = 10.0
_STEEPEST = 1e30  # float32 holds it


class Encode(nn.Module):
    """What `Encoder.apply` does, as a module: the same numbers to 1e-6, on any device, in ONNX."""

    numbers: Tensor
    mean: Tensor
    scale: Tensor
    stretch: Tensor
    flagged: Tensor
    codes: Tensor
    counts: Tensor
    knots: Tensor
    steep: Tensor
    rise: Tensor
    lowest: Tensor

    def __init__(self, encoder: Encoder) -> None:
        super().__init__()
        self.features, self.scaling = len(encoder.names), encoder.scaling
        self.width = encoder.width
        self.has_flags = bool(encoder.flagged.any())
        self.has_codes = bool(encoder.categories)
        codes, counts = list(encoder.categories), list(encoder.categories.values())
        self._keep("numbers", encoder.numbers)
        self._keep("mean", encoder.mean)
        self._keep("scale", encoder.scale)
        self._keep("stretch", encoder.stretch)
        self._keep("flagged", np.flatnonzero(encoder.flagged))
        self._keep("codes", np.array(codes, np.int64))
        self._keep("counts", np.array(counts, np.float32))
        width = np.diff(encoder.knots.astype(np.float64))
        steep = np.where(width > 0, 1.0 / np.maximum(width, 1.0 / _STEEPEST), 0.0)
        self._keep("knots", encoder.knots[:, :-1].T)
        self._keep("steep", steep.T.astype(np.float32))
        self._keep("rise", np.diff(encoder.places).T)
        self._keep("lowest", encoder.places[:, :1].sum(axis=1))

    def _keep(self, name: str, values: NDArray[Any]) -> None:
        # Not saved with the weights: the arrays of the encoder are.
        held = torch.from_numpy(np.ascontiguousarray(values).copy())
        self.register_buffer(name, held, persistent=False)

    def forward(self, features: Tensor) -> Tensor:
        """Rows of features, NaN for missing ones, encoded."""
        check_columns(features.shape, self.features)
        values = features.index_select(1, self.numbers) if self.has_codes else features
        is_missing = values.isnan()
        parts = []
        for scaled in self._transformed(values):
            held = scaled if self.scaling == "none" else scaled.clamp(-FARTHEST, FARTHEST)
            parts.append(held.masked_fill(is_missing, 0.0))
        if self.has_flags:
            parts.append(is_missing.index_select(1, self.flagged).to(features.dtype))
        if self.has_codes:
            codes = features.index_select(1, self.codes)
            is_known = (codes >= 0) & (codes < self.counts)
            parts.append(torch.where(is_known, codes.floor(), self.counts))
        return torch.cat(parts, dim=1)

    def _transformed(self, values: Tensor) -> list[Tensor]:
        """The values, scaled: once, or in two ways."""
        found = []
        if self.scaling != "quantile":
            plain = values.sign() * _log1p(values.abs()) if self.scaling in LOGGED else values
            found.append((plain - self.mean) * self.scale)
        if self.scaling in PLACED:
            found.append((self._places(values) - MIDDLE) * self.stretch)
        return found

    def _places(self, values: Tensor) -> Tensor:
        # A sum over pieces: ONNX has no search. Places are halves of whole numbers, and all pieces
        # but one are passed or not reached: the sum is exact up to that one.
        held, found = values.clamp(-LARGEST, LARGEST), self.lowest
        for knot, steep, rise in zip(self.knots, self.steep, self.rise, strict=True):
            found = found + rise * ((held - knot) * steep).clamp(0.0, 1.0)
        return found


def _log1p(values: Tensor) -> Tensor:
    """log(1 + x) from x = 0 up, exact for small x: ONNX has no such function (Kahan has)."""
    if not torch.compiler.is_exporting():
        return values.log1p()
    more = values + 1.0
    rest = more - 1.0
    is_small = rest == 0.0
    return torch.where(is_small, values, more.log() * (values / rest.masked_fill(is_small, 1.0)))


class Embed(nn.Module):
    """Encoded rows with some numbers in place of each code of a category."""

    def __init__(self, encoder: Encoder) -> None:
        super().__init__()
        self.dense = encoder.dense
        counts = encoder.categories.values()
        sizes = [(count + 1, min(WIDEST, count // 2 + 1)) for count in counts]
        tables = [nn.Embedding(*size) for size in sizes]
        for table in tables:
            nn.init.normal_(table.weight, std=0.1)
            nn.init.zeros_(table.weight[-1:])  # what training has not seen says nothing
        self.tables = nn.ModuleList(tables)
        self.width = self.dense + sum(width for _, width in sizes)

    def forward(self, x: Tensor) -> Tensor:
        """Rows of `width` numbers."""
        if not len(self.tables):
            return x
        parts = [x[:, : self.dense]]
        for place, table in enumerate(self.tables, self.dense):
            parts.append(table(x[:, place].long()))
        return torch.cat(parts, dim=1)


class Norm(nn.LayerNorm):
    """A norm within a row. On the CPU it learns the same at any number of threads.

    The derivatives by factors and offsets that PyTorch has for the whole are sums by thread.
    """

    def forward(self, x: Tensor) -> Tensor:
        """Rows with the mean 0 and the variance 1, times factors, and offsets."""
        if not self.training or x.device.type != "cpu":
            return super().forward(x)
        plain = layer_norm(x, self.normalized_shape, eps=self.eps)
        return torch.addcmul(self.bias, plain, self.weight)


class Linear(nn.Module):
    """A weight for each feature and each category; all are 0 to begin with."""

    def __init__(self, encoder: Encoder) -> None:
        super().__init__()
        self.dense = encoder.dense
        # A constant moves all documents of a list alike: there is none.
        self.weight = _starting_at_0(encoder.dense, 1, bias=False)
        counts = encoder.categories.values()
        self.tables = nn.ModuleList(nn.Embedding(count + 1, 1) for count in counts)
        for weights in self.tables.parameters():
            nn.init.zeros_(weights)

    def forward(self, x: Tensor, sizes: Tensor | None = None) -> Tensor:
        """Scores of encoded rows."""
        check_sizes(sizes, x.shape[0])
        scores: Tensor = self.weight(x[:, : self.dense])
        for place, table in enumerate(self.tables, self.dense):
            scores = scores + table(x[:, place].long())
        return scores.squeeze(1)


class Mlp(nn.Module):
    """Layers that look at one document at a time."""

    def __init__(self, encoder: Encoder, *, hidden: Sequence[int], dropout: float) -> None:
        super().__init__()
        self.embed = Embed(encoder)
        self.layers = Layers(self.embed.width, hidden, dropout)

    def forward(self, x: Tensor, sizes: Tensor | None = None) -> Tensor:
        """Scores of encoded rows."""
        check_sizes(sizes, x.shape[0])
        scores: Tensor = self.layers(self.embed(x))
        return scores


class Layers(nn.Module):
    """From rows of numbers to scores: hidden layers, and a straight path beside them.

    Both end in weights of 0: it starts as a linear ranker, and hidden layers add what that lacks.
    On few queries a network without the straight path is worse than a linear ranker. Norms are
    within a row: a score does not depend on who else is in the batch.
    """

    def __init__(self, width: int, hidden: Sequence[int], dropout: float) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        for inner, outer in itertools.pairwise((width, *hidden)):
            layers += [nn.Linear(inner, outer), Norm(outer), nn.ReLU(), nn.Dropout(dropout)]
        self.deep = nn.Sequential(*layers, _starting_at_0((width, *hidden)[-1], 1, bias=False))
        self.straight = _starting_at_0(width, 1, bias=False)

    def forward(self, rows: Tensor) -> Tensor:
        """One score for each row."""
        scores: Tensor = self.deep(rows) + FASTER * self.straight(rows)
        return scores.squeeze(1)


def _starting_at_0(inner: int, outer: int, *, bias: bool) -> nn.Linear:
    made = nn.Linear(inner, outer, bias=bias)
    for weights in made.parameters():
        nn.init.zeros_(weights)
    return made


class Attention(nn.Module):
    """Scores a document in the context of its list (DASALC, Qin et al. 2021).

    Self-attention over the documents of a query finds a factor for each number of each document
    (latent cross), then the layers of an mlp score it. Factors are 1 to begin with: the network
    starts as that mlp. A list is a set: the order of its documents does not matter.
    """

    def __init__(
        self,
        encoder: Encoder,
        *,
        hidden: Sequence[int],
        dropout: float,
        layers: int,
        heads: int,
        size: int,
    ) -> None:
        super().__init__()
        self.embed = Embed(encoder)
        self.enter = nn.Linear(self.embed.width, size)
        self.blocks = nn.ModuleList(Block(size, heads, dropout) for _ in range(layers))
        factors = _starting_at_0(size, self.embed.width, bias=True)
        self.leave = nn.Sequential(Norm(size), factors)
        self.layers = Layers(self.embed.width, hidden, dropout)

    def forward(self, x: Tensor, sizes: Tensor | None = None) -> Tensor:
        """Scores of encoded rows, which are lists one behind the other, or one list."""
        lengths = check_sizes(sizes, x.shape[0])
        rows = self.embed(x)
        context = self._context(self.enter(rows), lengths)
        scores: Tensor = self.layers(rows * (1.0 + self.leave(context)))
        return scores

    def _context(self, inner: Tensor, lengths: Ints | None) -> Tensor:
        lists = None if lengths is None else Lists(lengths, inner.device)
        for block in self.blocks:
            inner = block(inner, lists)
        return inner


class Block(nn.Module):
    """Self-attention, then a layer for each document, each added to what came in (pre-norm).

    Only attention sees lists: all else is done with the documents of a batch at a time.
    """

    def __init__(self, size: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.heads = heads
        self.before, self.between = Norm(size), Norm(size)
        self.ask, self.answer = nn.Linear(size, 3 * size), nn.Linear(size, size)
        self.think = nn.Sequential(nn.Linear(size, 2 * size), nn.ReLU(), nn.Linear(2 * size, size))
        self.drop = nn.Dropout(dropout)

    def forward(self, rows: Tensor, lists: Lists | None) -> Tensor:
        """Documents x size, and which of them are a list: all of them, without `lists`."""
        asked = self.ask(self.before(rows)).unflatten(-1, (3, self.heads, -1))
        seen = look(asked.unsqueeze(0)).squeeze(0) if lists is None else lists.look(asked)
        rows = rows + self.drop(self.answer(seen))
        thought: Tensor = self.drop(self.think(self.between(rows)))
        return rows + thought


def look(asked: Tensor, mask: Tensor | None = None) -> Tensor:
    """Attention: lists x documents x (asks, is asked for, says) x heads x numbers."""
    query, key, value = asked.permute(2, 0, 3, 1, 4).unbind(0)
    # Without dropout of its own it never holds documents x documents of numbers.
    seen = scaled_dot_product_attention(query, key, value, attn_mask=mask)
    return seen.transpose(1, 2).flatten(2)


class Lists:
    """The lists of a batch, in groups of similar length, on a device."""

    def __init__(self, lengths: Ints, device: torch.device) -> None:
        self._groups: list[tuple[Any, ...]] = []
        at = [np.empty(0, np.int64)]
        for rows, is_there in groups_of(lengths):
            own = np.flatnonzero(is_there)  # numbers, not a mask: a device need not count them
            mask = None if len(own) == rows.size else torch.from_numpy(is_there).to(device)
            held = (torch.from_numpy(one).to(device) for one in (rows, own))
            self._groups.append((*held, mask))
            at.append(rows.ravel()[own])
        self._back = torch.from_numpy(np.argsort(np.concatenate(at))).to(device)

    def look(self, asked: Tensor) -> Tensor:
        """What documents see in the others of their lists: documents x size."""
        found = [asked[:0, 0].flatten(1)]
        for rows, own, mask in self._groups:
            wide = None if mask is None else mask[:, None, None, :]
            found.append(look(asked[rows], wide).flatten(0, 1)[own])
        return torch.cat(found)[self._back]


class Group(NamedTuple):
    """Lists of similar length."""

    rows: Ints  # lists x the longest of them: numbers of rows
    is_there: NDArray[np.bool_]  # else padding


def groups_of(lengths: Ints) -> Iterator[Group]:
    """Lists by length: none is cut, and padding at most doubles the documents of long ones.

    >>> [group.rows.tolist() for group in groups_of(np.array([2, 7, 1, 2]))]
    [[[9, 9, 9, 9], [0, 1, 0, 0], [10, 11, 10, 10]], [[2, 3, 4, 5, 6, 7, 8, 2]]]
    """
    starts = np.cumsum(lengths) - lengths
    order = np.argsort(lengths, kind="stable")
    order = order[lengths[order] > 0]
    while len(order):
        ordered = lengths[order]
        end = int(np.searchsorted(ordered, LONGEST * ordered[0], side="right"))
        own, order = order[:end], order[end:]
        place = np.arange(-(-ordered[end - 1] // WHOLE) * WHOLE)
        is_there = place < ordered[:end, None]
        rows = starts[own, None] + np.where(is_there, place, 0)
        yield Group(rows, is_there)


def check_sizes(sizes: Tensor | None, rows: int) -> Ints | None:
    """Lengths of lists that hold so many rows; they are best kept on the CPU.

    >>> check_sizes(torch.tensor([2, 3]), 4)
    Traceback (most recent call last):
    rankforce.RankforceError: sizes of lists add up to 5, but there are 4 rows
    """
    if sizes is None:
        return None
    lengths = sizes.detach().cpu().numpy()
    if lengths.ndim != 1 or lengths.dtype.kind not in "iu" or (lengths < 0).any():
        found = f"{lengths.dtype} of shape {lengths.shape}"
        raise RankforceError(f"sizes of lists are {found}: expected one integer from 0 up for each")
    if lengths.sum() != rows:
        raise RankforceError(f"sizes of lists add up to {lengths.sum()}, but there are {rows} rows")
    return np.asarray(lengths, np.int64)


def make_body(
    kind: str,
    encoder: Encoder,
    *,
    hidden: Sequence[int] = HIDDEN,
    dropout: float = 0.5,
    layers: int = 1,
    heads: int = 2,
    size: int = 32,
    seed: int = 0,
) -> nn.Module:
    """A network of a kind, "linear", "mlp" or "attention", for encoded rows.

    body(x, sizes=None) gives one score for each row. `hidden` are the sizes of the layers of an
    mlp, `layers`, `heads` and `size` are those of self-attention. The seed decides the weights to
    begin with; the global random numbers of PyTorch are left as they are.

    >>> encoder = Encoder.fit(np.eye(3, dtype=np.float32), names=["a", "b", "c"])
    >>> body = make_body("attention", encoder, hidden=[8], size=4)
    >>> body(torch.zeros(5, encoder.width), torch.tensor([2, 3])).shape
    torch.Size([5])
    """
    kind = check_choice("model", kind, BODIES)
    hidden = [check_whole("hidden", one, 1) for one in hidden]
    heads, size = check_whole("heads", heads, 1), check_whole("size", size, 1)
    if size % heads:
        raise RankforceError(f"heads is {heads}: it must divide the size of attention, {size}")
    share = check_number("dropout", dropout, 0.0)
    if share >= 1:
        raise RankforceError(f"dropout is {dropout!r}: it must be from 0 up and below 1")
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)
        if kind == "linear":
            return Linear(encoder)
        if kind == "mlp":
            return Mlp(encoder, hidden=hidden, dropout=share)
        blocks = check_whole("layers", layers, 1)
        more = {"layers": blocks, "heads": heads, "size": size}
        return Attention(encoder, hidden=hidden, dropout=share, **more)


class Net(nn.Module):
    """Raw features in, scores out: what is exported to ONNX."""

    def __init__(self, encode: Encode, body: nn.Module) -> None:
        super().__init__()
        self.encode, self.body = encode, body

    def forward(self, features: Tensor, sizes: Tensor | None = None) -> Tensor:
        """Scores of rows, which are lists of so many documents one behind the other, or one."""
        scores: Tensor = self.body(self.encode(features), sizes)
        return scores
