"""Every kernel agrees with its NumPy twin, and the twins with finite differences."""

from __future__ import annotations

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tabnas.nets._optimizers import SGD, Adam
from tabnas.nets.compiled import _embeddings, _layer_norm, _losses, _optimizers, _products
from tabnas.nets.compiled._fields import Batch
from tabnas.nets.compiled._layout import bias_corrections, optimizer_settings
from tabnas.nets.compiled._strides import row_stride
from tabnas.nets.compiled._vectors import LANES

EPSILON = 1e-5
CLOSE = {"rtol": 1e-4, "atol": 1e-4}
ONE = np.float32(1.0)


# -- twins ---------------------------------------------------------------------------------------


def normalise(z, bias, scale, shift):
    """Return relu(scale * LayerNorm(z + bias) + shift), the normalised values and 1 / deviation."""
    z = z + bias
    centred = z - z.mean(axis=1, keepdims=True)
    inverse = 1.0 / np.sqrt((centred**2).mean(axis=1, keepdims=True) + EPSILON)
    x = centred * inverse
    return np.maximum(scale * x + shift, 0.0), x, inverse


def normalise_backward(d, x, inverse, out, scale):
    """Return the gradients of z, bias, scale and shift."""
    grad = d * (out > 0)
    u = grad * scale
    dz = inverse * (u - u.mean(axis=1, keepdims=True) - x * (u * x).mean(axis=1, keepdims=True))
    return dz, dz.sum(axis=0), (grad * x).sum(axis=0), grad.sum(axis=0)


def loss_and_grad(kind, z, target, weight):
    """Return the weighted mean loss and its gradient with respect to the logits."""
    share = weight / weight.sum()
    if kind == _losses.SOFTMAX and target.ndim == 2:  # probabilities, which sum to s
        odds = np.exp(z - z.max(axis=1, keepdims=True))
        softmax = odds / odds.sum(axis=1, keepdims=True)
        losses = -(target * np.log(softmax)).sum(axis=1)
        grad = target.sum(axis=1, keepdims=True) * softmax - target
    elif kind == _losses.SOFTMAX:
        shifted = z - z.max(axis=1, keepdims=True)
        odds = np.exp(shifted)
        rows = np.arange(len(z))
        losses = np.log(odds.sum(axis=1)) - shifted[rows, target]
        grad = odds / odds.sum(axis=1, keepdims=True)
        grad[rows, target] -= 1.0
    elif kind == _losses.LOGISTIC:
        losses = (np.logaddexp(0.0, z) - target * z)[:, 0]
        grad = 0.5 * (1.0 + np.tanh(0.5 * z)) - target
    else:
        losses = ((z - target) ** 2).mean(axis=1)
        grad = 2.0 * (z - target) / z.shape[1]
    return (share * losses).sum(), grad * share[:, None]


def numeric_gradient(function, array, step=1e-6):
    """Return the gradient by central differences in float64."""
    gradient = np.zeros_like(array)
    for index in np.ndindex(array.shape):
        value = array[index]
        array[index] = value + step
        above = function()
        array[index] = value - step
        below = function()
        array[index] = value
        gradient[index] = (above - below) / (2 * step)
    return gradient


# -- twins against finite differences ------------------------------------------------------------


def test_gradient_of_the_normalised_layer():
    rng = np.random.default_rng(0)
    z, seed = rng.normal(size=(4, 7)), rng.normal(size=(4, 7))
    bias, scale, shift = rng.normal(size=(3, 7))

    def objective():
        return (seed * normalise(z, bias, scale, shift)[0]).sum()

    out, x, inverse = normalise(z, bias, scale, shift)
    gradients = normalise_backward(seed, x, inverse, out, scale)
    for array, gradient in zip((z, bias, scale, shift), gradients, strict=True):
        np.testing.assert_allclose(numeric_gradient(objective, array), gradient, atol=1e-7)


