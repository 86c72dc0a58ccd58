"""How much work a run does, and within which space: the second step of a run."""
