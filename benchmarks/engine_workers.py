"""Rows a second of two workers against one; `engine.py` runs this in a process without PyTorch."""

from __future__ import annotations

import json

from engine_shapes import SHAPES, compare, ours, ours_with_workers

from tabnas.nets import SuperNet


def workers():
    """Rows a second of two workers, each with a batch of its own, against one."""
    rows = []
    for shape in SHAPES[:2]:
        examples = shape.examples()
        nets = [
            SuperNet.standalone(shape.child, shape.task, optimizer=shape.optimizer, workers=n)
            for n in (1, 2)
        ]
        times = compare(
            {
                "one": ours(nets[0], shape.child, examples, shape.batch),
                "two": ours_with_workers(nets[1], shape.child, examples, shape.batch),
            },
            "workers",
        )
        gain = 2.0 * times["one"] / times["two"]
        rows.append({"shape": shape.name, "batch": shape.batch, "us": times, "rows gained": gain})
    return rows


if __name__ == "__main__":
    print(json.dumps(workers()))
