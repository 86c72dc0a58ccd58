from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tabnas import Architecture, SearchSpace, TabNASError
from tabnas.space import NumericEmbeddings
from tests.problems import spaces, valid_choices

EMBEDDINGS = NumericEmbeddings(columns=3, knots=12, dimensions=(0, 2, 8))
EMBEDDED = SearchSpace([[8, 16], [0, 8]], inputs=4, outputs=1, numeric_embeddings=EMBEDDINGS)


@given(spaces(embedded=True))
def test_size_counts_the_valid_encodings(space: SearchSpace) -> None:
    assert space.size == len(valid_choices(space))


@given(spaces(embedded=True))
def test_choices_and_architectures_are_one_to_one(space: SearchSpace) -> None:
    encodings = valid_choices(space)
    architectures = [space.architecture(choices) for choices in encodings]
    assert len(set(architectures)) == len(encodings)
    for choices, architecture in zip(encodings, architectures, strict=True):
        assert space.choices(architecture) == choices
        assert space.choices(str(architecture)) == choices
        assert Architecture.parse(str(architecture)) == architecture
        assert Architecture.from_json(architecture.to_json()) == architecture


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


# --- numeric embeddings ---------------------------------------------------------------------------


def test_the_input_is_a_layer() -> None:
    assert EMBEDDED.depth == 2
    assert EMBEDDED.layers == ((0, 2, 8), (8, 16), (0, 8))
    assert EMBEDDED.max_choices == 3
    assert EMBEDDED.mask.sum(axis=1).tolist() == [3, 2, 2]
    assert EMBEDDED.size == 3 * 4
    assert [EMBEDDED.input_width(d) for d in (0, 2, 8)] == [4, 10, 28]


def test_hidden_layers_follow_the_input_layer() -> None:
    for space in (EMBEDDED, SearchSpace([[8, 16], [0, 8]], inputs=4, outputs=1)):
        assert space.layers[space.first_hidden :] == space.widths


def test_dimension_0_is_not_an_absent_layer() -> None:
    assert str(EMBEDDED.architecture([0, 1, 1])) == "16-8"
    linear = SearchSpace([[0, 8]], inputs=4, outputs=1, numeric_embeddings=EMBEDDINGS)
    assert str(linear.architecture([0, 0])) == "linear"
    assert str(linear.architecture([2, 0])) == "d8-linear"
    assert linear.choices("d8-linear") == (2, 0)


def test_a_space_of_dimension_0_has_the_architectures_of_one_without_embeddings() -> None:
    only_0 = NumericEmbeddings(columns=3, knots=12, dimensions=[0])
    space = SearchSpace([[8, 16], [0, 8]], inputs=4, outputs=1, numeric_embeddings=only_0)
    plain = SearchSpace([[8, 16], [0, 8]], inputs=4, outputs=1)
    assert [space.architecture((0, *c)) for c in valid_choices(plain)] == [
        plain.architecture(c) for c in valid_choices(plain)
    ]


def test_dimensions_are_sorted_and_may_be_numpy_integers() -> None:
    embeddings = NumericEmbeddings(columns=np.int64(2), knots=4, dimensions=np.array([4, 0]))
    assert embeddings == NumericEmbeddings(columns=2, knots=4, dimensions=(0, 4))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"columns": 0}, "the embedded columns must be an integer of at least 1, got 0"),
        ({"knots": 5}, "the knots of all columns must be an integer of at least 6, got 5"),
        ({"dimensions": []}, "at least one candidate dimension"),
        ({"dimensions": [1, 1]}, "each listed once"),
        ({"dimensions": [-1]}, "dimension of numeric embeddings must be .* at least 0, got -1"),
        ({"dimensions": [1.5]}, "got 1.5"),
        ({"dimensions": [1_001]}, "must be at most 1,000, got 1,001"),
        ({"columns": 10**7, "knots": 10**8}, "the embedded columns must be at most 1,000,000"),
        ({"knots": 10**10}, "the knots of all columns must be at most"),
    ],
)
def test_invalid_numeric_embeddings_are_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(TabNASError, match=message):
        NumericEmbeddings(**{"columns": 3, "knots": 12} | options)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("d3-16", "no candidate dimension 3, only 0, 2, 8"),
        ("d2-9", "layer 1 has no candidate width 9"),
        ("d2-linear", "layer 1 of this space cannot be absent"),
    ],
)
def test_dimensions_that_are_not_of_the_space_are_refused(text: str, message: str) -> None:
    with pytest.raises(TabNASError, match=message):
        EMBEDDED.choices(text)
    assert text not in EMBEDDED


def test_a_space_without_numeric_embeddings_has_no_dimension() -> None:
    space = SearchSpace([[8, 16]], inputs=4, outputs=1)
    assert "d2-8" not in space
    with pytest.raises(TabNASError, match="since this space has none, got 2"):
        space.choices("d2-8")


@pytest.mark.parametrize(
    ("text", "architecture"),
    [
        ("d2-64-16", Architecture((64, 16), 2)),
        ("d12-linear", Architecture((), 12)),
        (" d1-8 ", Architecture((8,), 1)),
        ("linear", Architecture(())),
    ],
)
def test_notation(text: str, architecture: Architecture) -> None:
    assert Architecture.parse(text) == architecture
    assert str(architecture) == text.strip()


@pytest.mark.parametrize(
    "text",
    [
        *("d2", "d", "d-8", "d0-8", "d-2-8", "D2-8", "dd2-8", "d2-", "d2--8", "d2-d2-8", "8-d2"),
        *("2d-8", "d2-linear-8", "linear-8", "8-linear", "d+2-8", "d1_0-8", "d2.0-8", "d 2-8"),
        *("d\N{SUPERSCRIPT TWO}-8", "d" + "9" * 5_000 + "-8", "9" * 5_000),
    ],
)
def test_malformed_texts_are_refused(text: str) -> None:
    for parse in (Architecture.parse, Architecture.from_json):
        with pytest.raises(TabNASError, match="an architecture must be written as positive widths"):
            parse(text)


def test_absurd_dimensions_in_files_are_refused() -> None:
    assert Architecture.from_json("d1000-8").dimension == 1_000
    with pytest.raises(TabNASError, match="a dimension of at most 1,000"):
        Architecture.from_json("d1001-8")
    with pytest.raises(TabNASError, match="must be an integer of at least 0, got -1"):
        Architecture((8,), -1)


@given(space=spaces(embedded=True), data=st.data())
def test_a_space_covers_its_networks_and_narrower_ones(
    space: SearchSpace, data: st.DataObject
) -> None:
    member = space.architecture(data.draw(st.sampled_from(valid_choices(space))))
    assert space.covers(member)
    narrower = tuple(data.draw(st.integers(1, width)) for width in member.widths)
    assert space.covers(Architecture(narrower, member.dimension))
    for layer in range(member.depth):
        wider = list(member.widths)
        wider[layer] = space.widths[layer][-1] + 1
        assert not space.covers(Architecture(tuple(wider), member.dimension))
    assert not space.covers(Architecture((1,) * (space.depth + 1), member.dimension))
    assert not space.covers(Architecture(member.widths, 10))
    assert space.covers(Architecture((), member.dimension)) == (0 in space.widths[0])
