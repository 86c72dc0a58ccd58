"""The reference engine agrees with PyTorch's layers and optimisers.

`tabnas.testing.check_engine` compares all other engines with the reference.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from tabnas.nets import SGD, Adam, SuperNet, TopClasses
from tabnas.space import Architecture, SearchSpace
from tabnas.testing import ReferenceEngine

torch = pytest.importorskip("torch")
torch.set_num_threads(1)  # more threads are slower on networks of this size
ROUNDING = {"rtol": 2e-4, "atol": 2e-5}
LOSSES = ("logistic", "softmax", "squared_error")
OPTIMIZERS = {
    "sgd": SGD(),
    "sgd with decay": SGD(weight_decay=0.1),
    "momentum": SGD(momentum=0.9),
    "adam": Adam(),
    "adam of the paper": Adam(epsilon=0.001),
    "adam with decay": Adam(beta1=0.8, beta2=0.95, weight_decay=0.1),
}


class PiecewiseLinear(torch.nn.Module):
    """Numeric embeddings as the first value of a table plus a share of each difference after it."""

    def __init__(self, knots, dimension):
        super().__init__()
        self.columns = [(c, torch.tensor(k)) for c, k in enumerate(knots) if k]
        self.table = torch.nn.Parameter(torch.zeros(dimension, sum(map(len, knots))))

    def forward(self, numeric):
        outputs, first = [], 0
        for column, knots in self.columns:
            table = self.table[:, first : first + len(knots)]
            shares = (numeric[:, column, None] - knots[:-1]) / knots.diff()
            outputs.append(table[:, 0] + shares.clip(0, 1) @ table.diff(dim=1).T)
            first += len(knots)
        return torch.stack(outputs, dim=2).flatten(1)  # [rows, dimensions * columns]


class TorchNetwork(torch.nn.Module):
    """The usual PyTorch module of one architecture."""

    def __init__(self, spec, architecture, weights):
        super().__init__()
        added = architecture.dimension * len(spec.inputs.embedded_numeric)
        sizes = [spec.inputs.width + added, *architecture.widths]
        self.numbers = PiecewiseLinear(spec.inputs.knots, architecture.dimension)
        self.tables = torch.nn.ModuleList(
            torch.nn.Embedding(e.categories, e.dimension) for e in spec.inputs.category_embeddings
        )
        body = []
        for fan_in, fan_out in pairwise(sizes):
            body += [
                torch.nn.Linear(fan_in, fan_out), torch.nn.LayerNorm(fan_out), torch.nn.ReLU(),
            ]  # fmt: skip
        self.body = torch.nn.Sequential(*body)
        self.head = torch.nn.Linear(sizes[-1], spec.outputs)
        self.loss = spec.loss
        self.named = {f"embedding.{i}": (t.weight, False) for i, t in enumerate(self.tables)}
        if architecture.dimension:
            self.named["numeric_embedding"] = (self.numbers.table, False)
        for layer in range(1, architecture.depth + 1):
            dense, norm = self.body[3 * layer - 3], self.body[3 * layer - 2]
            self.named |= {
                f"layer.{layer}.weight": (dense.weight, True),
                f"layer.{layer}.bias": (dense.bias, False),
                f"layer.{layer}.scale": (norm.weight, False),
                f"layer.{layer}.shift": (norm.bias, False),
            }
        self.named[f"head.{architecture.depth}.weight"] = (self.head.weight, True)
        self.named[f"head.{architecture.depth}.bias"] = (self.head.bias, False)
        assert set(self.named) == set(weights)
        with torch.no_grad():
            for name, (parameter, transposed) in self.named.items():
                source = torch.tensor(weights[name])
                parameter.copy_(source.T if transposed else source)

    def forward(self, numeric, categorical):
        embedded = [table(categorical[:, c]) for c, table in enumerate(self.tables)]
        if "numeric_embedding" in self.named:
            embedded.append(self.numbers(numeric))
        return self.head(self.body(torch.cat([numeric, *embedded], dim=1)))

    def batch_loss(self, examples, rows):
        logits = self(
            torch.tensor(examples.numeric[rows]), torch.tensor(examples.categorical[rows])
        )
        if self.loss == "softmax":
            target = examples.target
            if isinstance(target, TopClasses):
                target = target.to_probabilities(examples.spec.outputs)
            target = torch.tensor(target[rows])
            target = target if target.is_floating_point() else target.long()
            losses = torch.nn.functional.cross_entropy(logits, target, reduction="none")
        elif self.loss == "logistic":
            target = torch.tensor(examples.values[rows])
            losses = torch.nn.BCEWithLogitsLoss(reduction="none")(logits, target)[:, 0]
        else:
            losses = ((logits - torch.tensor(examples.values[rows])) ** 2).mean(dim=1)
        if not len(examples.weight):
            return losses.mean()
        weight = torch.tensor(examples.weight[rows])
        return (losses * weight).sum() / weight.sum()

    def read(self, get=lambda parameter: parameter):
        return {
            name: get(parameter).detach().numpy().T
            if transposed
            else get(parameter).detach().numpy()
            for name, (parameter, transposed) in self.named.items()
        }


def make_torch_optimizer(model, optimizer, rate):
    decays = [p for name, (p, _) in model.named.items() if name.endswith(".weight")]
    others = [p for name, (p, _) in model.named.items() if not name.endswith(".weight")]
    groups = [
        {"params": decays, "weight_decay": optimizer.weight_decay},
        {"params": others, "weight_decay": 0.0},
    ]
    if isinstance(optimizer, SGD):
        return torch.optim.SGD(groups, lr=rate, momentum=optimizer.momentum)
    betas = optimizer.beta1, optimizer.beta2
    return torch.optim.AdamW(groups, lr=rate, betas=betas, eps=optimizer.epsilon)


def assert_all_close(ours, theirs):
    assert set(ours) == set(theirs)
    for name in ours:
        np.testing.assert_allclose(ours[name], theirs[name], **ROUNDING, err_msg=name)


@pytest.mark.parametrize("optimizer", OPTIMIZERS.values(), ids=OPTIMIZERS)
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("dimension", [0, 2])
def test_losses_gradients_and_steps_of_a_standalone_network(
    make_spec, make_examples, dimension, loss, optimizer
):
    spec = make_spec(loss, knots=True)
    architecture = Architecture((12, 5, 16), dimension=dimension)
    net = SuperNet.standalone(
        architecture, spec, optimizer=optimizer, engine=ReferenceEngine, seed=1
    )
    model = TorchNetwork(spec, architecture, net.weights())
    examples = make_examples(spec, 40, weighted=True)
    theirs = make_torch_optimizer(model, optimizer, 0.01)
    # every batch has all categories and values around all knots, since PyTorch's dense optimisers
    # update the others as well
    for rows in (np.arange(40), slice(0, 30), np.random.default_rng(0).permutation(40)):
        theirs.zero_grad()
        value = model.batch_loss(examples, rows)
        value.backward()
        assert net.loss(architecture, examples, rows) == pytest.approx(value.item(), rel=1e-5)
        gradients = net.gradients(architecture, examples, rows)
        assert_all_close(gradients, model.read(lambda parameter: parameter.grad))
        assert net.train_step(architecture, examples, rows, 0.01) == pytest.approx(
            value.item(), rel=1e-5
        )
        theirs.step()
        assert_all_close(net.weights(), model.read())


@pytest.mark.parametrize("soft", ["probabilities", "top classes"])
@pytest.mark.parametrize("engine", [ReferenceEngine, "compiled", "torch"])
def test_losses_and_gradients_of_soft_targets(make_spec, make_examples, engine, soft):
    spec = make_spec("softmax", knots=True)
    architecture = Architecture((12, 5), dimension=2)
    net = SuperNet.standalone(architecture, spec, engine=engine, seed=1)
    model = TorchNetwork(spec, architecture, net.weights())
    examples = make_examples(spec, 40, weighted=True, soft=soft)
    value = model.batch_loss(examples, np.arange(5, 35))
    value.backward()
    assert net.loss(architecture, examples, np.arange(5, 35)) == pytest.approx(
        value.item(), rel=1e-5
    )
    gradients = net.gradients(architecture, examples, np.arange(5, 35))
    assert_all_close(gradients, model.read(lambda parameter: parameter.grad))


@pytest.mark.parametrize("architecture", ["linear", "3", "20-16-9", "d1-8-5", "d3-3", "d3-linear"])
def test_a_child_equals_a_standalone_network_with_its_weights(
    make_spec, make_examples, architecture
):
    spec = make_spec("softmax", knots=True)
    space = SearchSpace(
        [[0, 3, 8, 20], [0, 5, 16], [0, 9]],
        inputs=spec.inputs.width,
        outputs=spec.outputs,
        numeric_embeddings=spec.inputs.numeric_embeddings([0, 1, 3]),
    )
    child = Architecture.parse(architecture)
    net = SuperNet(space, spec, engine=ReferenceEngine, seed=2)
    examples = make_examples(spec, 23)
    model = TorchNetwork(spec, child, net.child_weights(child))
    value = model.batch_loss(examples, slice(None))
    value.backward()
    assert net.loss(child, examples) == pytest.approx(value.item(), rel=1e-5)
    assert_all_close(net.gradients(child, examples), model.read(lambda parameter: parameter.grad))
