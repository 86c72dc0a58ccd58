"""A classifier within a limit, from a data frame with text, missing values and unscaled numbers."""

import numpy as np
import pandas as pd
from sklearn.datasets import load_wine
from sklearn.model_selection import train_test_split

from tabnas import TabNASClassifier

# Wines, made more realistic: the colour as text, and a tenth of the values missing.
wine = load_wine(as_frame=True)
table = wine.data
table["colour"] = pd.cut(table.pop("color_intensity"), 3, labels=["pale", "medium", "deep"])
table = table.mask(np.random.default_rng(0).random(table.shape) < 0.1)
cultivar = wine.target_names[wine.target]
X, X_new, y, y_new = train_test_split(table, cultivar, stratify=cultivar, random_state=0)

model = TabNASClassifier(max_parameters=500, random_state=0).fit(X, y)

print(f"network     {model.architecture_}, {model.costs_['parameters']} of 500 parameters")
print(f"accuracy    {model.score(X_new, y_new):.3f} on {len(X_new)} new rows")

print("\nencoding of the columns:")
for name in ("alcohol", "colour"):
    print(f"  {name:8} {model.result_.columns[name]}")

print("\nthree predictions:")
for label, shares in zip(model.predict(X_new[:3]), model.predict_proba(X_new[:3]), strict=True):
    print(f"  {label}  ", *(f"{c} {p:.2f}" for c, p in zip(model.classes_, shares, strict=True)))
