"""A run that is stopped and resumed ends with the same bits.

Here the script sends itself the signal of Ctrl-C; SIGTERM, a crash or a lost machine have the same
effect. The runs are written to --out, or to a temporary folder.
"""

import argparse
import signal
import tempfile
from pathlib import Path

import numpy as np

from tabnas.data import load_dataset
from tabnas.runs import LabelledTable, Progress, RunSettings, RunStopped, run_in_folder

wine = load_dataset("wine")
data = LabelledTable.from_table(wine.table, wine.target)
settings = RunSettings(limits={"parameters": 500}, candidates=2, reference_models=False, seed=0)


def stop(progress: Progress) -> None:
    """Press Ctrl-C in the middle of the search."""
    if progress.phase == "search" and progress.done > 0.5:
        signal.raise_signal(signal.SIGINT)


parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--out", type=Path, help="folder for the two runs")
out = parser.parse_args().out

with tempfile.TemporaryDirectory() as temporary:
    folder = out or Path(temporary)

    try:
        run_in_folder(folder / "stopped", data, settings, on_progress=stop)
    except RunStopped:  # a KeyboardInterrupt; a checkpoint was written
        left = sorted(file.name for file in (folder / "stopped").glob("[!.]*"))
        print(f"stopped; the folder holds {', '.join(left)}")

    # The same call resumes the run, and so do `tabnas resume FOLDER` and fit(..., run_dir=FOLDER).
    resumed = run_in_folder(folder / "stopped", data, settings)
    straight = run_in_folder(folder / "straight", data, settings)

    print(f"resumed:        {resumed.model.architecture}, loss {resumed.chosen.loss:.6f}")
    print(f"never stopped:  {straight.model.architecture}, loss {straight.chosen.loss:.6f}")
    same = all(
        np.array_equal(resumed.model.weights[name], weight)
        for name, weight in straight.model.weights.items()
    )
    print(f"the same weights, bit for bit: {same}")
