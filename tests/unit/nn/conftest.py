"""Tiny random encoders, as the tests of the features have them."""

from __future__ import annotations

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

# Fixtures of another folder are not seen from here, and a plugin would have to be named by the root of all tests.
_spec = spec_from_file_location("features_conftest", Path(__file__).parents[1] / "features" / "conftest.py")
assert _spec is not None
assert _spec.loader is not None
_module = module_from_spec(_spec)
_spec.loader.exec_module(_module)

corpus = _module.corpus
tokenizer_file = _module.tokenizer_file
make_model = _module.make_model
tiny_bert = _module.tiny_bert
