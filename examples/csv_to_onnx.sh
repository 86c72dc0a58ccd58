#!/bin/sh
# From a CSV file to an ONNX file, on the command line alone.
#
#     sh examples/csv_to_onnx.sh FOLDER
#
# writes everything into FOLDER, which must be new or empty; without one, into a temporary folder.
set -eu
folder="${1:-$(mktemp -d)}"
mkdir -p "$folder"
cd "$folder"

# A table to begin with: five flowers out of six to learn from, the sixth to be judged on.
python - <<'PYTHON'
from sklearn.datasets import load_iris

iris = load_iris(as_frame=True)
table = iris.data.assign(species=iris.target_names[iris.target])
table.drop(table.index[::6]).to_csv("flowers.csv", index=False)
table.iloc[::6].to_csv("new.csv", index=False)
PYTHON

# The best network of at most 200 parameters; runs/flowers/report.html is the page to read.
python -m tabnas search flowers.csv --target species --max-parameters 200 --candidates 1 \
  --out runs/flowers --quiet

# What it says of flowers that nothing has seen, and how good that is.
python -m tabnas predict runs/flowers new.csv --out predictions.csv
head -n 4 predictions.csv
python -m tabnas evaluate runs/flowers new.csv

# One file for other runtimes, checked against the model before it is written.
python -m tabnas export runs/flowers flowers.onnx
