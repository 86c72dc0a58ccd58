"""The networks as one would write them in PyTorch. Used by `benchmarks/engine.py`."""

from __future__ import annotations

from itertools import pairwise

import torch
from torch import nn
from torch.nn import functional

from tabnas.nets import Adam


class PiecewiseLinear(nn.Module):
    """Numeric embeddings: for all columns at once a clipped share of the way from knot to knot.

    All columns have equally many knots. This is how Gorishniy et al. (2022) write it.
    """

    def __init__(self, knots, dimension):
        super().__init__()
        knots = torch.tensor(knots)
        self.register_buffer("left", knots[:, :-1])
        self.register_buffer("inverse_gaps", 1.0 / knots.diff(dim=1))
        self.first = nn.Parameter(torch.randn(dimension, len(knots)))
        self.differences = nn.Parameter(
            0.1 * torch.randn(len(knots), knots.shape[1] - 1, dimension)
        )

    def forward(self, numeric):
        shares = ((numeric[:, :, None] - self.left) * self.inverse_gaps).clamp(0.0, 1.0)
        added = torch.einsum("rck,ckd->rdc", shares, self.differences)
        return (self.first + added).flatten(1)


class PlainNetwork(nn.Module):
    """Embeddings, then Linear, LayerNorm and ReLU for every hidden layer, then Linear."""

    def __init__(self, spec, widths, dimension=0):
        super().__init__()
        self.numbers = PiecewiseLinear(spec.inputs.knots, dimension) if dimension else None
        self.tables = nn.ModuleList(
            nn.Embedding(e.categories, e.dimension) for e in spec.inputs.category_embeddings
        )
        layers = []
        inputs = spec.inputs.width + dimension * len(spec.inputs.embedded_numeric)
        for fan_in, fan_out in pairwise([inputs, *widths]):
            layers += [nn.Linear(fan_in, fan_out), nn.LayerNorm(fan_out), nn.ReLU()]
        self.body = nn.Sequential(*layers, nn.Linear(widths[-1], spec.outputs))

    def forward(self, numeric, categorical):
        embedded = [table(categorical[:, c]) for c, table in enumerate(self.tables)]
        if self.numbers is not None:
            embedded.append(self.numbers(numeric))
        if not embedded:
            return self.body(numeric)
        return self.body(torch.cat([numeric, *embedded], dim=1))


class PlainSuperNet(nn.Module):
    """The same with shared weights: every layer is sliced to the child's widths."""

    def __init__(self, spec, largest, widths):
        super().__init__()
        self.tables = nn.ModuleList(
            nn.Embedding(e.categories, e.dimension) for e in spec.inputs.category_embeddings
        )
        self.dense = nn.ModuleList(
            nn.Linear(a, b) for a, b in pairwise([spec.inputs.width, *largest])
        )
        self.norms = nn.ModuleList(nn.LayerNorm(width) for width in largest)
        self.head = nn.Linear(largest[-1], spec.outputs)
        self.widths = widths

    def forward(self, numeric, categorical):
        embedded = [table(categorical[:, c]) for c, table in enumerate(self.tables)]
        x = torch.cat([numeric, *embedded], dim=1)
        for dense, norm, width in zip(self.dense, self.norms, self.widths, strict=True):
            x = functional.linear(x, dense.weight[:width, : x.shape[1]], dense.bias[:width])
            x = functional.layer_norm(x, (width,), norm.weight[:width], norm.bias[:width])
            x = functional.relu(x)
        return functional.linear(x, self.head.weight[:, : x.shape[1]], self.head.bias)


def torch_optimizer(optimizer, model, rate, *, fused=False):
    """The optimiser with PyTorch's own choice of implementation, or its fused one."""
    choice = {"fused": True} if fused else {}
    if isinstance(optimizer, Adam):
        return torch.optim.Adam(model.parameters(), lr=rate, eps=optimizer.epsilon, **choice)
    return torch.optim.SGD(model.parameters(), lr=rate, momentum=optimizer.momentum, **choice)


def torch_step(model, optimizer, examples, batch, batches, *, compiled=False):
    """A function of the batch's number that takes one step."""
    if examples.spec.outputs == 1:
        target, loss_of = torch.tensor(examples.values), functional.binary_cross_entropy_with_logits
    else:
        target, loss_of = torch.tensor(examples.target).long(), functional.cross_entropy
    numeric = torch.tensor(examples.numeric)
    categorical = torch.tensor(examples.categorical).long()
    parts = [slice(i * batch, (i + 1) * batch) for i in range(batches)]

    def loss(n, c, t):
        return loss_of(model(n, c), t)

    if compiled:
        loss = torch.compile(loss)

    def step(i):
        part = parts[i]
        optimizer.zero_grad()
        value = loss(numeric[part], categorical[part], target[part])
        value.backward()
        optimizer.step()
        return value.item()

    return step
