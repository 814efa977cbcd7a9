"""An assigner that is a trained model's own head."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from coterie.methods.confidence import fitting_temperature, probabilities_of
from coterie.types import Labels, Matrix, State

if TYPE_CHECKING:
    from coterie.methods.deep_model import DeepModel


class Head:
    """p(group | x) = softmax(scores(x) / temperature), the columns in the order of the groups' sizes.

    Of the model it has what predicts, in float64: see `in_blocks`.
    """

    kind: ClassVar[str] = "head"

    def __init__(self, model: DeepModel, method: str, order: Labels, temperature: float = 1.0) -> None:
        self.model, self.method, self.order, self.temperature = _in_double(model), method, order, temperature

    @classmethod
    def of(cls, model: DeepModel, method: str, vectors: Matrix) -> Self:
        width = model.scores(torch.from_numpy(np.array(vectors[:1]))).shape[1]
        head = cls(model, method, np.arange(width))
        head.temperature = fitting_temperature(vectors, head._scores)
        return head

    def probabilities(self, vectors: Matrix) -> Matrix:
        return probabilities_of(vectors, self._scores, self.temperature)

    def renumber(self, order: Labels) -> None:
        self.order = self.order[order]

    def state(self) -> State:
        arrays = {
            name: (tensor.float() if tensor.is_floating_point() else tensor).numpy()
            for name, tensor in _what_predicts(self.model).items()
        }
        config = {"method": self.method, "model": self.model.config(), "temperature": self.temperature}
        return State(config, {**arrays, "order": self.order})

    @classmethod
    def from_state(cls, state: State) -> Self:
        from coterie.registry import model_class

        arrays = dict(state.arrays)
        order = arrays.pop("order")
        weights = {name: torch.from_numpy(np.array(array)) for name, array in arrays.items()}
        model = _built(model_class(state.config["method"]), state.config["model"], weights)
        return cls(model, state.config["method"], order, float(state.config["temperature"]))

    def _scores(self, vectors: NDArray[Any]) -> NDArray[Any]:
        with torch.inference_mode():
            scores = self.model.scores(torch.from_numpy(np.ascontiguousarray(vectors, dtype=np.float64))).numpy()
        return np.asarray(scores[:, self.order])


def _what_predicts(model: DeepModel) -> dict[str, Tensor]:
    return {name: tensor for name, tensor in model.state_dict().items() if not name.startswith(model.only_for_training)}


def _in_double(model: DeepModel) -> DeepModel:
    weights = {
        name: tensor.double() if tensor.is_floating_point() else tensor
        for name, tensor in _what_predicts(model).items()
    }
    return _built(type(model), model.config(), weights)


def _built(kind: type[DeepModel], config: dict[str, Any], weights: dict[str, Tensor]) -> DeepModel:
    """Without memory for what only training needs, a row for every text of the fit."""
    with torch.device("meta"):
        model = kind.from_config(config)
    model.load_state_dict(weights, strict=False, assign=True)
    return model.eval()
