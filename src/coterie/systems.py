"""The trained systems by their names: a `TextClusterer` with that method, and its settings by name."""

from __future__ import annotations

from typing import Any

from coterie.estimator import TextClusterer
from coterie.types import NClusters


def Tandem(n_clusters: NClusters = 8, **options: Any) -> TextClusterer:  # noqa: N802
    """Encoder and words that teach each other; options of `TextClusterer` and of `docs/methods/tandem.md`."""
    return _system("tandem", n_clusters, options)


def AECL(n_clusters: NClusters = 8, **options: Any) -> TextClusterer:  # noqa: N802
    """Attention-enhanced contrastive learning; options of `TextClusterer` and of `docs/methods/aecl.md`."""
    return _system("aecl", n_clusters, options)


def SCCL(n_clusters: NClusters = 8, **options: Any) -> TextClusterer:  # noqa: N802
    """Supporting clustering with contrastive learning; options of `TextClusterer` and `docs/methods/contrastive.md`."""
    return _system("sccl", n_clusters, options)


def DECCRL(n_clusters: NClusters = 8, **options: Any) -> TextClusterer:  # noqa: N802
    """Centres that explain the texts' words, so groups with topics; options of `docs/methods/deccrl.md` too."""
    return _system("deccrl", n_clusters, options)


def RSTC(n_clusters: NClusters = 8, **options: Any) -> TextClusterer:  # noqa: N802
    """Pseudo-labels by self-adaptive transport; options of `TextClusterer` and of `docs/methods/contrastive.md`."""
    return _system("rstc", n_clusters, options)


def VaSCL(n_clusters: NClusters = 8, **options: Any) -> TextClusterer:  # noqa: N802
    """Virtual augmentation; options of `TextClusterer` and of `docs/methods/contrastive.md`."""
    return _system("vascl", n_clusters, options)


def DEC(n_clusters: NClusters = 8, **options: Any) -> TextClusterer:  # noqa: N802
    """Deep embedded clustering; options of `TextClusterer` and of `docs/methods/autoencoder.md`."""
    return _system("dec", n_clusters, options)


def IDEC(n_clusters: NClusters = 8, **options: Any) -> TextClusterer:  # noqa: N802
    """Improved deep embedded clustering; options of `TextClusterer` and of `docs/methods/autoencoder.md`."""
    return _system("idec", n_clusters, options)


def DCN(n_clusters: NClusters = 8, **options: Any) -> TextClusterer:  # noqa: N802
    """Deep clustering network; options of `TextClusterer` and of `docs/methods/autoencoder.md`."""
    return _system("dcn", n_clusters, options)


def SelfTrain(n_clusters: NClusters = 8, **options: Any) -> TextClusterer:  # noqa: N802
    """Self-training on SIF vectors; options of `TextClusterer` and of `docs/methods/autoencoder.md`."""
    return _system("self-train", n_clusters, options)


def ADSL(n_clusters: NClusters = 8, **options: Any) -> TextClusterer:  # noqa: N802
    """Document-level attention on dynamic soft labels; options of `TextClusterer` and of `docs/methods/adsl.md`."""
    return _system("adsl", n_clusters, options)


def STCC(n_clusters: NClusters = 8, **options: Any) -> TextClusterer:  # noqa: N802
    """A self-taught CNN on binary codes; options of `TextClusterer` and of `docs/methods/adsl.md`."""
    return _system("stcc", n_clusters, options)


def Consensus(n_clusters: NClusters = 8, **options: Any) -> TextClusterer:  # noqa: N802
    """A CNN taught where clusterings agree; options of `TextClusterer` and of `docs/methods/adsl.md`."""
    return _system("consensus", n_clusters, options)


def HACSD(n_clusters: NClusters = 8, **options: Any) -> TextClusterer:  # noqa: N802
    """Sparsified linkage and iterative classification; options of `TextClusterer` and of `docs/methods/adsl.md`."""
    return _system("hac-sd", n_clusters, options)


def UFT(n_clusters: NClusters = 8, **options: Any) -> TextClusterer:  # noqa: N802
    """Unsupervised fine-tuning; options of `TextClusterer` and of `docs/methods/uft.md`."""
    return _system("uft", n_clusters, options)


def ClusterBERT(n_clusters: NClusters = 8, **options: Any) -> TextClusterer:  # noqa: N802
    """Adaptation, clustering, hardening; options of `TextClusterer` and of `docs/methods/clusterbert.md`."""
    return _system("clusterbert", n_clusters, options)


def _system(method: str, n_clusters: NClusters, options: dict[str, Any]) -> TextClusterer:
    general = set(TextClusterer().get_params()) - {"method", "settings", "n_clusters"}
    own = {name: value for name, value in options.items() if name not in general}
    shared = {name: value for name, value in options.items() if name in general}
    return TextClusterer(n_clusters, method=method, settings=own or None, **shared)
