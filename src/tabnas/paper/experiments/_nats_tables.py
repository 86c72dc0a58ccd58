"""The paper's two tables of NATS-Bench: what policies end on, by reward and RL rate."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tabnas.feasible import log_likelihood
from tabnas.paper.experiments._nats_space import NatsSpace
from tabnas.policy import REWARDS, Adam, Controller
from tabnas.streams import stream
from tabnas.types import FloatArray, IntArray

CHUNK = 50
"""Policies whose likelihood of all of V is held at once."""


def policies_end_on(
    nats: NatsSpace, job: Mapping[str, Any], said: Mapping[str, Any]
) -> dict[str, IntArray]:
    """Where all repetitions of one setting end, side by side, as choices, [repetitions, layers].

    By what is picked: as in the paper, if the reward penalises, the most likely of all
    architectures; if it rejects, the dearest feasible of many draws (Algorithm 3), and beside it
    the most likely given V.
    """
    repetitions = said["repetitions"]
    controller = Controller(
        REWARDS[job["reward"]](nats.feasible, **job["options"]),
        Adam(learning_rate=job["rate"], epsilon=said["epsilon"]),
        rng=stream(said["seed"], f"nats {job['title']} {job['rate']}"),
        batch=(repetitions,),
    )
    for _ in range(said["steps"]):
        choices = controller.suggest()
        controller.update(choices, nats.quality(choices))
    policy = controller.policy
    if not controller.reward.rejects_infeasible:
        return {"most likely of all": np.asarray(policy.log_p.argmax(axis=-1))}
    likely = _likeliest_within(nats, policy.log_p)
    drawn = policy.sample(said["draws"], stream(said["seed"], "nats Algorithm 3"))
    costs = np.where(nats.feasible.contains(drawn), nats.mflops(drawn), -np.inf)
    dearest = drawn[np.arange(repetitions), costs.argmax(axis=1)]
    some = np.isfinite(costs.max(axis=1))[:, None]
    return {"Algorithm 3": np.where(some, dearest, likely), "most likely": likely}


def _likeliest_within(nats: NatsSpace, log_p: FloatArray) -> IntArray:
    """The most likely member of V for each policy, [repetitions, layers]."""
    members = nats.feasible.members

    def likeliest(part: FloatArray) -> IntArray:
        every = np.broadcast_to(members, (len(part), *members.shape))
        return np.asarray(members[log_likelihood(part, every).argmax(axis=1)])

    parts = np.split(log_p, range(CHUNK, len(log_p), CHUNK))
    return np.concatenate([likeliest(part) for part in parts])
