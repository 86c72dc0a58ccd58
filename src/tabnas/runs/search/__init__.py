"""The search of a run (Algorithm 1), and the candidates that it proposes."""
