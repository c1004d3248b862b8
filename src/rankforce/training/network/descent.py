"""Descent: the forces on a batch of whole queries, one pass back through the network, and again.

The gradient of the cost is the sum over documents of -lambda times the gradient of the score
(Burges 2010): lambdas are the gradients of the scores, and no pair needs a pass of its own.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import Any

import numpy as np
import torch

from rankforce.common.draws import hash_numbers
from rankforce.common.errors import RankforceError
from rankforce.common.notes import note
from rankforce.common.types import Floats
from rankforce.models.model import Model
from rankforce.models.network.modules import Encode
from rankforce.models.network.network import Network
from rankforce.models.network.scoring import (
    few_on_one_thread,
    open_body,
    put_state,
    take_state,
    threads_of_torch,
)
from rankforce.models.outside import fingerprint_of
from rankforce.training.base import Base
from rankforce.training.callbacks.base import InMemory, Seconds
from rankforce.training.network.batches import Feed, Numbers, draw_order, fill_batches, usual_size
from rankforce.training.network.influence import find_influence
from rankforce.training.network.mistakes import all_finite, not_finite, said_in_words
from rankforce.training.network.opening import check_device, describe_constant, make_network
from rankforce.training.network.steps import (
    LATEST,
    average,
    make_optimiser,
    put_memory,
    rate_at,
    take_memory,
)
from rankforce.training.run import Job, Run


class Descent(Run):
    """A run whose steps are epochs: passes over the queries in batches."""

    step = "epoch"

    def __init__(self, job: Job) -> None:
        settings, train, base = job.settings, job.train, job.base
        self.device = check_device(settings)
        self.is_watched = bool(job.callbacks)  # somebody may look at scores of the training set
        self.spent = 0.0  # seconds in the objective
        super().__init__(job, base_steps=0, steps=int(settings.epochs or 0))
        if settings.checkpoint and self.watch.sees_queries:
            raise RankforceError(
                f"{self.watch.card} looks at single queries of earlier epochs, whose weights are "
                "not kept: no checkpoint"
            )
        self.starts = [scores.copy() for scores in self.scores]  # what the network adds to
        self._say_start()
        network = make_network(settings, train.data, base, self.device)
        if network.encoder.constant:
            self.progress.say(describe_constant(network.encoder.constant))
        self.body = open_body(network, seed=settings.seed).to(self.device)
        self._start_from_trees()
        # What scores: the body itself, or an average of what it was.
        self.mean = copy.deepcopy(self.body) if settings.averaging else self.body
        self.optimiser = make_optimiser(self.body, settings)
        self.longest = torch.zeros((), device=self.device)  # of all gradients so far
        self.model = self._make_model(network)
        self.network: Network = self.model.scorer
        self.feeds = self._open_feeds()
        self.before = self._scores_before()
        if self.is_watched:
            self.scores[0] = self.starts[0] + self.feeds[0].scores(self.mean)
        self.ready = self._open_forces()
        self._check_forces()

    def _start_from_trees(self) -> None:
        """A linear ranker on trees starts as their sum."""
        if self.base.model is not None:
            torch.nn.init.ones_(self.body.weight.weight)

    def _make_model(self, network: Network) -> Model:
        """A model without an epoch, or with those that a checkpoint has."""
        base = Base(outside=self.base.outside)
        model = self._new_model(network, base if self.base.model is None else self.base)
        model.base = base.outside
        found = self._find_earlier(model)
        if base.outside is not None and found is None:
            model.base_mark = fingerprint_of(base.outside, network.ranges)
        if found is None:
            return model
        earlier: Network = found.scorer
        earlier.device, earlier.module = self.device, network.module
        model.scorer, model.used = earlier, found.used
        memory = earlier.memories.get(earlier.epochs, {})
        latest = {n.removeprefix(LATEST): one for n, one in memory.items() if n.startswith(LATEST)}
        put_state(self.mean, earlier.states[earlier.epochs])
        put_state(self.body, latest or earlier.states[earlier.epochs])
        put_memory(self.optimiser, memory)
        self.watch.take(found.history, model.steps)
        return model

    def _open_feeds(self) -> list[Feed]:
        """The encoded rows of each data set, the training set in the order that decides ties."""
        encode = Encode(self.network.encoder).to(self.device)
        indices = [self.forces.index, *(one.data.index for one in self.sets[1:])]
        return [
            Feed(self.network.inputs(one.data.features), index, encode, self.device)
            for one, index in zip(self.sets, indices, strict=True)
        ]

    def _scores_before(self) -> Floats:
        """Scores of the training set an epoch ago, where a resumed run still has the weights."""
        earlier = self.model.steps - 1
        if not self.is_watched or earlier not in self.network.states:
            return self.starts[0]
        return self.starts[0] + self.feeds[0].scores(self.network.net(earlier).body)

    def _open_forces(self) -> Any:
        """The objective on the training set, where the network is."""
        if self.device == "cpu":
            return self.forces.ready
        from rankforce.forces.cuda import to_cuda

        return to_cuda(self.forces.ready)

    def _check_forces(self) -> None:
        """Refuse a training set without any force: nothing would ever move."""
        queries = len(self.forces.index.sizes)
        draws = np.random.default_rng(self.settings.seed).normal(size=self.sets[0].data.rows)
        for scores in (self.starts[0], draws):
            lam, _ = self.forces.ready.gradients(scores, threads=self.threads)
            if lam.any():
                return
        raise RankforceError(f"{self._nothing()} ({queries} queries)")

    def go(self) -> None:
        """Make the epochs that are missing."""
        begin = self.model.steps
        is_over = self._tell_start(begin) or begin >= self.total
        if not is_over:
            self._check_memory(begin)
        with threads_of_torch(self.threads):
            for epoch in range(begin, self.total):
                if is_over:
                    break
                begun, self.spent = perf_counter(), 0.0
                before = self.scores[0]
                self._learn(epoch)
                self._keep(epoch)
                seconds = Seconds(self.spent, perf_counter() - begun)
                lam, hess = self.forces.at(before, epoch) if self.is_watched else (before, before)
                state = InMemory(self.scores[0], lam, hess)
                is_over = self._tell_step(epoch, begin, state, seconds)
        self.end(None)

    def _check_memory(self, begin: int) -> None:
        """Refuse to go on from weights alone, where the optimiser remembers more than those."""
        remembers = self.settings.optimiser != "sgd"
        if begin and remembers and not self.network.memories.get(begin):
            raise RankforceError(
                f"checkpoint {self.settings.checkpoint} holds a model, and no run that could go "
                f"on behind its {begin} epochs: choose another folder"
            )

    def _learn(self, epoch: int) -> None:
        """One pass over the queries."""
        settings = self.settings
        index = self.forces.index
        size = settings.batch_size or usual_size(self.sets[0].data.rows)
        documents = None if settings.optimiser == "sgd" else size
        order = draw_order(index, settings.seed, epoch)
        batches = list(fill_batches(order, index.sizes, documents))
        self.body.train()
        with keyed_draws(settings.seed, epoch, self.device):
            for number, queries in enumerate(batches):
                # In the middle of a step: at its ends the first or the last one would be of rate 0.
                share = (epoch + (number + 0.5) / len(batches)) / self.total
                for group in self.optimiser.param_groups:
                    group["lr"] = rate_at(settings, share)
                rows = int(index.sizes[queries].sum())
                with said_in_words(settings, epoch, rows), few_on_one_thread(rows):
                    self._step(queries, epoch)
                if settings.averaging:
                    average(self.mean, self.body, 0.5 ** (1 / (settings.averaging * len(batches))))

    def _step(self, queries: Numbers, epoch: int) -> None:
        """Move the weights along the forces on the documents of some queries."""
        settings = self.settings
        x, sizes, rows = self.feeds[0].batch(queries)
        if settings.noise:
            scaled = self.network.encoder.scaled
            x = x.clone()
            x[:, :scaled] += settings.noise * torch.randn_like(x[:, :scaled])
        self.optimiser.zero_grad(set_to_none=True)
        scores = self.body(x, sizes)
        lam = self._forces(queries, scores.detach(), rows, epoch)
        # Plain descent takes the sum over the pairs of its query.
        scores.backward(lam.to(scores.dtype) * (-1.0 / len(queries)))
        if settings.optimiser != "sgd" and settings.clip:
            length = torch.nn.utils.clip_grad_norm_(self.body.parameters(), settings.clip)
            # One that float32 does not hold leaves a step of 0. Looked at behind the epoch: a GPU
            # would wait for each.
            self.longest = torch.maximum(self.longest, length.detach())
        self.optimiser.step()

    def _forces(self, queries: Numbers, scores: Any, rows: Numbers, epoch: int) -> Any:
        """Forces on the documents of a batch."""
        begun = perf_counter()
        start, weight = self.starts[0][rows], self.sets[0].data.row_weight
        options = {"norm": self.settings.norm, "iteration": epoch}
        part = self.ready.take(queries)
        if self.device == "cpu":
            lam, _ = part.gradients(
                start + scores.double().numpy(), threads=self.threads, **options
            )
            found = torch.from_numpy(lam)
        else:
            whole = torch.from_numpy(start).to(scores) + scores.float()
            found, _ = part.gradients(whole, **options)
        if weight is not None:
            found = found * torch.from_numpy(weight[rows]).to(found)
        self.spent += perf_counter() - begun
        return found

    def _keep(self, epoch: int) -> None:
        """The weights behind an epoch, and the scores that they give."""
        best = self.stopped_at or self.watch.best
        state = take_state(self.mean)
        if not (np.isfinite(float(self.longest)) and all_finite(state)):
            raise RankforceError(not_finite(self.settings, epoch))
        memory = take_memory(self.optimiser)
        if self.settings.averaging:
            memory |= {f"{LATEST}{name}": one for name, one in take_state(self.body).items()}
        self.network.add_epoch(state, memory, best=best)
        self.model.used = self.model.steps
        for number in range(0 if self.is_watched else 1, len(self.sets)):
            self.scores[number] = self.starts[number] + self.feeds[number].scores(self.mean)
            if not np.isfinite(self.scores[number]).all():
                raise RankforceError(not_finite(self.settings, epoch))

    def _settle(self, done: int, finished: bool) -> None:
        """Decide on an epoch whose weights are there: a callback may name any."""
        super()._settle(done, finished)
        if self.model.used not in self.network.states:
            note(f"weights behind {self.model.used} epochs are not kept: those behind {done} are")
            self.model.used = done

    def end(self, why: str | None) -> None:
        """Leave a usable model; only a run that was interrupted may go on."""
        super().end(why)
        used = self.model.used
        if self.model.finished:
            self.network.settle(used, goes_on=self.model.steps < self.total)
        self.network.influence = find_influence(self.network, used, self.sets[0].data)

    def _nothing(self) -> str:
        if len(np.unique(self.sets[0].data.labels)) < 2 and not self.sets[0].data.sources:
            return "all labels are the same: there is nothing to learn"
        return "no query has a pair of documents that push each other: there is nothing to learn"


@contextmanager
def keyed_draws(seed: int, epoch: int, device: str) -> Iterator[None]:
    """Random numbers of PyTorch that seed and epoch decide; those of others stay as they are."""
    with torch.random.fork_rng(devices=[] if device == "cpu" else None):
        torch.manual_seed(int(hash_numbers(seed, epoch) >> np.uint64(1)))
        yield
