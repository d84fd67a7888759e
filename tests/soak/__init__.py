"""make soak: the daemon between real parts for half an hour of changes and troubles, and whether it stays as it was."""
