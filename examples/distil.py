"""20 kB from your LightGBM model: a network that learns from its answers.

`teacher=` takes any classifier or regressor with scikit-learn's interface. With --out, the
out-of-fold answers are written as a column, for the command line.
"""

import argparse
import pickle
from pathlib import Path

import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import log_loss
from sklearn.model_selection import cross_val_predict, train_test_split

from tabnas import TabNASClassifier
from tabnas.data import load_dataset

try:
    from lightgbm import LGBMClassifier

    big = LGBMClassifier(n_estimators=100, random_state=0, verbose=-1)
except ImportError:
    big = HistGradientBoostingClassifier(max_iter=100, random_state=0)

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--out", type=Path, help="CSV file to write the rows and the answers to")
out = parser.parse_args().out

# Some rows of a census; texts as categories, which both models read.
census = load_dataset("adult").table.arrow.slice(0, 8_000).to_pandas()
texts = census.columns[[not pd.api.types.is_numeric_dtype(kind) for kind in census.dtypes]]
X, y = census.astype(dict.fromkeys(texts, "category")), census["income"].astype(str)
X, X_new, y, y_new = train_test_split(X.drop(columns="income"), y, random_state=0)

big.fit(X, y)
small = TabNASClassifier(  # clones the teacher, and fits it out of fold
    max_bytes=20_000, teacher=big, candidates=1, random_state=0
).fit(X, y)

sizes = {big: len(pickle.dumps(big)), small: small.costs_["bytes"]}
for model, size in sizes.items():
    loss = log_loss(y_new, model.predict_proba(X_new))
    print(f"{type(model).__name__:30} {size:9,} bytes  log loss {loss:.4f} on new rows")
print(f"limit: {small.costs_['bytes']:,} of 20,000 bytes")

teacher = small.result_.teacher
print(f"share of the answers in what the network learned from: {teacher.share:.0%}")
print(f"on validation rows {teacher.score:.4f}, by labels alone {teacher.score_without:.4f}")

# The same on the command line: a column with the probability of the second class.
if out is not None:
    answers = cross_val_predict(big, X, y, cv=5, method="predict_proba")
    X.assign(income=y, answer=answers[:, 1]).to_csv(out, index=False)
    print(f"\ntabnas search {out} --target income --teacher-column answer --max-bytes 20kB")
