"""The clusterers on vectors pass scikit-learn's own checks."""

from __future__ import annotations

from typing import Any

from sklearn.utils.estimator_checks import parametrize_with_checks

from coterie.clusterers import Agglomerative, Density, KMeans, SphericalKMeans


def expected_failures(estimator: Any) -> dict[str, str]:
    if isinstance(estimator, KMeans):
        reason = "seeds are drawn by weight with other random numbers, and groups are numbered by their seeds"
    elif isinstance(estimator, Agglomerative):
        reason = "weights of 0 are refused, and groups are numbered by their first row, which removing rows changes"
    else:
        return {}
    return {"check_sample_weight_equivalence_on_dense_data": reason}


@parametrize_with_checks(
    [KMeans(3, random_state=0), SphericalKMeans(3, random_state=0), Agglomerative(3), Density(3)],
    expected_failed_checks=expected_failures,
)
def test_sklearn_check(estimator: Any, check: Any) -> None:
    check(estimator)
