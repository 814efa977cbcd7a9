"""An assigner that is a trained model's own head."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np
import torch

from coterie.methods.confidence import fitting_temperature, probabilities_of
from coterie.types import Labels, Matrix, State

if TYPE_CHECKING:
    from coterie.methods.deep_model import DeepModel


class Head:
    """p(group | x) = softmax(scores(x) / temperature), the columns in the order of the groups' sizes."""

    kind: ClassVar[str] = "head"

    def __init__(self, model: DeepModel, method: str, order: Labels, temperature: float = 1.0) -> None:
        self.model, self.method, self.order, self.temperature = model.eval(), method, order, temperature

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
            name: tensor.cpu().numpy()
            for name, tensor in self.model.state_dict().items()
            if not name.startswith(self.model.only_for_training)
        }
        config = {"method": self.method, "model": self.model.config(), "temperature": self.temperature}
        return State(config, {**arrays, "order": self.order})

    @classmethod
    def from_state(cls, state: State) -> Self:
        from coterie.registry import model_class

        arrays = dict(state.arrays)
        order = arrays.pop("order")
        weights = {name: torch.from_numpy(np.array(array)) for name, array in arrays.items()}
        with torch.device("meta"):  # what only training needs, a row for every text of the fit, takes no memory
            model = model_class(state.config["method"]).from_config(state.config["model"])
        model.load_state_dict(weights, strict=False, assign=True)
        return cls(model, state.config["method"], order, float(state.config["temperature"]))

    def _scores(self, vectors: Matrix) -> Matrix:
        with torch.inference_mode():
            scores: Matrix = self.model.scores(torch.from_numpy(np.ascontiguousarray(vectors))).numpy()
        return scores[:, self.order]
