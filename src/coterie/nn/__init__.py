"""Encoders that can be trained, on the CPU as fast as it goes."""
