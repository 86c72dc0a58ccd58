"""A table larger than memory: encode its files once, in pieces, and search in the store.

The files here are small, but the code is the same. The memory used is about `memory`, for any
number of rows. Files are written to --out, or to a temporary folder.
"""

import argparse
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

from tabnas.runs import RunSettings, plan_run
from tabnas.stores import encode_store

DAYS, ROWS = 3, 4_000
MEMORY = 300 * 10**6  # bytes


def clicks(day: int) -> pd.DataFrame:
    """Return a day of simulated clicks: what was shown where, and whether it was clicked."""
    rng = np.random.default_rng(day)
    page = rng.integers(0, 40, ROWS)
    hour = rng.integers(0, 24, ROWS)
    wanted = np.sin(page) + np.cos(hour / 24 * 2 * np.pi) + rng.normal(0, 0.5, ROWS)
    columns = {"page": [f"page {n}" for n in page], "hour": hour, "seconds": rng.gamma(2, 5, ROWS)}
    return pd.DataFrame(columns | {"clicked": np.where(wanted > 1, "yes", "no")})


parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--out", type=Path, help="folder for the files and the store")
out = parser.parse_args().out

with tempfile.TemporaryDirectory() as temporary:
    folder = out or Path(temporary)
    files = [folder / f"day_{day}.csv" for day in range(DAYS)]
    for day, file in enumerate(files):
        clicks(day).to_csv(file, index=False)

    store = encode_store(files, folder / "store", target="clicked", memory=MEMORY)
    print(f"store: {store.bytes / 1e6:.1f} MB in {len(store.pieces)} pieces, rows {store.rows}")
    for column in store.encoder.columns:
        print(f"  {column.name:8} {column.kind}")

    settings = RunSettings(
        limits={"parameters": 2_000}, candidates=1, reference_models=False, memory=MEMORY
    )
    finished = plan_run(store, settings).execute()
    model, scores = finished.model, finished.scores["network"]
    print(f"\nfound {model.architecture}, {model.costs['parameters']:,} of 2,000 parameters")
    for name, score in scores.items():
        print(f"  {name:14} {score.value:.3f}, from {score.low:.3f} to {score.high:.3f}")
    print(f"a new row: {model.predict_proba(clicks(99)[:1])[0].round(3)} of {model.classes}")
