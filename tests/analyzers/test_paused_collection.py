"""The garbage collector works again after many runs were judged."""

from __future__ import annotations

import gc

import pytest

from analyzers.judge.paused_collection import paused_collection


def test_enabled_again_also_after_an_error() -> None:
    assert gc.isenabled()
    with paused_collection():
        assert not gc.isenabled()
    assert gc.isenabled()
    with pytest.raises(KeyError), paused_collection():
        raise KeyError
    assert gc.isenabled()


def test_left_disabled_where_it_was() -> None:
    gc.disable()
    try:
        with paused_collection():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
