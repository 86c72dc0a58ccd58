"""The loss of models within the same limit on bytes, for several methods.

    python benchmarks/equal_bytes.py --data tables --out results
    python benchmarks/equal_bytes.py --data tables --out results --methods LightGBM RealMLP

Every method gets the same splits of the same tables. What each does, and how it is tuned, is in
`benchmarks/peers`; `pip install "tabnas[peers]"` installs them. Several processes can measure
methods and tables at the same time, with OMP_NUM_THREADS=1 each, and an interrupted one goes on
where it was. `--fresh` takes the tables of `fresh_tables.py`,
which no default was chosen by, in place of the usual ones. `--times` measures how long each method
takes on all cores for the first of the seeds, with nothing else at work. The page and the picture
show what has been measured so far.
"""

from __future__ import annotations

import json
from fcntl import LOCK_EX, flock
from pathlib import Path
from time import perf_counter

from _shared import make_parser
from equal_bytes_page import write_page
from equal_bytes_summary import PART_LIMIT, SEEDS, name_file
from fresh_tables import FRESH_TABLES
from peers import LIMITS, METHODS, PARTS, WHOLE_RUNS, Fitted, Split, load_split
from tables import QUICK_FIRST, TABLES

from tabnas.paper import collect_provenance

COMMAND = "python benchmarks/equal_bytes.py --data ... --out results"
TIMES = "time"
PART = "part: "
TARGETS = {name: target for name, (target, _) in TABLES.items()} | FRESH_TABLES
ALL = METHODS | {PART + name: method for name, method in PARTS.items()}


def measure(method: str, table: str, seed: int, options) -> None:
    """Add a table and a seed to the results of a method: the limits that are not there yet."""
    path = file_of(options.out, method)
    done = read_done(path)
    limits = [limit or None for limit in options.limits]
    if method.startswith(PART):
        limits = [PART_LIMIT]
    left = [limit for limit in limits if [table, seed, limit] not in done]
    if not left:
        return
    split = load_split(options.data, table, TARGETS[table], seed)
    for fitted in ALL[method](split, tuple(left), seed):
        add_loss(method, table, split, fitted, options)
        left.remove(fitted.limit)
    add(path, done=[[table, seed, limit] for limit in left])  # the method cannot keep these


def add_loss(method: str, table: str, split: Split, fitted: Fitted, options) -> None:
    """Add a model to the results of a method."""
    assert fitted.limit is None or fitted.bytes <= fitted.limit, fitted
    row = {"table": table, "seed": split.seed, "metric": split.metric} | vars(fitted)
    print(method, json.dumps(row), flush=True)
    add(file_of(options.out, method), done=[[table, split.seed, fitted.limit]], rows=[row])


def measure_time(method: str, table: str, options) -> None:
    """Add the seconds that a method takes for a table, from the split to the model.

    The model is added, too, unless another one is there.
    """
    path = file_of(options.out, TIMES)
    done = read_done(path)
    if [table, method] in done:
        return
    load_split.cache_clear()  # with all that methods keep with a split
    seed = options.seeds[0]
    split = load_split(options.data, table, TARGETS[table], seed)
    assert split.data  # encoded
    began = perf_counter()
    fitted = next((ALL | WHOLE_RUNS)[method](split, (PART_LIMIT,), seed), None)
    seconds = perf_counter() - began
    rows = [] if fitted is None else [{"table": table, "method": method, "seconds": seconds}]
    print(rows, flush=True)
    add(path, done=[[table, method]], rows=rows)
    if fitted and [table, seed, PART_LIMIT] not in read_done(file_of(options.out, method)):
        add_loss(method, table, split, fitted, options)


def read_done(path: Path) -> list[list]:
    """Return what a file of results has: table, seed and limit, or table and method."""
    return json.loads(path.read_text())["done"] if path.exists() else []


def add(path: Path, **lists: list) -> None:
    """Add to lists of a file, to which other processes may add at the same time."""
    origin = collect_provenance(COMMAND)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.with_suffix(".lock").open("w") as lock:
        flock(lock, LOCK_EX)
        content = json.loads(path.read_text()) if path.exists() else {"done": [], "rows": []}
        measured = {key_of(row) for row in lists.get("rows", ())}
        content["rows"] = [row for row in content["rows"] if key_of(row) not in measured]
        for name, values in lists.items():
            content[name] += values
        written = path.with_suffix(".new")
        written.write_text(json.dumps(content | origin, indent=1) + "\n")
        written.replace(path)


def key_of(row: dict) -> tuple:
    """Return what a row is of: rows that are measured again replace the former ones."""
    return row.get("table"), row.get("method"), row.get("seed"), row.get("limit")


def file_of(out: Path, method: str) -> Path:
    """Return the file of a method's results."""
    return out / "equal_bytes" / f"{name_file(method)}.json"


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--methods", nargs="*", choices=list(ALL), default=list(ALL))
    parser.add_argument("--tables", nargs="*", choices=list(TARGETS), default=list(QUICK_FIRST))
    parser.add_argument("--fresh", action="store_true", help="Take the tables of fresh_tables.py")
    parser.add_argument("--seeds", nargs="*", type=int, default=list(SEEDS))
    parser.add_argument("--limits", nargs="*", type=int, default=[*LIMITS, 0], help="0: no limit")
    parser.add_argument("--times", action="store_true", help="Measure seconds, not losses")
    options = parser.parse_args()
    if options.fresh:
        options.tables = list(FRESH_TABLES)
    if options.times:
        for table in options.tables:
            for method in options.methods:
                measure_time(method, table, options)
        options.seeds = []
    for seed in options.seeds:
        for table in options.tables:
            for method in options.methods:
                measure(method, table, seed, options)
    write_page(options.out)


if __name__ == "__main__":
    main()