@pytest.mark.parametrize("kind", [_losses.LOGISTIC, _losses.SOFTMAX, _losses.SQUARED_ERROR])
def test_gradient_of_the_losses(kind):
    z, target, weight = random_logits(kind, 5, 4, np.random.default_rng(1))
    numeric = numeric_gradient(lambda: loss_and_grad(kind, z, target, weight)[0], z)
    np.testing.assert_allclose(numeric, loss_and_grad(kind, z, target, weight)[1], atol=1e-7)


@pytest.mark.parametrize("total", [1.0, 1.001])
def test_gradient_of_the_softmax_loss_of_probabilities(total):
    rng = np.random.default_rng(1)
    z, _, weight = random_logits(_losses.SOFTMAX, 5, 4, rng)
    target = total * rng.dirichlet(np.ones(4), 5)
    numeric = numeric_gradient(lambda: loss_and_grad(_losses.SOFTMAX, z, target, weight)[0], z)
    grad = loss_and_grad(_losses.SOFTMAX, z, target, weight)[1]
    np.testing.assert_allclose(numeric, grad, atol=1e-7)
    if total == 1.0:  # log(sum exp z) - sum p z
        losses = np.logaddexp.reduce(z, axis=1) - (target * z).sum(axis=1)
        value = loss_and_grad(_losses.SOFTMAX, z, target, weight)[0]
        assert value == pytest.approx(losses @ weight / weight.sum())


def random_logits(kind, rows, outputs, rng):
    outputs = 1 if kind == _losses.LOGISTIC else outputs
    z = 3.0 * rng.normal(size=(rows, outputs))
    targets = {
        _losses.LOGISTIC: rng.random((rows, 1)),
        _losses.SOFTMAX: rng.integers(0, outputs, rows),
        _losses.SQUARED_ERROR: rng.normal(size=(rows, outputs)),
    }
    return z, targets[kind], rng.uniform(0.1, 1.0, rows)


# -- kernels against twins -----------------------------------------------------------------------


def pad(array):
    """Return a float32 copy padded with noise to complete vectors and one more block."""
    rows, columns = array.shape
    noise = np.random.default_rng(9).normal(size=(rows + LANES, row_stride(columns) + LANES))
    out = noise.astype(np.float32)
    out[:rows, :columns] = array
    return out


def ptr(array):
    return array.ctypes.data


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 200), st.integers(1, 70), st.integers(1, 300), st.integers(0, 9))
def test_matrix_products(rows, columns, steps, seed):
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=(rows, steps)), rng.normal(size=(steps, columns))
    padded_a, padded_b, out = pad(a), pad(b), pad(np.zeros((rows, columns)))
    strides = [array.shape[1] for array in (padded_a, padded_b, out)]
    sizes = (rows, columns, steps)
    _products.multiply(
        ptr(padded_a),
        strides[0],
        ptr(padded_b),
        strides[1],
        ptr(out),
        strides[2],
        *sizes,
    )
    np.testing.assert_allclose(out[:rows, :columns], a @ b, **CLOSE)
    assert (out[rows:] == pad(np.zeros((rows, columns)))[rows:]).all()
    padded_a = pad(a.T)
    out[:] = 0.0
    _products.multiply_transposed(
        ptr(padded_a),
        padded_a.shape[1],
        ptr(padded_b),
        strides[1],
        ptr(out),
        strides[2],
        *sizes,
    )
    np.testing.assert_allclose(out[:rows, :columns], a @ b, **CLOSE)


