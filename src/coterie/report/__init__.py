"""A run as one page that opens from disk, and a clustering as a notebook shows it."""
