"""The loss of models within the same limit on bytes, for several methods.

    python benchmarks/equal_bytes.py --data tables --out results
    python benchmarks/equal_bytes.py --data tables --out results --methods LightGBM RealMLP

Every method gets the same splits of the same tables. What each does, and how it is tuned, is in
`benchmarks/peers`; `pip install "tabnas[peers]"` installs them. Each method has its own file of
results, so several can be measured at the same time, and an interrupted one goes on where it was.
The page and the picture show what has been measured so far.
"""

from __future__ import annotations

import json
from pathlib import Path

from _shared import make_parser
from equal_bytes_page import write_page
from peers import METHODS, PARTS, load_split
from tables import QUICK_FIRST, TABLES

from tabnas.paper import collect_provenance

LIMITS = (4_000, 12_000, 20_000, 40_000, 80_000, 320_000)
PART_LIMIT = 20_000
PART = "part: "
ALL = METHODS | {PART + name: method for name, method in PARTS.items()}


def measure(method: str, table: str, seed: int, options) -> None:
    """Add a table and a seed to the results of a method: the limits that are not there yet."""
    path = file_of(options.out, method)
    content = json.loads(path.read_text()) if path.exists() else {"done": [], "rows": []}
    limits = [limit or None for limit in options.limits]
    if method.startswith(PART):
        limits = [PART_LIMIT]
    left = [limit for limit in limits if [table, seed, limit] not in content["done"]]
    if not left:
        return
    split = load_split(options.data, table, TABLES[table][0], seed)
    for fitted in ALL[method](split, tuple(left), seed):
        assert fitted.limit is None or fitted.bytes <= fitted.limit, fitted
        row = {"table": table, "seed": seed, "metric": split.metric} | vars(fitted)
        print(method, json.dumps(row), flush=True)
        content["rows"].append(row)
        content["done"].append([table, seed, fitted.limit])
        left.remove(fitted.limit)
        write(path, content)
    content["done"] += [[table, seed, limit] for limit in left]  # the method cannot keep these
    write(path, content)


def write(path: Path, content: dict) -> None:
    origin = collect_provenance("python benchmarks/equal_bytes.py --data ... --out results")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(origin | content, indent=1) + "\n")


def file_of(out: Path, method: str) -> Path:
    """Return the file of a method's results."""
    return out / "equal_bytes" / (method.lower().replace(": ", "_").replace(" ", "_") + ".json")


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--methods", nargs="*", choices=list(ALL), default=list(ALL))
    parser.add_argument("--tables", nargs="*", choices=QUICK_FIRST, default=list(QUICK_FIRST))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--limits", nargs="*", type=int, default=[*LIMITS, 0], help="0: no limit")
    options = parser.parse_args()
    for seed in range(options.seeds):
        for table in options.tables:
            for method in options.methods:
                measure(method, table, seed, options)
    write_page(options.out)


if __name__ == "__main__":
    main()
