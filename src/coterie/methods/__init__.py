"""Ways to group texts: one published system, or one idea of our own, a file."""
