"""Training losses of the published systems: pure functions of tensors, one subject a file."""
