"""Tests that are repeated with another seed each: ``--kafkacheck-repeat N --kafkacheck-seed S``."""

from __future__ import annotations

import pytest

SEED = "kafkacheck_seed"
"""The fixture, on which those of tests with clusters depend."""


@pytest.fixture
def kafkacheck_seed(pytestconfig: pytest.Config) -> int:
    """The seed of this repetition of the test: S, S+1, and so on. The fixture `kafkacheck` adds it to that of each
    experiment; a test with clients of its own may use it for its choices."""
    return int(pytestconfig.getoption("kafkacheck_seed"))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make N tests of each that uses one of our fixtures. Their names end with the seed."""
    times = metafunc.config.getoption("kafkacheck_repeat")
    if times is None or SEED not in metafunc.fixturenames:
        return
    first = metafunc.config.getoption("kafkacheck_seed")
    metafunc.parametrize(SEED, range(first, first + times), ids=lambda seed: f"seed={seed}")
