"""Checkpoints: the finished steps of a run and the state of the current one."""
