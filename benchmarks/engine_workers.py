"""Several threads: two workers, and two trainings. `engine.py` runs this in a process of its own.

PyTorch's threads keep a core busy for a while after every call, so it must not be imported.
"""

from __future__ import annotations

import json
import statistics
import time

from engine_shapes import SHAPES, SMALL, compare, ours, ours_with_workers, wait_for_quiet

from tabnas.nets import Cosine, SuperNet, Trainer, TrainingSettings
from tabnas.threads import limit_threads, stream_in_threads

TURNS = 9
TRAINING_SECONDS = 0.5


def workers():
    """Rows a second of two workers, each with a batch of its own, against one on one thread."""
    rows = []
    for shape in SHAPES[:2]:
        examples = shape.examples()
        nets = [
            SuperNet.standalone(shape.child, shape.spec, optimizer=shape.optimizer, workers=n)
            for n in (1, 2)
        ]
        one = ours(nets[0], shape.child, examples, shape.batch)

        def on_one_thread(steps, one=one):
            with limit_threads(1):
                one(steps)

        times = compare(
            {
                "one": on_one_thread,
                "two": ours_with_workers(nets[1], shape.child, examples, shape.batch),
            },
            "workers",
        )
        gain = 2.0 * times["one"] / times["two"]
        rows.append({"shape": shape.name, "batch": shape.batch, "us": times, "rows gained": gain})
    return rows


def trainings():
    """The time of two trainings one after the other to that of both side by side."""
    rows = []
    for shape in (SMALL, *SHAPES[:2]):
        examples = shape.examples(batches=64)

        def make_trainer(epochs, shape=shape, examples=examples):
            net = SuperNet.standalone(shape.child, shape.spec, optimizer=shape.optimizer)
            settings = TrainingSettings(
                epochs=epochs, batch_size=shape.batch, schedule=Cosine(1e-4)
            )
            return Trainer(net, shape.child, examples, settings)

        def seconds(epochs, threads, make_trainer=make_trainer):
            trainers = [make_trainer(epochs) for _ in range(2)]
            with limit_threads(threads):
                begin = time.perf_counter()
                list(stream_in_threads(Trainer.run, trainers))
                return time.perf_counter() - begin

        seconds(1, 2)
        epochs = max(1, round(TRAINING_SECONDS / seconds(1, 1)))
        gains, steps = [], []
        wait_for_quiet()
        for _ in range(TURNS):
            in_turn, together = seconds(epochs, 1), seconds(epochs, 2)
            gains.append(in_turn / together)
            steps.append(in_turn / (2 * make_trainer(epochs).steps) * 1e6)
        rows.append(
            {
                "shape": shape.name,
                "child": str(shape.child),
                "batch": shape.batch,
                "us": statistics.median(steps),
                "gained": statistics.median(gains),
            }
        )
    return rows


if __name__ == "__main__":
    print(json.dumps({"workers": workers(), "trainings": trainings()}))
