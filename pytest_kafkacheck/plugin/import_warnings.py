"""The warnings with which kafka-python 3.0 is imported on Python 3.11 and 3.12 are not the user's to mend.

There are 218 of them, from its schemas. The filters name the modules that warn, so that all other warnings stay.
"""

from __future__ import annotations

from collections.abc import Generator

import pytest

FILTERS = (
    r"ignore:read_text is deprecated:DeprecationWarning:kafka\.protocol\.schemas\.load_json",
    # The function above calls this one, in the standard library.
    r"ignore:open_text is deprecated:DeprecationWarning:importlib\.resources\._legacy",
)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> Generator[None, None, None]:
    """Around pytest's own hook, which reads the filters that hold while conftest files are imported."""
    for each in FILTERS:
        early_config.addinivalue_line("filterwarnings", each)
    return (yield)
