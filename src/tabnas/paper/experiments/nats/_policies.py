"""The paper's two tables of NATS-Bench: where policies end, by reward and RL learning rate."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tabnas.feasible import log_likelihood
from tabnas.paper.experiments.nats._space import NatsSpace
from tabnas.policy import REWARDS, Adam, Controller
from tabnas.streams import stream
from tabnas.types import FloatArray, IntArray

CHUNK_SIZE = 50
"""Policies whose likelihood of all of V is in memory at once."""


def run_policies(
    nats: NatsSpace, job: Mapping[str, Any], definition: Mapping[str, Any]
) -> dict[str, IntArray]:
    """Return where all repetitions of one setting end, as choices, [repetitions, layers].

    The keys are selection rules. As in the paper: for a penalty the most likely of all
    architectures; for rejection the most expensive feasible one of many samples (Algorithm 3), and
    beside it the most likely one of V.
    """
    repetitions, rate = definition["repetitions"], job["rl_learning_rate"]
    controller = Controller(
        REWARDS[job["reward"]](nats.feasible, **job["options"]),
        Adam(learning_rate=rate, epsilon=definition["epsilon"]),
        rng=stream(definition["seed"], f"nats {job['title']} {rate}"),
        batch=(repetitions,),
    )
    for _ in range(definition["steps"]):
        choices = controller.suggest()
        controller.update(choices, nats.quality(choices))
    policy = controller.policy
    if not controller.reward.rejects_infeasible:
        return {"most likely of all": np.asarray(policy.log_p.argmax(axis=-1))}
    most_likely = _find_most_likely(nats, policy.log_p)
    samples = policy.sample(definition["draws"], stream(definition["seed"], "nats Algorithm 3"))
    costs = np.where(nats.feasible.contains(samples), nats.mflops(samples), -np.inf)
    most_expensive = samples[np.arange(repetitions), costs.argmax(axis=1)]
    any_feasible = np.isfinite(costs.max(axis=1))[:, None]
    return {
        "Algorithm 3": np.where(any_feasible, most_expensive, most_likely),
        "most likely": most_likely,
    }


def _find_most_likely(nats: NatsSpace, log_p: FloatArray) -> IntArray:
    """Return the most likely member of V for each policy, [repetitions, layers]."""
    members = nats.feasible.members

    def find(chunk: FloatArray) -> IntArray:
        choices = np.broadcast_to(members, (len(chunk), *members.shape))
        return np.asarray(members[log_likelihood(chunk, choices).argmax(axis=1)])

    chunks = np.split(log_p, range(CHUNK_SIZE, len(log_p), CHUNK_SIZE))
    return np.concatenate([find(chunk) for chunk in chunks])
