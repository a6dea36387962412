"""What a failed test names of its process."""

from __future__ import annotations

import os
import re
import resource

from tests.support.failures_at_once import held


def test_descriptors_threads_memory_and_load_are_named() -> None:
    assert re.fullmatch(r"\d+ of \d+ descriptors, \d+ threads, \d+ MB free, load \d+", held())


def test_no_descriptor_left_is_no_error() -> None:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    lowest_free = os.dup(0)
    os.close(lowest_free)
    resource.setrlimit(resource.RLIMIT_NOFILE, (lowest_free, before[1]))
    try:
        shown = held()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
    assert shown.startswith(f"limit of {lowest_free} descriptors, ")
    assert "Too many open files" in shown
