"""One process or several: where tensors live, and how processes share a batch.

Several processes are started by `torchrun`; accelerate finds out which this one is and on which device it works. Every
process encodes its share of a batch, gathers the vectors of all with their gradient and computes the loss of the whole
batch, so that a contrastive loss sees as many negatives as one process would.
"""

from __future__ import annotations

import atexit
from collections.abc import Iterable
from functools import cache
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from coterie.types import Labels


class Workers:
    """The processes that train together."""

    def __init__(self) -> None:
        # Its functions have the group that there is when they are loaded as a default: loaded later, as torch does for
        # an optimizer, they would keep the group's threads alive in a process that ends.
        import torch.distributed.nn.functional
        from accelerate import PartialState

        state = PartialState(cpu=not torch.cuda.is_available())
        self.rank, self.count, self.device = state.process_index, state.num_processes, state.device
        if self.count > 1:
            _leave_in_the_end()

    @property
    def is_main(self) -> bool:
        return bool(self.rank == 0)

    def share(self, rows: int) -> NDArray[np.int64]:
        """The rows that fall to this process."""
        return np.asarray(np.array_split(np.arange(rows), self.count)[self.rank], dtype=np.int64)

    def gather_with_gradient(self, own: Tensor, sizes: list[int]) -> Tensor:
        """The rows of all processes in order; the gradient of each finds its way back to where it was computed.

        Every process computes the same loss, so the gradients that come back are `count` times too large, which
        averaging over the processes puts right (`average_gradients`).
        """
        if self.count == 1:
            return own
        if torch.is_grad_enabled() and min(sizes) == 0 and self.agree(own.requires_grad) and not own.requires_grad:
            # Nothing was computed here, but gradients go back through all processes or through none.
            own = own.detach().requires_grad_()
        padded = torch.cat([own, own.new_zeros(max(sizes) - len(own), *own.shape[1:])])
        parts: Tensor = _Gathered.apply(padded)  # type: ignore[no-untyped-call]
        return torch.cat([part[:size] for part, size in zip(parts, sizes, strict=True)])

    def gather(self, own: Tensor, rows: int) -> Tensor:
        """The rows of all processes, each of which has its `share`."""
        with torch.no_grad():
            return self.gather_with_gradient(own, [len(part) for part in np.array_split(np.arange(rows), self.count)])

    def average_gradients(self, parameters: Iterable[nn.Parameter]) -> None:
        """Where a process had no rows of the batch, a gradient that only others have counts as zero."""
        if self.count == 1:
            return
        import torch.distributed as dist

        trained = list(parameters)
        gradients = [torch.zeros_like(each) if each.grad is None else each.grad for each in trained]
        found = gradients[0].new_tensor([each.grad is not None for each in trained])
        flat = torch.cat([found, *(gradient.reshape(-1) for gradient in gradients)])
        dist.all_reduce(flat)
        having, *sums = torch.split(flat, [len(found), *(gradient.numel() for gradient in gradients)])
        for parameter, gradient, anywhere, total in zip(trained, gradients, having.tolist(), sums, strict=True):
            if anywhere:
                parameter.grad = gradient.copy_(total.view_as(gradient) / self.count)

    def from_main(self, data: bytes | None) -> bytes | None:
        """What the first process has, in every process."""
        if self.count == 1:
            return data
        import torch.distributed as dist

        size = torch.tensor(-1 if data is None else len(data), device=self.device)
        dist.broadcast(size, src=0)
        if size < 0:
            return None
        sent = torch.empty(int(size), dtype=torch.uint8, device=self.device)
        if data is not None and self.is_main:
            sent.copy_(torch.frombuffer(bytearray(data), dtype=torch.uint8))
        dist.broadcast(sent, src=0)
        return sent.cpu().numpy().tobytes()

    def labels_of_main(self, labels: Labels) -> Labels:
        """Groups as the first process has found them: what others find may differ, as memory does, say."""
        data = self.from_main(labels.astype(np.int64).tobytes())
        return np.frombuffer(data or b"", dtype=np.int64).copy()

    def agree(self, flag: bool) -> bool:
        """Whether any process says so: all of them must stop or save at the same step."""
        if self.count == 1:
            return flag
        import torch.distributed as dist

        said = torch.tensor(int(flag), device=self.device)
        dist.all_reduce(said, op=dist.ReduceOp.MAX)
        return bool(said)


class _Gathered(torch.autograd.Function):
    """The equally large tensors of all processes, stacked. torch.distributed.nn has the like, which is to go."""

    @staticmethod
    def forward(_: Any, own: Tensor) -> Tensor:
        import torch.distributed as dist

        parts = [torch.empty_like(own) for _ in range(dist.get_world_size())]
        dist.all_gather(parts, own.contiguous())
        return torch.stack(parts)

    @staticmethod
    def backward(_: Any, *gradients: Tensor) -> Tensor:
        import torch.distributed as dist

        total = gradients[0].clone(memory_format=torch.contiguous_format)
        dist.all_reduce(total)
        return total[dist.get_rank()]


@cache
def _leave_in_the_end() -> None:
    """A process that ends while its threads still wait for the others is aborted by chance."""
    import torch.distributed as dist

    atexit.register(lambda: dist.destroy_process_group() if dist.is_initialized() else None)
