"""Measuring: the benchmark data, plans of experiments, the runner, and tables beside the papers' own numbers."""
