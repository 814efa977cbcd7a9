"""Method names: what there is and what it is. How it is built is in `building`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, get_args

if TYPE_CHECKING:
    from coterie.methods.deep_model import DeepModel

Effort = Literal["fast", "balanced", "full"]
FeatureName = Literal["bow", "tfidf", "stems", "lda", "ae", "kate", "sif", "minilm", "tsdae"]
Precision = Literal["fp32", "int8"]
EFFORTS: tuple[Effort, ...] = get_args(Effort)
AUTO, DUET = "auto", "duet"

FEATURES: dict[FeatureName, str] = {
    "bow": "bag of words (2,000 words)",
    "tfidf": "TF-IDF (2,000 words)",
    "stems": "TF-IDF of word stems (3,000)",
    "lda": "LDA topic mixture",
    "ae": "autoencoder on TF-IDF of word stems",
    "kate": "k-competitive autoencoder on word stems",
    "sif": "SIF-weighted word vectors",
    "minilm": "sentence vectors of the encoder",
    "tsdae": "sentence vectors of the encoder after TSDAE on the texts",
}

CLUSTERERS = {
    "kmeans": "k-means (mini-batch k-means from 200,000 texts on)",
    "minibatch": "mini-batch k-means",
    "spherical": "spherical k-means",
    "ahc": "average linkage on cosine (micro-clusters from 12,000 texts on)",
    "ward": "Ward linkage (micro-clusters from 12,000 texts on)",
    "hdbscan": "HDBSCAN, its noise given to the nearest group",
}


@dataclass(frozen=True)
class MethodInfo:
    """A line of `coterie methods`."""

    name: str
    title: str
    source: str


DEEP = {
    "tandem": (
        MethodInfo("tandem", "encoder and words teach each other, groups keep their sizes", "Coterie"),
        "coterie.methods.tandem:Tandem",
    ),
    "aecl": (
        MethodInfo("aecl", "attention between texts, similarity-guided contrast, pseudo-labels", "Yao and Li 2025"),
        "coterie.methods.aecl:AECL",
    ),
    "sccl": (
        MethodInfo("sccl", "contrast between augmentations, texts drawn to centres", "Zhang et al. 2021"),
        "coterie.methods.sccl:SCCL",
    ),
    "rstc": (
        MethodInfo("rstc", "pseudo-labels by self-adaptive optimal transport", "Zheng et al. 2023"),
        "coterie.methods.rstc:RSTC",
    ),
    "deccrl": (
        MethodInfo(
            "deccrl", "texts drawn to centres that must explain their words: groups with topics", "Yin et al. 2022"
        ),
        "coterie.methods.deccrl:DECCRL",
    ),
    "vascl": (
        MethodInfo("vascl", "contrast with virtual augmentations, then k-means", "Zhang et al. 2022"),
        "coterie.methods.vascl:VaSCL",
    ),
    "dec": (
        MethodInfo("dec", "autoencoder, its codes drawn to centres", "Xie et al. 2016"),
        "coterie.methods.dec:DEC",
    ),
    "idec": (
        MethodInfo("idec", "DEC that goes on reconstructing", "Guo et al. 2017"),
        "coterie.methods.idec:IDEC",
    ),
    "dcn": (
        MethodInfo("dcn", "autoencoder with k-means in its loss", "Yang et al. 2017"),
        "coterie.methods.dcn:DCN",
    ),
    "self-train": (
        MethodInfo("self-train", "SIF vectors, autoencoder, self-training", "Hadifar et al. 2019"),
        "coterie.methods.self_train:SelfTrain",
    ),
    "uft": (
        MethodInfo("uft", "masked words told while texts are drawn to centres", "Huang et al. 2020"),
        "coterie.methods.uft:UFT",
    ),
    "clusterbert": (
        MethodInfo(
            "clusterbert", "texts rebuilt from their vectors, k-means groups learnt, then hardened", "ClusterBERT"
        ),
        "coterie.methods.clusterbert:ClusterBERT",
    ),
}
"""The trained methods and where their models are."""

SELF_TAUGHT = {
    "adsl": (
        MethodInfo("adsl", "CNN on words, dynamic soft labels, attention between documents", "Chen et al. 2019"),
        "coterie.methods.adsl:ADSL",
    ),
    "stcc": (
        MethodInfo("stcc", "CNN on words that learns binary codes, then k-means", "Xu et al. 2017"),
        "coterie.methods.stcc:STCC",
    ),
    "consensus": (
        MethodInfo("consensus", "CNN on words, taught where several clusterings agree", "ADSL's reference [19]"),
        "coterie.methods.consensus:Consensus",
    ),
}
"""Trained methods that need no encoder."""

HAC_SD = MethodInfo("hac-sd", "linkage of sparsified similarities, iterative classification", "Rakib et al. 2020")


def known_methods() -> list[MethodInfo]:
    """Every method; `FEATURES+CLUSTERER` stands for all combinations."""
    own = MethodInfo(DUET, "encoder and words side by side, smoothed, best of two clusterings", "Coterie")
    auto = MethodInfo(AUTO, "duet; beyond fast, tandem from its groups where they are large enough", "Coterie")
    combinations = [
        MethodInfo(f"{feature}+{clusterer}", f"{about}; {how}", "baseline")
        for feature, about in FEATURES.items()
        for clusterer, how in CLUSTERERS.items()
    ]
    trained = (info for info, _ in (*DEEP.values(), *SELF_TAUGHT.values()))
    return [auto, own, *trained, HAC_SD, *combinations]


def reads_encoder(name: str) -> bool:
    """Whether a method looks at texts through the encoder that was given."""
    return name in (AUTO, DUET, *DEEP) or name.split("+")[0] in ("minilm", "tsdae")


def why_no_topics(name: str, settings: Mapping[str, Any] | None) -> str:
    """Of a method's model without topics: what it is of, and what to do."""
    if name != "deccrl":
        return f"of the method {name!r} has no topics: fit with the method 'deccrl'"
    crl = (settings or {}).get("crl") or "none"
    return f"of the method {name!r} with crl={crl} has no topics: fit with crl=etm, its default"


def model_class(name: str) -> type[DeepModel]:
    """The model of a trained method."""
    found: type[DeepModel] = found_at(DEEP[name][1])
    return found


def found_at(place: str) -> Any:
    """What stands there, imported only now: `module:name`."""
    module, class_name = place.split(":")
    return getattr(import_module(module), class_name)
