"""How often tests with random histories repeat: `make nightly` repeats all, `make test` fewer."""

from __future__ import annotations

from hypothesis import settings

BY_DAY = "by-day"
"""The profile of Hypothesis that tests have otherwise."""

NIGHTLY = "nightly"
"""The profile of Hypothesis that `make nightly` chooses: pytest --hypothesis-profile=nightly."""


def repetitions(full: int, *, shorter: int) -> int:
    """`full` in `make nightly`, otherwise `shorter`, which still has every kind of what is tested."""
    return full if settings.get_current_profile_name() == NIGHTLY else shorter
