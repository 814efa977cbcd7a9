"""A method's own settings: which names and values are taken, and what is said of the others."""

from __future__ import annotations

import math
from typing import Any

import pytest

from coterie.building import Settings, build
from coterie.errors import ConfigError
from coterie.methods.adsl import ADSLSettings
from coterie.methods.aecl import AECLSettings
from coterie.methods.autoencoding import NOISE, AutoencoderSettings
from coterie.methods.clusterbert import ClusterBERTSettings
from coterie.methods.deccrl import DECCRLSettings
from coterie.methods.rstc import RSTCSettings
from coterie.methods.sccl import SCCLSettings
from coterie.methods.settings import OwnSettings, read_settings
from coterie.methods.uft import UFTSettings
from coterie.methods.vascl import VaSCLSettings
from coterie.registry import model_class


def test_what_is_not_given_stays_as_it_was() -> None:
    assert read_settings(AECLSettings, {}, "aecl") == AECLSettings()
    changed = read_settings(AECLSettings, {"lambda1": 2, "init": "kmeans"}, "aecl")
    assert changed == AECLSettings(lambda1=2, init="kmeans")
    assert read_settings(RSTCSettings, {}, "rstc").batch_size == 200


AUTOENCODER = {"layers": (500, 500, 2000, 10), "pretraining": "greedy", "batch_size": 256}
DEFAULTS: dict[str, dict[str, Any]] = {
    "sccl": {"eta": 10, "temperature": 0.5, "alpha": 1, "batch_size": 400},
    "rstc": {"temperature": 1, "epsilon": 0.1, "batch_size": 200},
    "vascl": {"temperature": 0.05, "neighbours": 16, "radius": 15},
    "deccrl": {"topics": 5, "alpha": 1, "batch_size": 200, "lambda_c": 10, "lambda_r": 10, "temperature": 0.5},
    "uft": {"alpha": 1, "masked_share": 0.1, "masked_lm": True},
    "clusterbert": {"lambda_clustering": 0.8, "lambda_hardening": 0.75, "augment": "deletion", "rounds": 2},
    "dec": AUTOENCODER,
    "idec": {**AUTOENCODER, "gamma": 0.1},
    "dcn": {**AUTOENCODER, "penalty": 0.1},
    "self-train": {"layers": (500, 500, 2000, 20), "pretraining": "joint", "batch_size": 64, "features": "sif"},
}


@pytest.mark.parametrize("method", DEFAULTS)
def test_defaults_are_those_that_were_measured(method: str) -> None:
    """The published ones where there are any; the pages of the methods say which are ours."""
    found = model_class(method).settings_class()
    assert {name: getattr(found, name) for name in DEFAULTS[method]} == DEFAULTS[method]


def test_first_layers_learn_under_the_published_noise() -> None:
    assert NOISE == 0.2


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("lambda1", 0), ("lambda1", 2.5), ("lambda4", None), ("lambda4", 0.1), ("joint_epochs", 0),
        ("joint_epochs", None), ("trainable_layers", "all"), ("trainable_layers", 0), ("trainable_layers", None), 
        ("augment", "dropout"), ("ablation", "no-pg"), ("ablation", None), ("batch_size", 1),
    ],
)  # fmt: skip
def test_values_that_fit(name: str, value: Any) -> None:
    assert getattr(read_settings(AECLSettings, {name: value}, "aecl"), name) == value


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("lambda1", "much", "give a number from 0 on$"),
        ("lambda1", None, "give a number from 0 on$"),
        ("lambda1", True, "give a number from 0 on$"),
        ("lambda1", -0.5, "give a number from 0 on$"),
        ("lambda1", math.nan, "give a number"),
        ("lambda1", math.inf, "give a number"),
        ("lambda4", "x", "give a number from 0 on or none$"),
        ("batch_size", 10.5, "give a whole number from 1 on$"),
        ("batch_size", 0, "give a whole number from 1 on$"),
        ("batch_size", None, "give a whole number from 1 on$"),
        ("joint_epochs", -1, "give a whole number from 0 on or none$"),
        ("joint_epochs", "3", "give a whole number"),
        ("joint_epochs", [3], "give a whole number"),
        ("init", "k-means", "give 'two-view' or 'kmeans'$"),
        ("init", None, "give 'two-view' or 'kmeans'$"),
        ("ablation", "no-xx", "give 'no-ic' or 'no-stage-1' or .* or none$"),
        ("trainable_layers", "some", "give a whole number from 0 on or 'all' or none$"),
        ("trainable_layers", False, "give a whole number from 0 on or 'all' or none$"),
        ("trainable_layers", {"a": 1}, "give a whole number from 0 on or 'all' or none$"),
    ],
)
def test_values_that_do_not_fit(name: str, value: Any, told: str) -> None:
    with pytest.raises(ConfigError, match=rf"^setting {name}=.* of the method 'aecl' does not fit: {told}"):
        read_settings(AECLSettings, {name: value}, "aecl")


