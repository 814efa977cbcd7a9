"""The trained systems under the names of their papers: a `TextClusterer` with that method, and its settings by name."""

from __future__ import annotations

from typing import Any

from coterie.estimator import TextClusterer


def AECL(n_clusters: int = 8, **options: Any) -> TextClusterer:  # noqa: N802
    """Attention-enhanced contrastive learning; options of `TextClusterer` and of `docs/methods/aecl.md`."""
    return _system("aecl", n_clusters, options)


def SCCL(n_clusters: int = 8, **options: Any) -> TextClusterer:  # noqa: N802
    """Supporting clustering with contrastive learning; options of `TextClusterer` and `docs/methods/contrastive.md`."""
    return _system("sccl", n_clusters, options)


def RSTC(n_clusters: int = 8, **options: Any) -> TextClusterer:  # noqa: N802
    """Pseudo-labels by self-adaptive transport; options of `TextClusterer` and of `docs/methods/contrastive.md`."""
    return _system("rstc", n_clusters, options)


def VaSCL(n_clusters: int = 8, **options: Any) -> TextClusterer:  # noqa: N802
    """Virtual augmentation; options of `TextClusterer` and of `docs/methods/contrastive.md`."""
    return _system("vascl", n_clusters, options)


def UFT(n_clusters: int = 8, **options: Any) -> TextClusterer:  # noqa: N802
    """Unsupervised fine-tuning; options of `TextClusterer` and of `docs/methods/uft.md`."""
    return _system("uft", n_clusters, options)


def ClusterBERT(n_clusters: int = 8, **options: Any) -> TextClusterer:  # noqa: N802
    """Adaptation, clustering, hardening; options of `TextClusterer` and of `docs/methods/clusterbert.md`."""
    return _system("clusterbert", n_clusters, options)


def _system(method: str, n_clusters: int, options: dict[str, Any]) -> TextClusterer:
    general = set(TextClusterer().get_params()) - {"method", "settings", "n_clusters"}
    own = {name: value for name, value in options.items() if name not in general}
    shared = {name: value for name, value in options.items() if name in general}
    return TextClusterer(n_clusters, method=method, settings=own or None, **shared)
