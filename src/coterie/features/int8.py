"""Products in 8-bit integers, for encoding only: in our own forward pass, and in any other model."""

from __future__ import annotations

from functools import cache

import torch
import torch.nn.functional as F
from torch import Tensor

ZERO = 128
WHOLE, NARROW = 127, 64
"""How far weights reach from 0. Processors without instructions for 8-bit products add two of them up in 16 bits, where
anything above 32,767 is cut off: 2 x 255 x 64 is not."""


@cache
def weight_steps() -> int:
    """The largest weight whose products are exact on this processor, by trying."""
    width = 64
    packed = torch.ops.onednn.qlinear_prepack(torch.full((16, width), WHOLE, dtype=torch.int8), None)
    largest, zeros = torch.full((32, width), 2 * ZERO - 1, dtype=torch.uint8), torch.zeros(16, dtype=torch.int32)
    product = _product(largest, packed, torch.ones(16), zeros)
    return WHOLE if bool((product == WHOLE * WHOLE * width).all()) else NARROW


def is_here() -> bool:
    """Whether this build of torch has the product, by trying: one without oneDNN may still have its name."""
    try:
        weight_steps()
    except (AttributeError, RuntimeError):
        return False
    return True


def _product(unsigned: Tensor, packed: Tensor, scales: Tensor, zeros: Tensor) -> Tensor:
    """Of bytes less 128 and weights, times a scale for each output."""
    result: Tensor = torch.ops.onednn.qlinear_pointwise(
        unsigned, 1.0, ZERO, packed, scales, zeros, None, 1.0, 0, torch.float32, "none", [], ""
    )
    return result


class Int8Linear:
    """act(x W' + b) with 8-bit integers: one scale per output of W, one scale per row of x, found as it comes.

    A scale per row, not per batch as torch's own dynamic quantisation has it: half the error, and the same answer
    whatever else is in the batch. The quantised tensors of torch, which are on their way out, are not used.
    """

    def __init__(self, weight: Tensor, bias: Tensor, gelu: bool = False) -> None:
        self.scales = weight.abs().amax(dim=1).clamp_min(1e-12) / weight_steps()
        quantised = (weight / self.scales[:, None]).round().to(torch.int8)
        self.packed = torch.ops.onednn.qlinear_prepack(quantised, None)
        self.zeros = torch.zeros(len(weight), dtype=torch.int32)
        self.bias, self.gelu = bias, gelu

    def __call__(self, x: Tensor) -> Tensor:
        row_scales = x.abs().amax(dim=1, keepdim=True).clamp_min_(1e-12).mul_(1 / 127)
        signed = (x / row_scales).round_().to(torch.int8)
        # The fast product takes unsigned bytes: flipping the highest bit adds 128.
        unsigned = signed.bitwise_xor_(-ZERO).view(torch.uint8)
        product = _product(unsigned, self.packed, self.scales, self.zeros)
        scaled = torch.addcmul(self.bias, product, row_scales)
        # Never the tanh form: where threads cut a batch, it rounds differently, so a text would depend on its company.
        return F.gelu(scaled) if self.gelu else scaled


class _Int8Module(torch.nn.Module):
    def __init__(self, replaced: torch.nn.Linear) -> None:
        super().__init__()
        bias = replaced.bias if replaced.bias is not None else torch.zeros(replaced.out_features)
        self.linear = Int8Linear(replaced.weight.detach(), bias.detach())

    def forward(self, x: Tensor) -> Tensor:
        return self.linear(x.reshape(-1, x.shape[-1])).view(*x.shape[:-1], -1)


def quantise_linears(model: torch.nn.Module) -> None:
    """Puts 8-bit products in the place of every linear layer of any architecture."""
    for name, child in list(model.named_children()):
        if isinstance(child, torch.nn.Linear):
            setattr(model, name, _Int8Module(child))
        else:
            quantise_linears(child)