@pytest.mark.parametrize("value", [[500, 500, 2000, 10], (3,), [1]])
def test_widths_of_layers_that_fit(value: Any) -> None:
    assert read_settings(AutoencoderSettings, {"layers": value}, "dec").layers == value


@pytest.mark.parametrize("value", [[], 10, "10,20", [10, 0], [10, -1], [10, 2.5], [10, "x"], [True], [[3]], None])
def test_widths_of_layers_that_do_not_fit(value: Any) -> None:
    with pytest.raises(ConfigError, match=r"^setting layers=.* does not fit: give a list of whole numbers from 1 on$"):
        read_settings(AutoencoderSettings, {"layers": value}, "dec")


def test_a_name_that_is_nearly_right() -> None:
    with pytest.raises(
        ConfigError, match=r"setting 'lamda1' is not known to the method 'aecl': did you mean 'lambda\d'"
    ):
        read_settings(AECLSettings, {"lamda1": 1}, "aecl")


def test_a_name_that_is_like_none() -> None:
    with pytest.raises(
        ConfigError, match=r"setting 'qqqqqq' is not known to the method 'rstc': there are init, .*balance"
    ):
        read_settings(RSTCSettings, {"qqqqqq": 1}, "rstc")


def test_a_name_of_another_method() -> None:
    with pytest.raises(ConfigError, match="setting 'lambda1' is not known to the method 'rstc'"):
        read_settings(RSTCSettings, {"lambda1": 1}, "rstc")


@pytest.mark.parametrize(
    ("settings_class", "cause", "idle"),
    [
        (AECLSettings, {"ablation": "no-pg"}, {"lambda2": 1}),
        (AECLSettings, {"ablation": "no-pg"}, {"threshold": 0.5}),
        (AECLSettings, {"ablation": "no-rc"}, {"lambda3": 1}),
        *[
            (AECLSettings, {"joint_epochs": 0}, {name: 1})
            for name in ("lambda3", "lambda4", "tau_cluster", "threshold")
        ],
        (AECLSettings, {"ablation": "no-stage-1"}, {"contrast_epochs": 1}),
        (AECLSettings, {"ablation": "no-stage-2"}, {"guided_epochs": 1}),
        (SCCLSettings, {"augment": "dropout"}, {"augment_rate": 0.2}),
        (AutoencoderSettings, {"pretraining": "joint"}, {"pair_epochs": 3}),
        (ClusterBERTSettings, {"ablation": "no-reconstruction"}, {"adaptation_epochs": 3}),
        (ClusterBERTSettings, {"ablation": "no-reconstruction"}, {"told_every": 2}),
        (ClusterBERTSettings, {"ablation": "no-reconstruction"}, {"lambda_clustering": 0.5}),
        (ClusterBERTSettings, {"ablation": "no-reconstruction"}, {"lambda_hardening": 0.5}),
        (ClusterBERTSettings, {"hardening_epochs": 0}, {"lambda_hardening": 0.5}),
        (DECCRLSettings, {"crl": "latent"}, {"topics": 3}),
        (DECCRLSettings, {"crl": "latent"}, {"words": 300}),
        *[(DECCRLSettings, {"crl": None}, {name: 3}) for name in ("topics", "lambda_r", "topic_rate", "topic_epochs")],
        (ADSLSettings, {"variant": "one"}, {"alpha": 3.0}),
        (ADSLSettings, {"variant": "sl"}, {"delta": 0.5}),
        (ADSLSettings, {"variant": "sl"}, {"interval": 3}),
        (ADSLSettings, {"variant": "one"}, {"update": "normalised"}),
        (ADSLSettings, {"variant": "dsl"}, {"attention_rate": 0.1}),
    ],
)
def test_what_would_be_of_no_use_is_refused(
    settings_class: type[OwnSettings], cause: dict[str, Any], idle: dict[str, Any]
) -> None:
    ((name, value),) = cause.items()
    told = rf"the setting {next(iter(idle))!r} is of no use to the method 'm' with {name}={str(value).lower()}: leave"
    with pytest.raises(ConfigError, match=told):
        read_settings(settings_class, {**idle, **cause}, "m")
    for alone in (cause, idle):
        read_settings(settings_class, alone, "m")


