"""Colours that everybody can tell apart, and styles that differ where groups are close."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from coterie.report.colours import DARK, LIGHT, SHAPES, group_styles

# Machado, Oliveira and Fernandes (2009), severity 1; linear RGB.
SIGHT = {
    "normal": np.eye(3),
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}
OKABE_ITO = ("#E69F00", "#56B4E9", "#009E73", "#F0E442", "#0072B2", "#D55E00", "#CC79A7")


def linear(colour: str) -> np.ndarray:
    values = np.array([int(colour[at : at + 2], 16) for at in (1, 3, 5)]) / 255
    return np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)


def oklab(rgb: np.ndarray) -> np.ndarray:
    cones = [[0.4122214708, 0.5363325363, 0.0514459929], [0.2119034982, 0.6806995451, 0.1073969566]]
    cones.append([0.0883024619, 0.2817188376, 0.6299787005])
    axes = [[0.2104542553, 0.7936177850, -0.0040720468], [1.9779984951, -2.4285922050, 0.4505937099]]
    axes.append([0.0259040371, 0.7827717662, -0.8086757660])
    return np.array(axes) @ np.cbrt(np.array(cones) @ np.clip(rgb, 0, 1))


def least_difference(palette: tuple[str, ...], sight: str) -> float:
    seen = [oklab(np.array(SIGHT[sight]) @ linear(colour)) for colour in palette]
    return min(float(np.linalg.norm(one - other)) for one, other in combinations(seen, 2))


@pytest.mark.parametrize("sight", SIGHT)
@pytest.mark.parametrize("palette", [LIGHT, DARK])
def test_any_two_colours_differ_for_every_eye(palette: tuple[str, ...], sight: str) -> None:
    assert least_difference(palette, sight) >= 0.11


def test_the_well_known_palette_does_not_pass() -> None:
    assert min(least_difference(OKABE_ITO, sight) for sight in SIGHT) < 0.08


@pytest.mark.parametrize(("palette", "ground"), [(LIGHT, "#ffffff"), (DARK, "#14171c")])
def test_colours_stand_out_from_their_ground(palette: tuple[str, ...], ground: str) -> None:
    light = [float(linear(colour) @ [0.2126, 0.7152, 0.0722]) + 0.05 for colour in (ground, *palette)]
    assert all(max(light[0], one) / min(light[0], one) >= 1.95 for one in light[1:])


def test_few_groups_need_no_shapes_and_more_get_them() -> None:
    centres = np.random.default_rng(0).normal(size=(48, 2))
    assert len({colour for colour, _ in group_styles(centres[:8])}) == 8
    assert {shape for _, shape in group_styles(centres[:8])} == {0}
    assert len(set(group_styles(centres[:12]))) == 12
    assert len(set(group_styles(centres))) == 48


@pytest.mark.parametrize("groups", [20, 152, 1000])
def test_a_group_and_its_nearest_never_look_the_same(groups: int) -> None:
    centres = np.random.default_rng(1).uniform(-1, 1, size=(groups, 2))
    styles = group_styles(centres)
    distances = ((centres[:, None] - centres[None]) ** 2).sum(axis=2)
    np.fill_diagonal(distances, np.inf)
    assert all(styles[group] != styles[near] for group, near in enumerate(distances.argmin(axis=1)))
    assert max(shape for _, shape in styles) < len(SHAPES)
    assert max(np.unique(styles, axis=0, return_counts=True)[1]) <= -(-groups // 48) + (groups < 48)
