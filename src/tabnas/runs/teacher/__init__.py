"""The teacher of a run: its answers, and the rows that networks learn from with them."""
