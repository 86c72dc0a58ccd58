"""Exact properties of a space and a limit, without any training.

The space is that of the paper for Criteo: three layers, 20 widths each, at most 41,153 parameters.
"""

import numpy as np

from tabnas import Budget, FeasibleSet, SearchSpace

space = SearchSpace.uniform(layers=3, inputs=1027, outputs=1)
feasible = FeasibleSet(space, Budget(dense_parameters=41_153))

print(feasible)
print(f"cheapest {feasible.cheapest()}, most expensive {feasible.most_expensive()}")
print(f"is 64-64-64 inside? {'64-64-64' in feasible}")
unused = feasible.unused_widths()
print(f"{len(unused[0])} widths of the first layer can never be feasible, from {unused[0][0]} on")

# P(V): the probability that a policy, here the uniform one, samples a feasible network. The paper
# estimates it by sampling.
exact = feasible.probability()
sampled = np.exp(feasible.estimate(samples=2_048, rng=0).log_probability)
print(f"\nP(V), uniform policy     exact {exact:.6f}, by 2,048 samples {sampled:.6f}")

# A policy is an array of logits, one row per layer. This one prefers 48 units in the first layer,
# which is over the limit.
logits = np.zeros((3, space.max_choices))
logits[0, space.widths[0].index(48)] = 5.0
print(f"P(V), if it prefers 48   exact {feasible.probability(logits):.6f}")

# Samples of the policy, conditioned on feasibility, without rejection.
drawn = feasible.sample(5, logits, rng=0)
print(f"\nfive samples given V     {', '.join(map(str, drawn))}")
print(f"most likely given V      {', '.join(map(str, feasible.most_likely(3, logits)))}")

print("\nhow often each width of the first layer occurs among the feasible networks:")
for width, share in zip(space.widths[0], feasible.marginals()[0], strict=True):
    if share > 0:
        print(f"  {width:4} {share:6.3f} {'#' * round(60 * share)}")
