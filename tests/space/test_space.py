from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from tabnas import Architecture, SearchSpace, TabNASError
from tests.problems import spaces, valid_choices


@given(spaces())
def test_size_counts_the_valid_encodings(space: SearchSpace) -> None:
    assert space.size == len(valid_choices(space))


@given(spaces())
def test_choices_and_architectures_are_one_to_one(space: SearchSpace) -> None:
    encodings = valid_choices(space)
    architectures = [space.architecture(choices) for choices in encodings]
    assert len(set(architectures)) == len(encodings)
    for choices, architecture in zip(encodings, architectures, strict=True):
        assert space.choices(architecture) == choices
        assert space.choices(str(architecture)) == choices
        assert Architecture.parse(str(architecture)) == architecture


def test_candidates_are_sorted() -> None:
    assert SearchSpace([[16, 8]], inputs=1, outputs=1).widths == ((8, 16),)


def test_numpy_integers_are_integers() -> None:
    assert SearchSpace([np.array([8, 16])], inputs=np.int64(3), outputs=1).inputs == 3


def test_an_architecture_without_layers_is_linear() -> None:
    space = SearchSpace([[0, 8]], inputs=3, outputs=1)
    assert str(space.architecture([0])) == "linear"
    assert space.choices("linear") == (0,)


@pytest.mark.parametrize(
    ("candidates", "message"),
    [
        ([], "at least one layer"),
        ([[]], "layer 1 must have at least one"),
        ([[8], [-1]], "a width of layer 2 must be an integer of at least 0, got -1"),
        ([[8.0]], "got 8.0"),
        ([[True]], "got True"),
        ([[8, 8]], "layer 1 lists the width 8 more than once"),
        ([[0, 8], [8]], "only trailing layers may be absent"),
        ([[8]] * 1_001, "at most 1,000 layers, got 1,001"),
    ],
)
def test_invalid_candidates_are_refused(candidates: list[list[int]], message: str) -> None:
    with pytest.raises(TabNASError, match=message):
        SearchSpace(candidates, inputs=4, outputs=1)


@pytest.mark.parametrize("name", ["inputs", "outputs", "layers"])
def test_zero_inputs_outputs_and_layers_are_refused(name: str) -> None:
    sizes = {"inputs": 4, "outputs": 1, "layers": 2} | {name: 0}
    with pytest.raises(TabNASError, match=f"{name} must be an integer of at least 1, got 0"):
        SearchSpace.uniform(**sizes)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("16-9", "layer 2 has no candidate width 9"),
        ("16-8-8", "at most 2 layers, but 16-8-8 has 3"),
        ("linear", "layer 1 of this space cannot be absent"),
        ("16--8", "positive widths joined by hyphens"),
        ("16-0", "positive widths joined by hyphens"),
        ("", "positive widths joined by hyphens"),
        ("1_6", "positive widths joined by hyphens"),
    ],
)
def test_strings_that_are_not_of_the_space_are_refused(text: str, message: str) -> None:
    space = SearchSpace([[8, 16], [0, 8]], inputs=4, outputs=1)
    with pytest.raises(TabNASError, match=message):
        space.choices(text)
    assert text not in space
