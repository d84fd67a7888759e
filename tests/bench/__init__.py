"""Figures, never verdicts: what the daemon costs and how fast it is, with the aim beside each figure. `make bench`."""