@given(st.integers(1, 30), st.integers(1, 30))
@settings(max_examples=20, deadline=None)
def test_transpose(rows, columns):
    source = pad(np.arange(rows * columns, dtype=np.float32).reshape(rows, columns))
    out = pad(np.zeros((columns, rows)))
    _products.transpose(ptr(source), source.shape[1], ptr(out), out.shape[1], rows, columns)
    np.testing.assert_array_equal(out[:columns, :rows], source[:rows, :columns].T)


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 12), st.integers(2, 70), st.integers(0, 9))
def test_normalised_layer(rows, width, seed):
    rng = np.random.default_rng(seed)
    z, d = rng.normal(size=(2, rows, width))
    vectors = rng.normal(size=(3, width))
    out, x, inverse = normalise(z, *vectors)
    gradients = normalise_backward(d, x, inverse, out, vectors[1])
    padded_z, padded_d, padded_out = pad(z), pad(d), pad(np.zeros((rows, width)))
    bias, scale, shift = (pad(vector[None]) for vector in vectors)
    padded_inverse, stride = np.zeros(rows, np.float32), padded_z.shape[1]
    _layer_norm.normalise(
        ptr(padded_z), ptr(bias), ptr(scale), ptr(shift), ptr(padded_inverse), ptr(padded_out),
        rows, width, stride,
    )  # fmt: skip
    np.testing.assert_allclose(padded_out[:rows, :width], out, rtol=1e-3, atol=1e-3)
    sums = np.zeros((3, stride), np.float32)
    _layer_norm.normalise_backward(
        ptr(padded_d), ptr(padded_z), ptr(padded_inverse), ptr(padded_out), ptr(scale),
        rows, width, stride,
    )  # fmt: skip
    half = min(width, LANES)
    for begin, end in ((0, half), (half, width)):
        _layer_norm.sum_norm_gradients(
            ptr(padded_d), ptr(padded_z), ptr(padded_out), ptr(sums[0]), ptr(sums[1]),
            ptr(sums[2]), rows, begin, end, stride,
        )  # fmt: skip
    size = 1.0 + np.abs(gradients[0]).max()
    np.testing.assert_allclose(padded_out[:rows, :width], gradients[0], atol=2e-3 * size)
    for ours, twin in zip(sums, gradients[1:], strict=True):
        np.testing.assert_allclose(ours[:width], twin, atol=2e-3 * size)


def test_bias_of_the_head_and_its_gradient():
    rng = np.random.default_rng(0)
    z, bias = rng.normal(size=(5, 11)), rng.normal(size=(1, 11))
    padded_z, padded_bias, sums = pad(z), pad(bias), np.zeros(16, np.float32)
    _layer_norm.sum_rows(ptr(padded_z), ptr(sums), 5, 0, 11, padded_z.shape[1])
    np.testing.assert_allclose(sums[:11], z.sum(axis=0), rtol=1e-5, atol=1e-6)
    _layer_norm.add_bias(ptr(padded_z), ptr(padded_bias), 5, 11, padded_z.shape[1])
    np.testing.assert_allclose(padded_z[:5, :11], z + bias, rtol=1e-5, atol=1e-6)


def compute_loss(kind, z, batch, outputs, weight_sum):
    """Return the mean loss of a batch; z becomes its gradient. In two parts, as two threads do."""
    losses = np.zeros(batch.n_rows, np.float32)
    half = batch.n_rows // 2
    for first, end in ((0, half), (half, batch.n_rows)):
        _losses.losses_and_grads(kind, z, batch, first, end, outputs, weight_sum, losses)
    return _losses.add_up(losses)


def make_batch(labels, values, weight, rows, count):
    inputs = np.zeros((6, 0), np.float32), np.zeros((6, 0), np.int32)
    return Batch(*inputs, labels, values, weight, rows, 0, count)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("outputs", [2, 9, 1000])
