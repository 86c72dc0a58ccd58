"""A search on your own arrays, step by step: SuperNet and policy, then stand-alone trainings.

`fit` does this and more (docs/step_by_step.md). Here, every part can be observed or replaced.
"""

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from tabnas import Budget, FeasibleSet, SearchSpace, nets
from tabnas.nets import Adam, Cosine, Examples, SuperNet, TrainingSettings, train
from tabnas.policy import Adam as PolicyAdam
from tabnas.search import Search, SearchSettings, StepRecord, select

# Your own data: scaled float32 features, integer labels.
pixels, digit = load_digits(return_X_y=True)
x, x_new, y, y_new = train_test_split((pixels / 8 - 1).astype(np.float32), digit, random_state=0)
spec = nets.NetworkSpec(inputs=nets.Inputs(numeric=x.shape[1]), loss="softmax", outputs=10)
training = Examples(spec, numeric=x, target=y)
validation = Examples(spec, numeric=x_new, target=y_new)

# The space: up to two layers (with width 0 a layer is absent), at most 4,000 parameters.
space = SearchSpace.uniform(layers=2, widths=[0, 8, 16, 24, 32, 48, 64], inputs=64, outputs=10)
feasible = FeasibleSet(space, Budget(parameters=4_000))
settings = SearchSettings(
    epochs=16, batch_size=32, optimizer=Adam(), schedule=Cosine(0.01),
    policy_optimizer=PolicyAdam(learning_rate=0.1), evaluations_per_step=8, policy_every=8,
    baseline="others",
)  # fmt: skip
search = Search(feasible, training, validation, settings)
print(feasible)


def watch(record: StepRecord) -> None:
    """Print the progress four times."""
    if record.step % (search.steps // 4) < settings.policy_every:
        policy = search.controller.policy
        inside = np.exp(policy.conditional.log_probability)
        print(
            f"  step {record.step:3}: training loss {record.loss:.3f}, P(V) {inside:.2f}, "
            f"most likely {policy.most_likely()[0]}"
        )


search.run(watch)

print("\nthe three best candidates, trained stand-alone:")
for candidate in select(search, 3):
    net = SuperNet.standalone(candidate, spec, optimizer=Adam(weight_decay=0.1), seed=0)
    alone = TrainingSettings(epochs=20, batch_size=32, schedule=Cosine(0.01))
    result = train(net, candidate, training, alone, validation)
    used = feasible.budget.costs(space, candidate)["parameters"]
    print(f"  {candidate!s:6} {used:5,} parameters, validation loss {result.best_loss:.3f}")
