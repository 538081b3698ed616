"""The ladder needs the core install only."""

import sys

import pytest


def test_no_model_library_is_loaded(request):
    """Reading committed logits imports neither torch nor transformers nor datasets."""
    here = request.path.parent
    if any(item.path.parent != here for item in request.session.items):
        pytest.skip("other tests share this process and may have loaded a model library.")
    loaded = {"torch", "transformers", "datasets"} & set(sys.modules)
    assert not loaded
