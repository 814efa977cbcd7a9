"""How good a grouping is: against a truth (external) or by its own shape (internal)."""
