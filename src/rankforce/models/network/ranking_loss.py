"""Every objective as a loss of PyTorch, for a training loop of one's own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rankforce.common.checks import check_choice
from rankforce.common.errors import RankforceError
from rankforce.common.threads import count_threads
from rankforce.forces.base import AnyObjective
from rankforce.forces.make import objective as make_objective
from rankforce.forces.mixed import ObjectiveLike
from rankforce.forces.ready import NORMS, Ready
from rankforce.models.network.flatten import flatten
from rankforce.models.network.library import load_torch

if TYPE_CHECKING:
    import torch
else:
    torch = load_torch()


class RankingLoss(torch.nn.Module):
    """The cost of an objective over a batch of whole queries, and minus its forces as gradient.

    `objective` is a name, a table or an objective, and further parameters (`k`, `tau`, `sigma`,
    ...) are those of `rf.objective`. The cost of a query is that of `objective.loss`; `reduction`
    is its "mean" over the queries that have documents, or the "sum". Forces are found once, by the
    project's kernels, and go back in one pass: nothing is kept for each pair. A batch is all that
    the objective sees: give `max_label` where a top grade counts, as in ERR.

    `norm` is "none", "lightgbm" or "std". Without one, the gradient is the derivative of the value,
    with the ranking held, for all objectives but XE-NDCG, whose forces have further terms; with
    one, here or of the objective's own, the gradient is minus the normed forces and the value stays
    the plain cost.

    `iteration` counts the calls in training mode, for weights that move and for random draws; it
    can be set, and is in the `state_dict`. `threads` is as many as there are cores by default.

    >>> import torch
    >>> import rankforce as rf
    >>> loss = rf.RankingLoss("ranknet")
    >>> scores = torch.zeros(5, requires_grad=True)
    >>> cost = loss(scores, torch.tensor([1, 0, 2, 0, 0]), sizes=[2, 3])
    >>> cost.backward()
    >>> round(cost.item(), 4), scores.grad.tolist()
    (1.0397, [-0.25, 0.25, -0.5, 0.25, 0.25])
    """

    def __init__(
        self,
        objective: ObjectiveLike | Any,
        *,
        norm: str = "none",
        reduction: str = "mean",
        threads: int | None = None,
        **parameters: Any,
    ) -> None:
        super().__init__()
        self.objective = _make(objective, parameters)
        self.norm = check_choice("norm", norm, NORMS)
        self.reduction = check_choice("reduction", reduction, ("mean", "sum"))
        self.threads = count_threads(threads)
        self.iteration = 0

    @torch.compiler.disable  # type: ignore[untyped-decorator]  # kernels are no graph of PyTorch's
    def forward(
        self,
        scores: torch.Tensor,
        labels: Any,
        sizes: Any = None,
        qid: Any = None,
        mask: Any = None,
    ) -> torch.Tensor:
        """The cost, one number.

        Scores are flat, (documents,) or (documents, 1), with the `sizes` of the queries, one after
        the other, or the `qid` of each document, in any order; without either they are one query.
        Or they are padded, (queries, longest), with a `mask` that is True for documents; what is
        elsewhere, be it NaN, does not count. Labels have the shape of the scores: a tensor of any
        device, an array, or a dictionary of such by the name of their source.

        >>> import torch
        >>> import rankforce as rf
        >>> mask = torch.tensor([[True, True, True], [True, True, False]])
        >>> loss = rf.RankingLoss("lambdarank-ndcg", k=2, reduction="sum")
        >>> labels = torch.tensor([[0, 1, 2], [1, 0, 0]])
        >>> f"{loss(torch.zeros(2, 3), labels, mask=mask):.4f}"
        '0.6626'
        """
        flat = flatten(scores, labels, sizes=sizes, qid=qid, mask=mask)
        ready: Any = self.objective.bind(flat.labels, flat.queries)
        if flat.scores.is_cuda:
            from rankforce.forces.cuda import to_cuda

            ready = to_cuda(ready)
        total = total_cost(
            ready, flat.scores, norm=self.norm, iteration=self.iteration, threads=self.threads
        )
        if self.training:
            self.iteration += 1
        if self.reduction == "sum":
            return total
        return total / int(np.count_nonzero(flat.queries.sizes))

    def get_extra_state(self) -> torch.Tensor:
        """The iteration, as files of tensors alone can hold it."""
        return torch.tensor(self.iteration)

    def set_extra_state(self, state: Any) -> None:
        """Go on where a saved loss was."""
        self.iteration = int(state)

    def extra_repr(self) -> str:
        """What the loss was made from."""
        return f"{self.objective!r}, norm={self.norm!r}, reduction={self.reduction!r}"


def total_cost(
    ready: Any,
    scores: torch.Tensor,
    *,
    norm: str = "none",
    iteration: int = 0,
    threads: int = 1,
) -> torch.Tensor:
    """The sum of the costs of all queries, whose gradient is minus the forces.

    `ready` is an objective bound to labels, a `CudaReady` where scores are on such a device. The
    sum is float32 at least, and the gradient has the type of the scores.

    >>> import rankforce as rf
    >>> scores = torch.zeros(2, dtype=torch.bfloat16, requires_grad=True)
    >>> total_cost(rf.objective("ranknet").prepare([1, 0]), scores).backward()
    >>> scores.grad
    tensor([-0.5000,  0.5000], dtype=torch.bfloat16)
    """
    kind = torch.promote_types(scores.dtype, torch.float32)
    how: dict[str, Any] = {"iteration": iteration}
    at: Any = scores.detach().float().contiguous()
    if isinstance(ready, Ready):
        at, how["threads"] = scores.detach().cpu().double().numpy(), threads
    cost = torch.as_tensor(ready.costs(at, **how).sum(), dtype=kind, device=scores.device)
    if not (scores.requires_grad and torch.is_grad_enabled()):
        return cost
    lam = torch.as_tensor(ready.gradients(at, norm=norm, **how)[0], dtype=kind)
    pushed: torch.Tensor = _Pushed.apply(  # type: ignore[no-untyped-call]
        scores, cost, lam.to(scores.device)
    )
    return pushed


class _Pushed(torch.autograd.Function):
    """A cost that is known, with forces that are known."""

    @staticmethod
    def forward(
        ctx: Any, scores: torch.Tensor, cost: torch.Tensor, lam: torch.Tensor
    ) -> torch.Tensor:
        ctx.save_for_backward(lam)
        ctx.kind = scores.dtype
        return cost.clone()

    @staticmethod
    def backward(ctx: Any, above: torch.Tensor) -> tuple[torch.Tensor, None, None]:
        # PyTorch would take the forces for constants.
        if torch.is_grad_enabled():
            raise RankforceError(
                "a ranking loss has no second derivatives: leave create_graph=True out"
            )
        (lam,) = ctx.saved_tensors
        return (-above * lam).to(ctx.kind), None, None


def _make(objective: Any, parameters: dict[str, Any]) -> AnyObjective:
    if not isinstance(objective, AnyObjective):
        return make_objective(objective, **parameters)
    for name in parameters:
        raise RankforceError(
            f"the objective is made already: give {name} to rf.objective, not to the loss"
        )
    return objective
