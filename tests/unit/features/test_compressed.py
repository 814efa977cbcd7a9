"""Autoencoder and KATE as features: they learn, they are found again, and no company changes a text's code."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
import torch

from coterie.engine.phase import Model, Phase
from coterie.features import compressed
from coterie.features.compressed import Autoencoded, KateCodes
from coterie.types import Matrix

THEMES = [
    "bread oven flour baker dough",
    "train ticket platform station delay",
    "garden roses spade weeds lawn",
]
TRUTH = np.arange(60) % 3
TEXTS = [" ".join(np.random.default_rng(row).permutation(THEMES[theme].split())[:3]) for row, theme in enumerate(TRUTH)]


@pytest.fixture(params=[Autoencoded, KateCodes])
def features(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> type[Autoencoded]:
    kind: type[Autoencoded] = request.param
    monkeypatch.setattr(kind, "most_epochs", 150)
    monkeypatch.setattr(kind, "rate_for_short_texts", 2e-3)
    monkeypatch.setattr(Autoencoded, "layers", (40, 80, 12))
    return kind


def test_codes_of_one_theme_are_alike(features: type[Autoencoded]) -> None:
    codes = features(1).fit_transform(TEXTS)
    assert codes.dtype == np.float32
    codes = codes - codes.mean(axis=0)
    codes /= np.linalg.norm(codes, axis=1, keepdims=True)
    alike, same = codes @ codes.T, TRUTH[:, None] == TRUTH
    assert alike[same].mean() > 0.4 > 0 > alike[~same].mean()


def test_it_learns_to_say_again_what_it_read(features: type[Autoencoded], monkeypatch: pytest.MonkeyPatch) -> None:
    def surprise(steps: int) -> float:
        monkeypatch.setattr(features, "most_epochs", steps)
        made = features(1)
        made.fit_transform(TEXTS)
        read = torch.from_numpy(made.bag.transform(TEXTS)).double()
        with torch.no_grad():
            return float(made._loss(made.networks[0](read), read))

    assert surprise(150) < 0.7 * surprise(1)


def test_kate_tells_texts_held_out_better_than_the_means_of_the_words_do(demo_texts: list[str]) -> None:
    made = KateCodes(0)
    made.fit_transform(demo_texts[60:])
    means = torch.from_numpy(made.bag.transform(demo_texts[60:]).mean(axis=0)).double()
    held_out = torch.from_numpy(made.bag.transform(demo_texts[:60])).double()
    with torch.no_grad():
        told = float(made._loss(made.networks[0](held_out), held_out))
    assert told < 0.7 * float(made._loss(torch.logit(means, eps=1e-4).expand_as(held_out), held_out))


@pytest.mark.parametrize(
    ("kind", "stems", "rate"), [(Autoencoded, 3, 5e-5), (Autoencoded, 30, 5e-4), (KateCodes, 3, 5e-4)]
)
def test_short_texts_are_learnt_slowly_as_published(
    kind: type[Autoencoded], stems: int, rate: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Phase] = []

    def stopped(model: Model, *_: object, **__: object) -> None:
        seen.extend(model.phases())
        raise InterruptedError

    monkeypatch.setattr(compressed, "train", stopped)
    names = [f"{first}{second}" for first in "bcdfg" for second in ("aka", "elo", "imi", "oru", "unda", "yst")]
    with pytest.raises(InterruptedError):
        kind(0).fit_transform([" ".join(names[:stems])] * 4)
    assert [phase.rates for phase in seen] == [{"network": rate}]


def test_the_published_shapes() -> None:
    wide = Autoencoded()._new_network(3000)
    assert [layer.out_features for layer in wide.encoder] == [500, 2000, 200]
    assert [layer.in_features for layer in reversed(wide.decoder)] == [200, 2000, 500]
    assert KateCodes()._new_network(3000).weight.shape == (128, 3000)


def test_found_again_from_its_state_and_in_any_company(features: type[Autoencoded]) -> None:
    made = features(1)
    together = made.fit_transform(TEXTS)
    restored = features.from_state(made.state())
    np.testing.assert_array_equal(restored.transform(TEXTS), together)
    np.testing.assert_array_equal(made.transform(TEXTS[::-1])[::-1], together)
    np.testing.assert_array_equal(np.vstack([made.transform([text]) for text in TEXTS[:5]]), together[:5])


def test_several_networks_have_their_codes_side_by_side(features: type[Autoencoded]) -> None:
    alone, several = features(1), features(1, count=3)
    first, codes = alone.fit_transform(TEXTS), several.fit_transform(TEXTS)
    parts = np.hsplit(codes, 3)
    np.testing.assert_allclose(parts[0], first / np.linalg.norm(first, axis=1, keepdims=True), rtol=1e-6)
    for part in parts:
        np.testing.assert_allclose(np.linalg.norm(part, axis=1), 1, rtol=1e-6)
    assert min(np.abs(one - other).max() for one, other in combinations(parts, 2)) > 0.01
    restored = features.from_state(several.state())
    np.testing.assert_array_equal(restored.transform(TEXTS[:7]), codes[:7])


def test_same_seed_same_codes_and_no_checkpoint_is_left_behind(
    features: type[Autoencoded], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = torch.random.get_rng_state()
    made = []
    for place, seed in enumerate((1, 1, 2)):
        monkeypatch.setenv("COTERIE_CACHE", str(tmp_path / str(place)))
        made.append(features(seed).fit_transform(TEXTS))
    first, again, other = made
    assert torch.equal(torch.random.get_rng_state(), before)
    np.testing.assert_array_equal(first, again)
    assert np.abs(first - other).max() > 0.01
    assert not list((tmp_path / "0" / "training").rglob("*.safetensors"))


def test_texts_that_were_learnt_before_are_not_learnt_again(
    features: type[Autoencoded], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COTERIE_CACHE", str(tmp_path))

    def fit(texts: list[str], seed: int = 1) -> tuple[bool, Matrix]:
        stages: list[str] = []
        made = features(seed)
        codes = made.fit_transform(texts, lambda stage, done, total: stages.append(stage))
        np.testing.assert_array_equal(made.transform(texts), codes)
        return any("training" in stage for stage in stages), codes

    trained, codes = fit(TEXTS)
    assert trained
    trained, again = fit(TEXTS)
    assert not trained
    np.testing.assert_array_equal(again, codes)
    assert fit(TEXTS, seed=2)[0]
    assert fit(TEXTS[:50])[0]
    for kept in (tmp_path / "networks").iterdir():
        kept.write_bytes(kept.read_bytes()[:-10])
    trained, again = fit(TEXTS)
    assert trained
    np.testing.assert_array_equal(again, codes)


def test_a_cache_that_cannot_be_written_keeps_nothing_and_harms_nothing(
    features: type[Autoencoded], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("COTERIE_CACHE", str(tmp_path / "file"))
    assert len(features(1).fit_transform(TEXTS)) == len(TEXTS)
