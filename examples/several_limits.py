"""Several limits at once, such as those of a device: 3 kB of weights, 1,000 operations per row.

Shows how much of each limit is used, which one binds, and the error for an infeasible limit.
"""

from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from tabnas import InfeasibleError, TabNASClassifier

X, X_new, y, y_new = train_test_split(*load_breast_cancer(return_X_y=True), random_state=0)
limits = {"max_bytes": 3_000, "max_flops": 1_000, "max_parameters": 1_000}
model = TabNASClassifier(**limits, candidates=1, random_state=0).fit(X, y)

# A limit binds if it excludes a network with one layer one step wider than the chosen one.
binding = model.result_.binding_limits
print(f"network {model.architecture_}, accuracy {model.score(X_new, y_new):.3f} on new rows\n")
for name, cost in model.result_.limited_costs.items():
    binds = " binds" if name in binding else ""
    print(f"{cost.value:7,} of {cost.limit:5,} {name:10}{binds}")

print("\nat most 30 bytes:")
try:
    TabNASClassifier(max_bytes=30).fit(X, y)
except InfeasibleError as refused:  # before any training
    print(f"  {refused}")
