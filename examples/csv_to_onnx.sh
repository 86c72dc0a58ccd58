#!/bin/sh
# From a CSV file to an ONNX file, on the command line.
#
#     sh examples/csv_to_onnx.sh FOLDER
#
# writes everything into FOLDER, which must be new or empty; without one, into a temporary folder.
set -eu
folder="${1:-$(mktemp -d)}"
mkdir -p "$folder"
cd "$folder"

# The tables: five of six flowers for the search, every sixth for the evaluation.
python - <<'PYTHON'
from sklearn.datasets import load_iris

iris = load_iris(as_frame=True)
table = iris.data.assign(species=iris.target_names[iris.target])
table.drop(table.index[::6]).to_csv("flowers.csv", index=False)
table.iloc[::6].to_csv("new.csv", index=False)
PYTHON

# Find the best network with at most 200 parameters; read runs/flowers/report.html.
python -m tabnas search flowers.csv --target species --max-parameters 200 --candidates 1 \
  --out runs/flowers --quiet

# Predict and evaluate new flowers.
python -m tabnas predict runs/flowers new.csv --out predictions.csv
head -n 4 predictions.csv
python -m tabnas evaluate runs/flowers new.csv

# Export one file for other runtimes; it is compared with the model before it is written.
python -m tabnas export runs/flowers flowers.onnx
