"""How fast a training step is: the compiled engine against PyTorch, scikit-learn and bare BLAS.

    python benchmarks/engine.py --out results

Writes `engine.json` and `engine.md`. All contestants of a row take turns in one process, and the
figures are medians over many turns, so the ratios mean more than the microseconds. Contests of
two threads wait a little for other processes to leave the cores alone. Needs the
`torch` and `dev` extras; `--no-compile` leaves out torch.compile, which takes minutes.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import warnings
from importlib.metadata import version
from pathlib import Path

import numpy as np
import torch
from _shared import write_results
from engine_floor import make_floor
from engine_numeric import numeric_embeddings
from engine_report import markdown
from engine_shapes import BATCHES, KINDS, RATE, SHAPES, compare, looped, ours
from engine_torch import PlainNetwork, PlainSuperNet, torch_optimizer, torch_step
from sklearn.neural_network import MLPClassifier
from threadpoolctl import threadpool_limits

from tabnas.nets import Adam, SuperNet
from tabnas.paper import collect_provenance
from tabnas.space import PAPER_WIDTHS, Architecture, DenseParameters
from tabnas.threads import limit_threads

# -- other contestants ----------------------------------------------------------------------------


def plain_torch(shape, examples, *, compiled=False, fused=False):
    model = PlainNetwork(shape.spec, shape.child.widths)
    optimizer = torch_optimizer(shape.optimizer, model, RATE, fused=fused)
    return looped(torch_step(model, optimizer, examples, shape.batch, BATCHES, compiled=compiled))


def torch_supernet(shape, space, widths, examples):
    model = PlainSuperNet(shape.spec, [max(layer) for layer in space.widths], widths)
    optimizer = torch_optimizer(shape.optimizer, model, RATE)
    return looped(torch_step(model, optimizer, examples, shape.batch, BATCHES))


def scikit_learn(shape, examples):
    """The same dense layers without LayerNorm, which scikit-learn does not have."""
    momentum = getattr(shape.optimizer, "momentum", 0.0)
    model = MLPClassifier(
        shape.child.widths, batch_size=shape.batch, learning_rate_init=RATE, alpha=0.0,
        solver="adam" if isinstance(shape.optimizer, Adam) else "sgd",
        momentum=momentum, nesterovs_momentum=False,
    )  # fmt: skip
    target = examples.target.reshape(-1).astype(int)
    classes = np.arange(max(shape.outputs, 2))

    def step(i):
        part = slice(i * shape.batch, (i + 1) * shape.batch)
        model.partial_fit(examples.numeric[part], target[part], classes=classes)

    return looped(step)


# -- contests -------------------------------------------------------------------------------------


def reference_architectures(threads, with_compile):
    rows = []
    for shape in SHAPES:
        examples = shape.examples()
        net = SuperNet.standalone(shape.child, shape.spec, optimizer=shape.optimizer)
        contestants = {
            "ours": ours(net, shape.child, examples, shape.batch),
            "ours, rows gathered": ours(net, shape.child, examples, shape.batch, shuffled=True),
            "pytorch eager": plain_torch(shape, examples),
            "pytorch eager, fused optimiser": plain_torch(shape, examples, fused=True),
            "floor": make_floor(
                shape.sizes, shape.batch, inputs_too=bool(shape.inputs.category_embeddings)
            ),
        }
        if not shape.inputs.category_embeddings:
            contestants["scikit-learn, no LayerNorm"] = scikit_learn(shape, examples)
        if with_compile:
            contestants["torch.compile"] = plain_torch(shape, examples, compiled=True)
        report = {"shape": shape.name, "sizes": shape.sizes, "batch": shape.batch}
        rows.append({**report, "threads": threads, "us": compare(contestants, KINDS[threads])})
        print(rows[-1], flush=True)
    return rows


def supernets(threads):
    rows = []
    for shape in SHAPES:
        examples, space = shape.examples(), shape.space()
        largest = Architecture((max(PAPER_WIDTHS),) * shape.child.depth)
        net = SuperNet(space, shape.spec, optimizer=shape.optimizer)
        for child in (shape.child, largest):
            contestants = {
                "ours": ours(net, child, examples, shape.batch),
                "pytorch eager": torch_supernet(shape, space, child.widths, examples),
            }
            report = {"shape": shape.name, "child": str(child), "batch": shape.batch}
            rows.append({**report, "threads": threads, "us": compare(contestants, KINDS[threads])})
            print(rows[-1], flush=True)
    return rows


def children():
    """Steps of children of one SuperNet, against the same child alone."""
    rows = []
    for shape in SHAPES[:2]:
        examples, space = shape.examples(), shape.space()
        net = SuperNet(space, shape.spec, optimizer=shape.optimizer)
        for width in (8, 16, 32, 64, 128, 256, 512):
            child = Architecture((width,) * shape.child.depth)
            alone = SuperNet.standalone(child, shape.spec, optimizer=shape.optimizer)
            with limit_threads(1):
                times = compare(
                    {
                        "in the SuperNet": ours(net, child, examples, shape.batch),
                        "alone": ours(alone, child, examples, shape.batch),
                    }
                )
            parameters = int(DenseParameters()(space, child))
            report = {"shape": shape.name, "child": str(child), "parameters": parameters}
            rows.append({**report, "us": times})
            print(rows[-1], flush=True)
    return rows


def measure_threads():
    """The results of `engine_workers.py`."""
    script = Path(__file__).with_name("engine_workers.py")
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True, help="folder for the results")
    parser.add_argument("--no-compile", action="store_true", help="leave out torch.compile")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")  # scikit-learn on too few iterations
    origin = collect_provenance("python benchmarks/engine.py --out results")
    origin["versions"] |= {name: version(name) for name in ("scipy", "torch", "scikit-learn")}
    results = {**origin, "reference architectures": [], "supernets": []}
    for threads in (1, 2):
        torch.set_num_threads(threads)
        with threadpool_limits(threads, user_api="blas"), limit_threads(threads):
            results["reference architectures"] += reference_architectures(
                threads, not arguments.no_compile
            )
            results["supernets"] += supernets(threads)
    results["numeric embeddings"] = numeric_embeddings()
    results["children"] = children()
    results |= measure_threads()
    write_results(arguments.out, "engine", results, markdown(results), indent=2)


if __name__ == "__main__":
    main()
