"""Stand-alone training of the candidates."""
