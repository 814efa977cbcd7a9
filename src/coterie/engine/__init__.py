"""Training: one loop for every method."""
