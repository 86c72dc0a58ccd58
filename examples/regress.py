"""Regression: the candidates, the scores of the best one, and how to save it.

The model is saved to --out, or to a temporary folder, as safetensors and JSON.
"""

import argparse
import tempfile
from pathlib import Path

from sklearn.datasets import make_friedman1
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import LinearRegression
from sklearn.metrics import root_mean_squared_error
from sklearn.model_selection import train_test_split

from tabnas import TabNASRegressor

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--out", type=Path, help="folder to save the model in")
out = parser.parse_args().out

X, y = make_friedman1(600, noise=1.0, random_state=0)  # no model can have an RMSE below 1
X, X_new, y, y_new = train_test_split(X, y, random_state=0)
model = TabNASRegressor(max_parameters=300, random_state=0).fit(X, y)

print(f"candidates, compared by {model.result_.chosen_by}:")
for tried in model.candidates_:
    name, parameters = str(tried.architecture), tried.costs["parameters"]
    print(f"  {name:10} {parameters:4} parameters  RMSE {tried.score:.2f}")

print("\non new rows:")
others = {"least squares": LinearRegression(), "the mean": DummyRegressor()}
answers = {f"tabnas, {model.architecture_}": model.predict(X_new)}
answers |= {name: other.fit(X, y).predict(X_new) for name, other in others.items()}
for name, predicted in answers.items():
    print(f"  {name:18} RMSE {root_mean_squared_error(y_new, predicted):.2f}")

with tempfile.TemporaryDirectory() as temporary:
    folder = out or Path(temporary) / "model"
    model.save(folder)
    again = TabNASRegressor.load(folder)
    print(f"\nsaved as {', '.join(sorted(file.name for file in folder.iterdir()))}")
    print(f"loaded, it answers the same: {(again.predict(X_new) == model.predict(X_new)).all()}")
