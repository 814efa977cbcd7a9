"""Clusterers on any vectors, each with scikit-learn's contract."""

from coterie.clusterers.agglomerative import Agglomerative
from coterie.clusterers.density import Density
from coterie.clusterers.kmeans import KMeans, SphericalKMeans

__all__ = ["Agglomerative", "Density", "KMeans", "SphericalKMeans"]
