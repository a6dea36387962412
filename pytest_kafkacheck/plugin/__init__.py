"""The pytest plugin: this module is its entry point, and holds every hook and fixture that pytest calls.

Loaded in every pytest session where the package is installed, so its files import pytest and the standard library
only; all else inside of functions. They may import everything except the command line. Nothing imports from here.
"""

from __future__ import annotations

import pytest

from pytest_kafkacheck.plugin.cells import _kafkacheck_cells as _kafkacheck_cells
from pytest_kafkacheck.plugin.cells import check_matrix_file
from pytest_kafkacheck.plugin.cells import pytest_collection_finish as pytest_collection_finish
from pytest_kafkacheck.plugin.fixtures import _kafkacheck_harness as _kafkacheck_harness
from pytest_kafkacheck.plugin.fixtures import _kafkacheck_scope as _kafkacheck_scope
from pytest_kafkacheck.plugin.fixtures import kafkacheck as kafkacheck
from pytest_kafkacheck.plugin.fixtures import kafkacheck_cluster as kafkacheck_cluster
from pytest_kafkacheck.plugin.fixtures import kafkacheck_recorder as kafkacheck_recorder
from pytest_kafkacheck.plugin.import_warnings import (
    pytest_load_initial_conftests as pytest_load_initial_conftests,
)
from pytest_kafkacheck.plugin.interrupts import BriefInterrupts
from pytest_kafkacheck.plugin.interrupts import pytest_runtest_setup as pytest_runtest_setup
from pytest_kafkacheck.plugin.marker import pytest_collection_modifyitems as pytest_collection_modifyitems
from pytest_kafkacheck.plugin.marker import register_marker
from pytest_kafkacheck.plugin.options import check_options
from pytest_kafkacheck.plugin.options import pytest_addoption as pytest_addoption
from pytest_kafkacheck.plugin.repetitions import kafkacheck_seed as kafkacheck_seed
from pytest_kafkacheck.plugin.repetitions import pytest_generate_tests as pytest_generate_tests
from pytest_kafkacheck.plugin.reporting import pytest_runtest_makereport as pytest_runtest_makereport
from pytest_kafkacheck.plugin.reporting import pytest_terminal_summary as pytest_terminal_summary
from pytest_kafkacheck.plugin.runner import Kafkacheck as Kafkacheck
from pytest_kafkacheck.plugin.summary import check_summary_file
from pytest_kafkacheck.plugin.usage_errors import pytest_exception_interact as pytest_exception_interact
from pytest_kafkacheck.plugin.xdist import pytest_configure_node as pytest_configure_node
from pytest_kafkacheck.plugin.xdist import pytest_sessionfinish as pytest_sessionfinish
from pytest_kafkacheck.plugin.xdist import pytest_testnodedown as pytest_testnodedown


def pytest_configure(config: pytest.Config) -> None:
    check_options(config)
    check_matrix_file(config)
    check_summary_file(config)
    register_marker(config)
    if not config.getoption("fulltrace", False):
        config.pluginmanager.register(BriefInterrupts())