@pytest.mark.parametrize("kind", [_losses.LOGISTIC, _losses.SOFTMAX, _losses.SQUARED_ERROR])
def test_losses_and_their_gradients(kind, outputs, weighted):
    rng = np.random.default_rng(2)
    z, target, weight = random_logits(kind, 6, outputs, rng)
    weight = weight if weighted else np.ones(6)
    value, grad = loss_and_grad(kind, z, target, weight)
    labels = np.zeros((0, 0), np.int32)
    if kind == _losses.SOFTMAX:
        labels = target.astype(np.int32).reshape(-1, 1)
    values = np.zeros((0, 1)) if kind == _losses.SOFTMAX else target
    padded_z = pad(z)
    weights = weight.astype(np.float32) if weighted else np.zeros(0, np.float32)
    rows = np.arange(6)
    batch = make_batch(labels, values.astype(np.float32), weights, rows, 6)
    weight_sum = _losses.total_weight(batch)
    ours = compute_loss(kind, padded_z, batch, z.shape[1], weight_sum)
    assert ours == pytest.approx(value, rel=1e-5)
    np.testing.assert_allclose(padded_z[:6, : z.shape[1]], grad, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("total", [1.0, 0.999])
@pytest.mark.parametrize("outputs", [2, 9, 1000])
def test_softmax_losses_of_probabilities(outputs, total):
    rng = np.random.default_rng(2)
    z, _, weight = random_logits(_losses.SOFTMAX, 6, outputs, rng)
    classes = rng.integers(outputs, size=(6, 5))  # with repetitions
    chosen = total * rng.dirichlet(np.ones(5), 6)
    target = np.zeros((6, outputs))
    np.add.at(target, (np.arange(6)[:, None], classes), chosen)
    value, grad = loss_and_grad(_losses.SOFTMAX, z, target, weight)
    for labels, values in ((np.zeros((0, 0)), target), (classes, chosen)):
        padded_z, rows = pad(z), np.arange(6)
        batch = make_batch(
            labels.astype(np.int32), values.astype(np.float32), weight.astype(np.float32), rows, 6
        )
        weight_sum = _losses.total_weight(batch)
        ours = compute_loss(_losses.SOFTMAX, padded_z, batch, outputs, weight_sum)
        assert ours == pytest.approx(value, rel=1e-5)
        np.testing.assert_allclose(padded_z[:6, :outputs], grad, rtol=1e-4, atol=1e-6)
        unchanged = pad(z)
        unchanged[:6, :outputs] = padded_z[:6, :outputs]
        np.testing.assert_array_equal(padded_z, unchanged)


@pytest.mark.parametrize("size", [0.0, 50.0, 1e4, 1e30])
def test_softmax_losses_of_large_logits_and_probabilities_are_finite(size):
    for labels, values in (([[]], [[0.75, 0.25]]), ([[1, 0]], [[0.25, 0.75]])):
        z = pad(np.array([[size, -size]]))
        batch = make_batch(
            np.array(labels, np.int32), np.array(values, np.float32), np.zeros(0, np.float32),
            np.zeros(0, np.int64), 1,
        )  # fmt: skip
        loss = compute_loss(_losses.SOFTMAX, z, batch, 2, 1.0)
        assert loss == pytest.approx(np.log1p(np.exp(-2 * size)) + 0.25 * 2 * size)
        assert np.isfinite(z[:1, :2]).all()


@pytest.mark.parametrize("size", [0.0, 50.0, 1e4, 1e30])
def test_losses_of_large_logits_are_finite(size):
    for kind, logits in ((_losses.LOGISTIC, [[-size], [size]]), (_losses.SOFTMAX, [[size, -size]])):
        z = pad(np.array(logits))
        batch = make_batch(
            np.zeros((1, 1), np.int32),
            np.array([[0.0], [1.0]] if kind == _losses.LOGISTIC else np.zeros((0, 2)), np.float32),
            np.zeros(0, np.float32), np.zeros(0, np.int64), len(logits),
        )  # fmt: skip
        loss = compute_loss(kind, z, batch, len(logits[0]), 1.0)
        # both are correct by a margin of 2 * size, or undecided at 0
        assert loss == pytest.approx(len(logits) * np.log1p(np.exp(-size * len(logits[0]))))
        assert np.isfinite(loss)
        assert np.isfinite(z[: len(logits), : len(logits[0])]).all()


def test_exponential():
    x = -np.logspace(-6, np.log10(87.0), 2000, dtype=np.float32)
    ours = np.array([_losses.exp_of_negative(value) for value in x])
    np.testing.assert_allclose(ours, np.exp(x.astype(np.float64)), rtol=1e-5)
    assert _losses.exp_of_negative(np.float32(0.0)) == 1.0
    assert _losses.exp_of_negative(np.float32("-inf")) == _losses.exp_of_negative(np.float32(-87.0))


def test_the_exponential_of_nan_is_nan_and_nan_never_becomes_an_integer(monkeypatch):
    """Python raises an error for such a conversion; in compiled code it is undefined."""
    nan = np.float32("nan")
    assert np.isnan(_losses.exp_of_negative(nan))
    monkeypatch.setattr(_losses, "_float_of_bits", lambda bits: np.int32(bits).view(np.float32))
    python_exp = _losses.exp_of_negative.py_func
    for x in (np.float32(-1.5), np.float32(-100.0), np.float32("-inf")):
        assert python_exp(x) == pytest.approx(_losses.exp_of_negative(x), rel=1e-6)
    assert np.isnan(python_exp(nan))
    larger = numba.njit(lambda x: max(np.float32(-87.0), x))  # the same expression, compiled
    assert larger(nan) == larger.py_func(nan) == -87.0


@settings(max_examples=30, deadline=None)
@given(
    st.integers(1, 5), st.integers(1, 30), st.integers(1, 40), st.sampled_from([0, 1, 2]),
)  # fmt: skip
def test_updates_change_their_block_only(rows, count, steps, moments):
    rng = np.random.default_rng(0)
    block = (slice(rows), slice(count))
    w, m, v, g = (pad(np.abs(rng.normal(size=(rows, count)))) for _ in range(4))
    old = [array.copy() for array in (w, m, v)]
    w64, m64, v64, g64 = (array[block].astype(np.float64) for array in (w, m, v, g))
    lr, decay, share = np.float32(0.1), np.float32(0.99), np.float32(0.5)
    stride = 4 * w.shape[1]
    if moments == 2:
        optimizer = Adam(epsilon=0.01)
        corrections = np.repeat(bias_corrections(optimizer)[:, [steps]], 40, axis=1)
        _optimizers.adam(
            ptr(w), ptr(m), ptr(v), ptr(g), rows, stride, count, lr, decay, share,
            optimizer_settings(optimizer), ptr(corrections), ptr(corrections[1]),
        )  # fmt: skip
        m64 = 0.9 * m64 + 0.1 * 0.5 * g64
        v64 = 0.999 * v64 + 0.001 * (0.5 * g64) ** 2
        direction = m64 / (1 - 0.9**steps) / (np.sqrt(v64 / (1 - 0.999**steps)) + 0.01)
    elif moments == 1:
        chosen = optimizer_settings(SGD(momentum=0.8))
        _optimizers.momentum(ptr(w), ptr(m), ptr(g), rows, stride, count, lr, decay, share, chosen)
        m64 = 0.8 * m64 + 0.5 * g64
        direction = m64
    else:
        _optimizers.sgd(ptr(w), ptr(g), rows, stride, count, lr, decay, share)
        direction = 0.5 * g64
    np.testing.assert_allclose(w[block], 0.99 * w64 - 0.1 * direction, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(m[block], m64, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(v[block], v64, rtol=1e-5, atol=1e-6)
    for array, before in zip((w, m, v), old, strict=True):
        array[block] = before[block]
        np.testing.assert_array_equal(array, before)


def test_repeated_categories_are_summed_in_order_of_appearance():
    ids = np.array([[[3, 1, 3, 3]], [[1, 0, 0, 0]]], np.int32)  # [workers, embeddings, rows]
    counts = np.array([4, 2])
    d = np.zeros((2, 4, 24), np.float32)
    d[..., 2:5] = np.arange(8, dtype=np.float32).reshape(2, 4, 1) + 1.0
    slots, touched = np.full(10, -1, np.int32), np.zeros(8, np.int32)
    sums = np.zeros((8, 8), np.float32)
    n_categories = _embeddings.sum_by_category(5, 2, 3, 0, ids, counts, d, slots, touched, sums)
    assert n_categories == 3
    np.testing.assert_array_equal(touched[:3], [3, 1, 0])
    np.testing.assert_array_equal(sums[:3, :3], [[1 + 3 + 4] * 3, [2 + 5] * 3, [6] * 3])
    np.testing.assert_array_equal(slots[[8, 6, 5]], [0, 1, 2])