def test_what_the_defaults_leave_no_use_for_is_refused() -> None:
    with pytest.raises(ConfigError, match="'augment_rate' is of no use to the method 'uft' with augment=none"):
        read_settings(UFTSettings, {"augment_rate": 0.1}, "uft")
    with pytest.raises(ConfigError, match="'augment_rate' is of no use to the method 'vascl' with augment=dropout"):
        read_settings(VaSCLSettings, {"augment_rate": 0.1}, "vascl")
    read_settings(VaSCLSettings, {"augment_rate": 0.1, "augment": "eda"}, "vascl")


def test_what_some_part_still_uses_is_taken() -> None:
    read_settings(DECCRLSettings, {"crl": "latent", "lambda_r": 1, "topic_rate": 0.1, "topic_epochs": 2}, "deccrl")
    read_settings(ADSLSettings, {"variant": "sl", "alpha": 3}, "adsl")
    read_settings(ADSLSettings, {"variant": "dsl", "delta": 0.5, "interval": 3, "update": "normalised"}, "adsl")


@pytest.mark.parametrize(
    ("method", "name", "value"),
    [
        ("uft", "augment", "dropout"),
        ("uft", "masked_lm", False),
        ("uft", "masked_share", 0.2),
        ("clusterbert", "ablation", "no-reconstruction"),
        ("clusterbert", "adaptation_epochs", 1),
        ("sccl", "encoder_rate", 1e-5),
        ("aecl", "bf16", False),
    ],
)
def test_what_only_a_trained_encoder_uses_is_refused_where_it_stands_still(method: str, name: str, value: Any) -> None:
    def built(effort: Any, **own: Any) -> None:
        build(method, Settings(3, effort, "minilm", "fp32", None, 0, {name: value, **own}))

    told = f"{name!r} is of no use to the method {method!r} with "
    with pytest.raises(ConfigError, match=told + "effort=fast, which leaves the encoder as it is: leave it out"):
        built("fast")
    with pytest.raises(ConfigError, match=told + "trainable_layers=0, which"):
        built("balanced", trainable_layers=0)
    built("balanced")
    built("fast", trainable_layers=1)


def test_ways_to_make_views_are_refused_beside_given_ones() -> None:
    views = [["a"], ["b"]]
    with pytest.raises(ConfigError, match="'augment' is of no use to the method 'sccl' with augmented columns"):
        build("sccl", Settings(3, "fast", "minilm", "fp32", None, 0, {"augment": "contextual"}, views))
    build("sccl", Settings(3, "fast", "minilm", "fp32", None, 0, {}, views))


def test_transport_needs_some_balance() -> None:
    with pytest.raises(ConfigError, match=r"setting balance=0 .* give a number above 0 or none"):
        read_settings(RSTCSettings, {"balance": 0}, "rstc")
