"""From a table or a store to encoded rows: the first step of a run."""
