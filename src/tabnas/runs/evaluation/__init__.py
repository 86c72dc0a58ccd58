"""Scores on test rows and diagnostics of the final model."""
