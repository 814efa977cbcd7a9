"""Models and runs on disk. The only place that writes folders."""
