"""The files of a run's folder: configuration, status, results, reports."""
