"""The search of a run (Algorithm 1), and the selection of candidates."""
