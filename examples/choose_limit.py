"""Choose a limit with scikit-learn: grid search with the one-standard-error rule.

The smallest limit is chosen whose mean score is within one standard error of the best mean score.
For a curve with the models of all limits, see tradeoff.py.
"""

import numpy as np
from sklearn.datasets import make_friedman1
from sklearn.model_selection import GridSearchCV, KFold

from tabnas import TabNASRegressor

FOLDS = 3


def smallest_as_good(results: dict) -> int:
    """Return the index of the smallest limit within a standard error of the best score."""
    mean = results["mean_test_score"]
    error = results["std_test_score"] / np.sqrt(FOLDS)
    good = np.nonzero(mean >= (mean - error)[mean.argmax()])[0]
    return int(min(good, key=lambda place: results["param_max_parameters"][place]))


X, y = make_friedman1(600, noise=1.0, random_state=0)  # no model can have an RMSE below 1
searched = GridSearchCV(
    TabNASRegressor(candidates=1, random_state=0),  # one, to be fast; None is the default
    {"max_parameters": [60, 250, 1_000]},
    cv=KFold(FOLDS, shuffle=True, random_state=0),
    scoring="neg_root_mean_squared_error",
    refit=smallest_as_good,
).fit(X, y)

results = searched.cv_results_
print(f"RMSE in {FOLDS} folds:")
for place, limit in enumerate(results["param_max_parameters"]):
    mean, deviation = -results["mean_test_score"][place], results["std_test_score"][place]
    chosen = "  <- taken" if place == searched.best_index_ else ""
    print(f"  at most {limit:5,} parameters  {mean:.2f} ± {deviation:.2f}{chosen}")
best = searched.best_estimator_
print(f"\nthe model, of all rows: {best.architecture_}, {best.costs_['parameters']} parameters")
