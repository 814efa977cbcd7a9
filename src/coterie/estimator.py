"""`TextClusterer`: every method behind scikit-learn's contract."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from copy import copy
from dataclasses import replace
from functools import partial
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from coterie.building import Settings, build
from coterie.data.check import check_n_clusters, check_texts
from coterie.data.duplicates import find_duplicates, training_rows
from coterie.data.messages import shown
from coterie.data.numbered import numbered
from coterie.data.whole_number import whole_number
from coterie.edits import Edits
from coterie.errors import ConfigError, InputError
from coterie.methods.base import Answers, Fit, as_evidence
from coterie.methods.number import number_of_groups
from coterie.registry import AUTO, Effort, Precision, reads_encoder, why_no_topics
from coterie.types import Labels, Matrix, NClusters, Progress, Watch, silent

ROWS_AT_ONCE = 50_000
MANY_ROWS = 5_000


def _threads_for(rows: int) -> AbstractContextManager[object]:
    """One BLAS thread for few texts: two gain nothing there, and on a busy machine they wait for each other."""
    from threadpoolctl import threadpool_limits

    limits: AbstractContextManager[object] = threadpool_limits(1 if rows < MANY_ROWS else None, user_api="blas")
    return limits


class TextClusterer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator):  # type: ignore[misc]
    """Groups texts by meaning into exactly as many groups as asked for, numbered from the largest.

    Parameters
    ----------
    n_clusters : how many groups; or `"auto"`, or a range such as `(5, 40)`: then the number with the best evidence.
    method : `auto`, or a name of `coterie methods` such as `minilm+kmeans`.
    effort : `fast`, `balanced` or `full`; each method's page says what they mean for it.
    encoder : `minilm` (bundled), a model folder, or a Hugging Face name.
    precision : `fp32`, or `int8` for faster and slightly coarser encoding.
    word_vectors : a word2vec or GloVe file for `sif`, `deccrl`, `adsl` and its kin; by default from the encoder or the
        texts.
    settings : what the method itself can be told, by name; each method's page lists it.
    random_state : same texts, same seed, same versions: same groups.

    After `fit`: `labels_`, `n_clusters_` (how many groups), `probabilities_` (rows sum to 1), `vectors_` (the texts in
    the method's space), `evidence_` (what was tried and why this was kept), `history_` (every epoch of training),
    `topics_` (of every group, where the method has topics, else None), `n_features_out_`. Where people have since
    merged or split groups, `edits_` says so: `labels_` and `probabilities_` follow it, `fitted_labels_` and
    `n_clusters_` are as fitted.
    """

    def __init__(
        self,
        n_clusters: NClusters = 8,
        *,
        method: str = AUTO,
        effort: Effort = "fast",
        encoder: str = "minilm",
        precision: Precision = "fp32",
        word_vectors: str | None = None,
        settings: Mapping[str, Any] | None = None,
        random_state: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.method = method
        self.effort = effort
        self.encoder = encoder
        self.precision = precision
        self.word_vectors = word_vectors
        self.settings = settings
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, *, views: Sequence[Any] = (), progress: Progress = silent) -> Self:
        """Learns the groups of the texts X; `progress` is told how far each stage has come.

        `views` are other wordings of every text, for the methods that learn from them. Nothing is learnt from the true
        groups y: a trained method's history says how it stood by them.
        """
        fit = self.fitted(X, y, views=views, progress=progress)
        self.features_, self.assigner_ = fit.features, fit.assigner
        self.vectors_, self.probabilities_, self.labels_ = fit.vectors, fit.probabilities, fit.labels
        self.fitted_labels_, self.edits_ = fit.labels, Edits(fit.probabilities.shape[1])
        self.evidence_, self.history_, self.topics_ = fit.evidence, fit.history, fit.topics
        self.n_clusters_, self.n_features_out_ = int(fit.probabilities.shape[1]), int(fit.vectors.shape[1])
        return self

    def fitted(
        self,
        X: Any,
        y: Any = None,
        *,
        views: Sequence[Any] = (),
        watch: Watch | None = None,
        progress: Progress = silent,
    ) -> Fit:
        """What `fit` keeps, and beside true groups the candidates that it was chosen from; this object stays as it is.

        `watch` is shown the stages of a training; what it makes of them is in the history.
        """
        from coterie.features.legible import notes_on_reading
        from coterie.metrics.external import check_scorable

        texts = check_texts(X)
        asked = check_n_clusters(texts, self.n_clusters)
        truth = None if y is None else _numbered(y, len(texts))
        checked = [_same_length(check_texts(view, name="view"), len(texts)) for view in views]
        found = find_duplicates(texts)
        evidence: list[dict[str, Any]] = []
        with _threads_for(len(texts)):
            if isinstance(asked, int):
                n_clusters = asked
            else:
                settings = self._settings(asked.low, checked, truth)
                build(self.method, settings)  # what is wrong is said before the number is looked for
                n_clusters, evidence = number_of_groups(self.method, settings, texts, found, asked, progress)
            if truth is not None:
                check_scorable(int(truth.max()) + 1, n_clusters)  # rather than when the groups are scored
            repeated = training_rows(found, n_clusters)
            learnt = repeated.kept
            views_learnt = [[view[row] for row in learnt] for view in checked]
            truth_learnt = None if truth is None else truth[learnt]
            watched = None if watch is None else partial(watch, learnt)
            settings = replace(self._settings(n_clusters, views_learnt, truth_learnt), watch=watched)
            fit = self._fit(settings, [texts[row] for row in learnt], n_clusters, progress)
            if truth is None:
                fit.candidates = {}  # only beside a truth are they looked at, and near duplicates are encoded for each
            for one in (fit, *fit.candidates.values()):
                one.spread(texts, repeated, progress)
        fit.evidence = [*evidence, *fit.evidence, *as_evidence(notes_on_reading(fit.features, texts))]
        if truth is not None and fit.history and fit.candidates:
            fit.history[-1]["candidates"] = _by_truth(fit.candidates, truth)
        fit.number_by_size()
        _check_told_apart(fit, n_clusters)
        return fit

    def _fit(self, settings: Settings, texts: Sequence[str], n_clusters: int, progress: Progress) -> Fit:
        from coterie.features.legible import why_alike
        from coterie.features.transformer import TransformerEncoder
        from coterie.methods.nearest_centre import TooFewDifferentError

        try:
            return build(self.method, settings).fit(texts, n_clusters, progress)
        except TooFewDifferentError as error:
            if self.method.startswith("lda+"):  # other numbers of topics tell other numbers of texts apart
                raise InputError(
                    f"texts: {n_clusters:,} groups were asked for, but as mixtures of {n_clusters:,} topics only "
                    f"{error.found:,} texts can be told apart. Ask for fewer groups, or use another method."
                ) from error
            why = why_alike(TransformerEncoder(settings.encoder), texts) if reads_encoder(self.method) else None
            if why is None:
                raise
            raise TooFewDifferentError(error.n_clusters, error.found, why) from error

    def fit_predict(self, X: Any, y: object = None, **fit_params: Any) -> Labels:
        return self.fit(X, y, **fit_params).labels_

    def fit_transform(self, X: Any, y: object = None, **fit_params: Any) -> Matrix:
        return self.fit(X, y, **fit_params).vectors_

    def predict(self, X: Any) -> Labels:
        """The group of each text; for the texts of the fit these are `labels_`."""
        return self.answers(X).labels

    def predict_proba(self, X: Any) -> Matrix:
        """The probability of each group for each text; a text's row is the same alone and in any company.

        There is a column for every number that a group ever had; those of groups merged into others are 0.
        """
        return self.answers(X).probabilities

    def answers(self, X: Any) -> Answers:
        """What `predict` and `predict_proba` give, at once."""
        check_is_fitted(self, "assigner_")
        texts = check_texts(X)
        starts = range(0, max(1, len(texts)), ROWS_AT_ONCE)
        parts = [self._answers_of(self.features_.transform(texts[start : start + ROWS_AT_ONCE])) for start in starts]
        return Answers(*(np.concatenate(part) for part in zip(*parts, strict=True)))

    def with_edits(self, edits: Edits) -> TextClusterer:
        """This model, whose `vectors_` are at hand, with another log of edits."""
        model: TextClusterer = copy(self)
        model.edits_ = edits
        # Vectors made anew, on another processor perhaps, must not move a text on the border between two groups.
        model.labels_, model.probabilities_ = model._answers_of(model.vectors_, model.fitted_labels_)
        return model

    def _answers_of(self, vectors: Matrix, labels: Labels | None = None) -> Answers:
        return self.edits_.answers(vectors, self.assigner_.probabilities(vectors), labels)

    def transform(self, X: Any, *, kind: Literal["vectors", "topics"] = "vectors") -> Matrix:
        """The texts as vectors in the method's space, or as mixtures of the topics of each one's own group."""
        check_is_fitted(self, "features_")
        if kind not in ("vectors", "topics"):
            raise ConfigError(f"kind={kind!r} is not known: use 'vectors' or 'topics'")
        if kind == "vectors":
            return self.features_.transform(check_texts(X))
        if self.topics_ is None:
            raise ConfigError(f"a model {why_no_topics(self.method, self.settings)}")
        return self.topics_.mixtures(check_texts(X))

    @property
    def _n_features_out(self) -> int:
        """What scikit-learn names the columns of `transform` by."""
        return self.n_features_out_

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Writes the model as safetensors and JSON into a new folder."""
        from coterie.persist.model import save_model

        check_is_fitted(self, "assigner_")
        save_model(self, folder)

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> TextClusterer:
        """Reads a model that `save` wrote; nothing in it is ever executed."""
        from coterie.persist.model import load_model

        return load_model(folder)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        tags.input_tags.one_d_array = True
        tags.no_validation = True
        tags.transformer_tags.preserves_dtype = []  # vectors are float32, whatever texts are
        return tags

    def _settings(self, n_clusters: int, views: list[list[str]], truth: Labels | None) -> Settings:
        seed = whole_number(self.random_state)
        if seed is None or not 0 <= seed < 2**32:
            given = shown(self.random_state)
            raise ConfigError(f"random_state={given} is not usable: give a whole number from 0 to {2**32 - 1}")
        return Settings(
            n_clusters,
            self.effort,
            self.encoder,
            self.precision,
            self.word_vectors,
            seed,
            own=self.settings or {},
            views=views,
            truth=truth,
        )


def _check_told_apart(fit: Fit, n_clusters: int) -> None:
    found = len(np.unique(fit.labels))
    if found < n_clusters:
        raise InputError(
            f"texts: {n_clusters:,} groups were asked for, but only {found:,} can be told apart. "
            f"Ask for at most {found:,}, or use another method."
        )


def _by_truth(candidates: Mapping[str, Fit], truth: Labels) -> dict[str, dict[str, float]]:
    """How every candidate stands by the true groups: for the history, nothing is chosen by it."""
    from coterie.metrics.external import external_scores

    return {name: external_scores(truth.tolist(), fit.labels.tolist()) for name, fit in candidates.items()}


def _same_length(view: list[str], rows: int) -> list[str]:
    if len(view) != rows:
        raise InputError(f"view: {len(view):,} texts for {rows:,} rows. Give one for each row.")
    return view


def _numbered(truth: Any, rows: int) -> Labels:
    values = np.asarray(truth, dtype=object).reshape(-1)
    if len(values) != rows:
        raise InputError(f"y: {len(values):,} true groups for {rows:,} rows. Give one for each row, or none at all.")
    return numbered(values)[1]
