"""A transformer layer on flat tokens, for training.

The tokens of all texts stand one below the other, texts of equal length next to each other: nothing is padded. Products
go through oneDNN where this build of torch has it, in both directions. What backward needs is kept small, for memory
that is new to the process costs more than the cheap half of the work done twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional

Groups = Sequence[tuple[int, int]]
"""(texts, length) of every run of texts of one length, in order."""

ROUND_ROWS = 128
"""Products of training have a multiple of this many rows: oneDNN keeps a compiled product, with memory of its own, for
every number that it has seen."""

VECTOR = 16
"""torch's softmax of rows shorter than this is up to seven times as slow: no vector instructions."""


def rounded_up(rows: int) -> int:
    return -(-rows // ROUND_ROWS) * ROUND_ROWS


def with_empty_rows(rows: Tensor) -> Tensor:
    """With empty rows below, to a multiple of ROUND_ROWS."""
    return functional.pad(rows, (0, 0) * (rows.dim() - 1) + (0, rounded_up(len(rows)) - len(rows)))


def product(x: Tensor, weight: Tensor, bias: Tensor | None = None, gelu: bool = False) -> Tensor:
    """act(x W' + b), without gradient."""
    if x.is_cpu and x.dtype == torch.float32 and hasattr(torch.ops.mkldnn, "_linear_pointwise"):
        after, algorithm = ("gelu", "none") if gelu else ("none", "")
        result: Tensor = torch.ops.mkldnn._linear_pointwise(x, weight, bias, after, [], algorithm)
        return result
    plain = functional.linear(x, weight, bias)
    return functional.gelu(plain) if gelu else plain


def has_bfloat16() -> bool:
    """Whether this processor multiplies 16-bit numbers itself: then it does so twice as fast."""
    found: dict[str, Any] = getattr(torch.cpu, "get_capabilities", dict)()
    return bool(found.get("avx512_bf16") or found.get("amx_bf16"))


def takes_bfloat16(chosen: bool | None) -> bool:
    """Whether products are of 16-bit numbers: as was chosen, else where the processor has them."""
    return has_bfloat16() if chosen is None else chosen


def _matrix(x: Tensor, bf16: bool) -> Tensor:
    return x.bfloat16() if bf16 else x


def _multiplied(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """x W' + b, never in 16 bits, though the product of 16-bit numbers is."""
    if x.dtype != torch.bfloat16:
        return product(x, weight, bias)
    result = functional.linear(x, weight).float()
    return result if bias is None else result.add_(bias)


class _Linear(torch.autograd.Function):
    """With `bf16` the three products are of 16-bit numbers; what they give, and the weights themselves, have 32."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None, bf16: bool) -> Tensor:
        x, weight = _matrix(x, bf16), _matrix(weight, bf16)
        ctx.save_for_backward(x, weight)
        return _multiplied(x, weight, bias)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        x, weight = ctx.saved_tensors
        narrow = _matrix(grad.contiguous(), x.dtype == torch.bfloat16)
        grad_x = _multiplied(narrow, weight.t()) if ctx.needs_input_grad[0] else None
        grad_weight = (narrow.t() @ x).to(grad.dtype) if ctx.needs_input_grad[1] else None
        grad_bias = grad.sum(0) if ctx.needs_input_grad[2] else None
        return grad_x, grad_weight, grad_bias, None


def linear(x: Tensor, weight: Tensor, bias: Tensor | None, bf16: bool = False) -> Tensor:
    """x W' + b, of 16-bit numbers only where there are gradients."""
    if not torch.is_grad_enabled():
        return product(x, weight, bias)
    result: Tensor = _Linear.apply(x, weight, bias, bf16)  # type: ignore[no-untyped-call]
    return result


class _FeedForward(torch.autograd.Function):
    """Two products with an activation between them, whose output is computed again in backward."""

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, widen: Tensor, bias: Tensor, narrow: Tensor, last: Tensor, gelu: bool, bf16: bool
    ) -> Tensor:
        x, widen, narrow = (_matrix(tensor, bf16) for tensor in (x, widen, narrow))
        wide = _multiplied(x, widen, bias)
        ctx.save_for_backward(x, _matrix(wide, bf16), widen, narrow)
        ctx.gelu = gelu
        return _multiplied(_matrix(functional.gelu(wide) if gelu else functional.relu(wide), bf16), narrow, last)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        x, wide, widen, narrow = ctx.saved_tensors
        bf16 = x.dtype == torch.bfloat16
        grad_out = _matrix(grad.contiguous(), bf16)
        active = functional.gelu(wide) if ctx.gelu else functional.relu(wide)
        grad_narrow = (grad_out.t() @ active).to(grad.dtype)
        grad_wide = functional.linear(grad_out, narrow.t()) if bf16 else product(grad_out, narrow.t())
        if ctx.gelu:
            torch.ops.aten.gelu_backward.grad_input(grad_wide, wide, grad_input=grad_wide)
        else:
            grad_wide.mul_(wide > 0)
        grad_x = _multiplied(grad_wide, widen.t()) if ctx.needs_input_grad[0] else None
        grad_bias = grad_wide.sum(0, dtype=grad.dtype)
        return grad_x, (grad_wide.t() @ x).to(grad.dtype), grad_bias, grad_narrow, grad.sum(0), None, None


def split_by_group(rows: Tensor, groups: Groups) -> tuple[Tensor, ...]:
    """The rows of each group, and last what is left over. A slice for each would have a gradient of all rows' size."""
    sizes = [texts * length for texts, length in groups]
    return rows.split_with_sizes([*sizes, len(rows) - sum(sizes)])


class Affine(torch.nn.Module):
    """A weight and a bias, of a product or of a norm. torch's own modules would draw random numbers first."""

    def __init__(self, weight: Tensor, bias: Tensor) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(weight)
        self.bias = torch.nn.Parameter(bias)


class Layer(torch.nn.Module):
    """One block, post-norm as in BERT: (tokens, width) to (tokens, width)."""

    def __init__(
        self, parts: dict[str, Affine], heads: int, eps: float, gelu: bool, dropout: float, bf16: bool
    ) -> None:
        super().__init__()
        self.query_key_value, self.attention_out = parts["query_key_value"], parts["attention_out"]
        self.widen, self.narrow = parts["widen"], parts["narrow"]
        self.attention_norm, self.output_norm = parts["attention_norm"], parts["output_norm"]
        self.heads, self.eps, self.gelu, self.dropout, self.bf16 = heads, eps, gelu, dropout, bf16

    def forward(self, x: Tensor, groups: Groups, causal: bool = False) -> Tensor:
        return self.transform(self.attend(x, groups, causal))

    def attend(self, x: Tensor, groups: Groups, causal: bool = False) -> Tensor:
        """The first half: every token looks at its text, with `causal` only at itself and what comes before it."""
        mixed = self._attention(self._linear(x, self.query_key_value), groups, causal)
        return self._add_and_norm(self._linear(mixed, self.attention_out), x, self.attention_norm)

    def transform(self, x: Tensor) -> Tensor:
        """The second half: every token by itself."""
        return self._add_and_norm(self._feed_forward(x), x, self.output_norm)

    def _attention(self, query_key_value: Tensor, groups: Groups, causal: bool) -> Tensor:
        """Every group by itself: texts of one length need no mask."""
        width = query_key_value.shape[1] // 3
        *parts, empty = split_by_group(query_key_value, groups)
        mixed = []
        for part, (texts, length) in zip(parts, groups, strict=True):
            heads = part.view(texts, length, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
            query, key, value = heads.reshape(3, texts * self.heads, length, width // self.heads).unbind()
            out = torch.bmm(self._shares(query, key, causal), value).view(
                texts, self.heads, length, width // self.heads
            )
            mixed.append(out.transpose(1, 2).reshape(texts * length, width))
        return torch.cat([*mixed, empty[:, :width]])

    def _shares(self, query: Tensor, key: Tensor, causal: bool) -> Tensor:
        """How much of every token goes into every token. torch's fused attention is half as fast on short texts."""
        length, size = query.shape[1:]
        unseen = query.new_full((length, length), -torch.inf).triu_(1) if causal else query.new_empty(())
        scores = torch.baddbmm(unseen, query, key.transpose(1, 2), beta=int(causal), alpha=size**-0.5)
        if length < VECTOR:
            padded = functional.pad(scores, (0, VECTOR - length), value=-torch.inf)
            shares = padded.softmax(dim=-1)[..., :length]
        else:
            shares = scores.softmax(dim=-1)
        return functional.dropout(shares, self.dropout) if self.training and self.dropout else shares

    def _add_and_norm(self, new: Tensor, x: Tensor, norm: Affine) -> Tensor:
        if self.training and self.dropout:
            new = functional.dropout(new, self.dropout)
        return functional.layer_norm(new.add_(x), x.shape[1:], norm.weight, norm.bias, self.eps)

    def _linear(self, x: Tensor, affine: Affine) -> Tensor:
        return linear(x, affine.weight, affine.bias, self.bf16)

    def _feed_forward(self, x: Tensor) -> Tensor:
        if not torch.is_grad_enabled():
            wide = product(x, self.widen.weight, self.widen.bias, gelu=self.gelu)
            return product(wide if self.gelu else wide.relu_(), self.narrow.weight, self.narrow.bias)
        weights = (self.widen.weight, self.widen.bias, self.narrow.weight, self.narrow.bias)
        result: Tensor = _FeedForward.apply(x, *weights, self.gelu, self.bf16)  # type: ignore[no-untyped-call]
        return result

    def saved_floats(self, longest: int) -> int:
        """Numbers that backward needs of a token in a text of at most this length."""
        wide, width = self.widen.weight.shape
        attention = 3 * width + self.heads * max(longest, VECTOR)
        if self.training and self.dropout:
            attention += self.heads * longest + 2 * width
        return 5 * width + wide + attention
