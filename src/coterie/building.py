"""Methods built from their names and from what they were told."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

from coterie.data.messages import nearest, shown
from coterie.errors import ConfigError
from coterie.registry import (
    AUTO,
    CLUSTERERS,
    DEEP,
    DUET,
    EFFORTS,
    FEATURES,
    HAC_SD,
    SELF_TAUGHT,
    Effort,
    Precision,
    found_at,
    known_methods,
    model_class,
    reads_encoder,
)

if TYPE_CHECKING:
    from coterie.features.checkpoints import Pooling
    from coterie.features.transformer import TransformerEncoder
    from coterie.methods.base import Features, Method
    from coterie.methods.deep import Deep
    from coterie.types import Labels, Look

PATIENCE: dict[Effort, int] = {"fast": 1, "balanced": 2, "full": 5}
"""How much longer than `fast` a method without training may look for the best start of k-means."""

AUTOENCODERS: dict[Effort, int] = {"fast": 1, "balanced": 3, "full": 5}
"""How many of them have their codes side by side."""


@dataclass(frozen=True)
class Settings:
    """What a method may need to be built.

    `own` are the method's own settings by name. `views` are other wordings of every text. `truth`, where known, only
    enters the history, and so does what `watch` makes of the vectors of all texts at the ends of the phases.
    """

    n_clusters: int
    effort: Effort
    encoder: str
    precision: Precision
    word_vectors: str | None
    random_state: int
    own: Mapping[str, Any] = field(default_factory=dict)
    views: Sequence[Sequence[str]] = ()
    truth: Labels | None = None
    watch: Look | None = None


def build(name: str, settings: Settings) -> Method:
    """The method of this name, or an error that names the nearest one."""
    if settings.effort not in EFFORTS:
        raise ConfigError(f"effort={settings.effort!r} is not known: use one of {', '.join(EFFORTS)}")
    if not isinstance(name, str):
        raise ConfigError(f"method={name!r} is not known: give a name that `coterie methods` lists")
    if not isinstance(settings.own, Mapping):
        raise ConfigError(f"settings={settings.own!r} is not usable: give them by name, such as {{'epochs': 3}}")
    _check_kinds(settings)
    if name == AUTO:
        return _auto(settings)
    if name in DEEP:
        deep = _deep(name, settings)
        feature = getattr(deep.settings, "features", name)
        words = deep.model.words_wanted(deep.settings)
        reads_words = feature == "sif" or (words is not None and words.with_vectors)
        _refuse_unused(name, feature, settings, reads_words)
        return deep
    if name in SELF_TAUGHT:
        method = _self_taught(name, settings)
    elif name == HAC_SD.name:
        method = _hac_sd(settings)
    else:
        method = _duet(settings) if name == DUET else _two_step(name, settings)
    feature = name.split("+")[0]
    _refuse_unused(name, feature, settings, feature in ("sif", *SELF_TAUGHT))
    return method


def _check_kinds(settings: Settings) -> None:
    """What a command cannot give, but Python can."""
    for setting in settings.own:
        if not isinstance(setting, str):
            raise ConfigError(
                f"setting {shown(setting)} is not a name: give settings by their names, such as {{'epochs': 3}}"
            )
    if not isinstance(settings.word_vectors, str | os.PathLike | None):
        raise ConfigError(
            f"word_vectors={shown(settings.word_vectors)} is not usable: give the path of a word2vec or GloVe file"
        )


def _refuse_unused(name: str, feature: str, settings: Settings, reads_words: bool) -> None:
    """An option that a method does not use would be ignored without a word."""
    with_settings = (*DEEP, *SELF_TAUGHT, HAC_SD.name)
    if settings.own and feature not in ("minilm", "tsdae") and name not in with_settings:
        setting = next(iter(settings.own))
        raise ConfigError(f"the setting {setting!r} is of no use to the method {name!r}: {_who_has(setting)}")
    if settings.views and name not in DEEP:
        takers = [other for other in DEEP if _takes_columns(other)]
        raise ConfigError(
            f"augmented columns are of no use to the method {name!r}: leave them out, or use one of {', '.join(takers)}"
        )
    if settings.watch is not None and name not in (*DEEP, *SELF_TAUGHT):
        raise ConfigError(
            f"the method {name!r} trains in no phases that could be watched: do not watch it, "
            f"or use one of {', '.join((*DEEP, *SELF_TAUGHT))}"
        )
    if settings.word_vectors is not None and name == "deccrl" and not reads_words:
        raise ConfigError(
            f"word vectors are of no use to the method {name!r} without topics: leave them out, or use crl=etm"
        )
    if settings.word_vectors is not None and not reads_words:
        raise ConfigError(
            f"word vectors are of no use to the method {name!r}: leave them out, or use a method with sif, "
            f"or one of deccrl, {', '.join(SELF_TAUGHT)}"
        )
    if reads_encoder(name):
        return
    if feature == "sif" and settings.word_vectors is None:
        return
    if (settings.encoder, settings.precision) != ("minilm", "fp32"):
        raise ConfigError(
            f"the method {name!r} uses no encoder: leave encoder and precision out, or use another method"
        )


def _takes_columns(name: str) -> bool:
    from coterie.methods.deep_model import DeepSettings

    model = model_class(name)
    settings = model.settings_class()
    return isinstance(settings, DeepSettings) and model.views_wanted(settings, "fast") > 0


def _who_has(setting: str) -> str:
    """What to do about a setting of another method, or of none."""
    owners: dict[str, list[str]] = {}
    classes = {name: model_class(name).settings_class for name in DEEP}
    classes |= {name: found_at(place).settings_class for name, (_, place) in SELF_TAUGHT.items()}
    for name, settings_class in classes.items():
        for one in fields(settings_class):
            owners.setdefault(one.name, []).append(name)
    if setting in owners:
        return f"leave it out, or use one of {', '.join(owners[setting])}"
    guess = nearest(setting, owners)
    return f"no method has one of that name; did you mean {guess!r}?" if guess else "no method has one of that name"


def _auto(settings: Settings) -> Method:
    from coterie.methods.auto import Auto

    _refuse_unused(AUTO, AUTO, settings, reads_words=False)

    def untrainable() -> str | None:
        from coterie.features.checkpoints import find_checkpoint
        from coterie.nn.families import UntrainableError, read_architecture

        try:
            read_architecture(find_checkpoint(settings.encoder))
        except UntrainableError as error:
            return f"the {error.why}"
        return None

    return Auto(settings.effort, lambda name, effort: build(name, replace(settings, effort=effort)), untrainable)


def _duet(settings: Settings) -> Method:
    from coterie.methods.duet import Duet

    return Duet(_encoder(settings), patience=PATIENCE[settings.effort], random_state=settings.random_state)


def _deep(name: str, settings: Settings) -> Deep:
    from coterie.methods.deep import Deep
    from coterie.methods.deep_model import DeepSettings
    from coterie.methods.on_features import DeepOnFeatures, FeatureSettings
    from coterie.methods.settings import read_settings, refuse_idle

    model = model_class(name)
    chosen = read_settings(model.settings_class, settings.own, name)
    if settings.views:
        refuse_idle(dict.fromkeys(("augment", "augment_rate"), "augmented columns"), settings.own, name)
    if isinstance(chosen, DeepSettings) and model.trained_layers(chosen, settings.effort) == 0:
        still = "trainable_layers=0" if chosen.trainable_layers == 0 else f"effort={settings.effort}"
        cause = f"{still}, which leaves the encoder as it is"
        refuse_idle(dict.fromkeys(chosen.of_trained_encoder, cause), settings.own, name)
    encoder = _encoder(settings, getattr(chosen, "pooling", None))
    options: dict[str, Any] = {
        "effort": settings.effort,
        "random_state": settings.random_state,
        "views": settings.views,
        "truth": settings.truth,
        "watch": settings.watch,
    }
    if not isinstance(chosen, FeatureSettings):
        return Deep(name, model, chosen, encoder, word_vectors=settings.word_vectors, **options)
    # What the method was told is not for its features, but for how their encoder's tokens become a vector.
    of_features = replace(settings, own={"pooling": chosen.pooling})
    features = encoder if chosen.features == "minilm" else _FEATURE_BUILDERS[chosen.features](of_features)
    return DeepOnFeatures(name, model, chosen, encoder, features=features, **options)


def _self_taught(name: str, settings: Settings) -> Method:
    from coterie.methods.self_taught import SelfTaught
    from coterie.methods.settings import read_settings

    learner = found_at(SELF_TAUGHT[name][1])
    return SelfTaught(
        name,
        learner,
        read_settings(learner.settings_class, settings.own, name),
        feature_builder(settings),
        word_vectors=settings.word_vectors,
        effort=settings.effort,
        random_state=settings.random_state,
        truth=settings.truth,
        watch=settings.watch,
    )


def _hac_sd(settings: Settings) -> Method:
    from coterie.methods.hac_sd import HacSd, HacSdSettings
    from coterie.methods.settings import read_settings

    own = read_settings(HacSdSettings, settings.own, HAC_SD.name)
    return HacSd(own, feature_builder(settings), random_state=settings.random_state)


def feature_builder(settings: Settings) -> Callable[[str], Features]:
    """Makes features by their name."""
    return lambda feature: _FEATURE_BUILDERS[feature](settings)


def _two_step(name: str, settings: Settings) -> Method:
    from coterie.methods.two_step import RESTARTS, TwoStep

    feature, *middle, clusterer = name.split("+") if "+" in name else ("", "")
    if feature not in FEATURES or clusterer not in CLUSTERERS or middle not in ([], ["umap"]):
        raise ConfigError(_unknown(name))
    return TwoStep(
        _FEATURE_BUILDERS[feature](settings),
        clusterer,
        umap=bool(middle),
        n_init=RESTARTS * PATIENCE[settings.effort],
        random_state=settings.random_state,
    )


def _unknown(name: str) -> str:
    feature, _, trained = name.casefold().partition("+")
    if feature in FEATURES and not trained:
        return (
            f"method {name!r} is not known: {feature!r} are features, which need a clusterer: "
            f"use '{feature}+kmeans' or '{feature}+ward'"
        )
    if feature in FEATURES and trained in DEEP and hasattr(model_class(trained).settings_class, "features"):
        return f"method {name!r} is not known: use {trained!r} with the setting features={feature!r}"
    if trained == "" and feature in CLUSTERERS:
        return (
            f"method {name!r} is not known: {feature!r} is a clusterer, which needs features: "
            f"use 'minilm+{feature}' or 'tfidf+{feature}'"
        )
    names = [info.name for info in known_methods()]
    names += [name.replace("+", "+umap+") for name in names if "+" in name]
    close = nearest(name, names)
    hint = f"did you mean {close!r}? " if close else ""
    return f"method {name!r} is not known: {hint}`coterie methods` lists them all"


def _encoder(settings: Settings, pooling: Pooling | None = None) -> TransformerEncoder:
    from coterie.features.transformer import TransformerEncoder

    return TransformerEncoder(settings.encoder, precision=settings.precision, pooling=pooling)


def _minilm(settings: Settings) -> Features:
    from coterie.methods.settings import read_settings
    from coterie.methods.two_step import EncoderSettings

    return _encoder(settings, read_settings(EncoderSettings, settings.own, "minilm").pooling)


def _bow(settings: Settings) -> Features:
    from coterie.features.bag import BagOfWords

    return BagOfWords()


def _tfidf(settings: Settings) -> Features:
    from coterie.features.bag import Tfidf

    return Tfidf()


def _stems(settings: Settings) -> Features:
    from coterie.features.bag import StemTfidf

    return StemTfidf()


def _ae(settings: Settings) -> Features:
    from coterie.features.compressed import Autoencoded

    return Autoencoded(settings.random_state, AUTOENCODERS[settings.effort])


def _kate(settings: Settings) -> Features:
    from coterie.features.compressed import KateCodes

    return KateCodes(settings.random_state)


def _lda(settings: Settings) -> Features:
    from coterie.features.bag import TopicMixture

    return TopicMixture(max(2, settings.n_clusters), random_state=settings.random_state)


def _sif(settings: Settings) -> Features:
    from coterie.features.sif import Sif

    if settings.word_vectors is not None:
        return Sif(word_vectors=settings.word_vectors)
    return Sif(_encoder(settings))


def _tsdae(settings: Settings) -> Features:
    from coterie.methods.settings import read_settings
    from coterie.methods.tsdae import TSDAEFeatures, TSDAESettings

    # There are no groups for it to start from, or to go back to.
    chosen = read_settings(TSDAESettings, settings.own, "tsdae", without=("init", "undo"))
    if chosen.trainable_layers == 0:
        raise ConfigError("setting trainable_layers=0 of 'tsdae' leaves nothing to train: give 1 or more, or 'all'")
    return TSDAEFeatures(_encoder(settings, chosen.pooling), chosen, settings.effort, settings.random_state)


_FEATURE_BUILDERS: dict[str, Callable[[Settings], Features]] = {
    "bow": _bow,
    "tfidf": _tfidf,
    "stems": _stems,
    "ae": _ae,
    "kate": _kate,
    "lda": _lda,
    "sif": _sif,
    "minilm": _minilm,
    "tsdae": _tsdae,
}
