"""Code that an embedded Spark generates: compiled once for the driver and its tasks."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from analyzers.spark.internals.tuning import return_class_loader, share_class_loader
from analyzers.spark.session import fit
from analyzers.spark.settings import INTERPRETED

pytestmark = pytest.mark.spark

GENERATES = INTERPRETED + 1
"""Records for which Spark generates code."""


@pytest.fixture
def session(spark: Any) -> Iterator[Any]:
    """Whose driver has a class loader of its own, as when Spark starts. Of the threads that Spark has, only this one:
    it plans statements and compiles their classes."""
    session = spark.newSession()
    fit(session, GENERATES)
    thread = current_thread(session)
    shared = thread.getContextClassLoader()
    thread.setContextClassLoader(shared.getParent())
    yield session
    thread.setContextClassLoader(shared)


def current_thread(session: Any) -> Any:
    return session._jvm.java.lang.Thread.currentThread()


def compiled(session: Any) -> int:
    """How many classes are compiled for a statement that is new, with one class for the driver and tasks."""
    count = session._jvm.org.apache.spark.metrics.source.CodegenMetrics.METRIC_COMPILATION_TIME().getCount
    before = count()
    number = secrets.randbelow(10**9)
    assert session.sql(f"SELECT id * {number} FROM range(1)").toArrow().num_rows == 1
    return int(count() - before)


def test_a_class_is_compiled_once(session: Any) -> None:
    compiled(session)  # classes that other statements need, too
    assert compiled(session) == 2
    share_class_loader(session)
    compiled(session)
    assert compiled(session) == 1


def test_records_for_which_code_is_generated_share_it(session: Any) -> None:
    drivers = current_thread(session).getContextClassLoader()
    fit(session, INTERPRETED)
    assert current_thread(session).getContextClassLoader().equals(drivers)
    fit(session, GENERATES)
    assert current_thread(session).getContextClassLoader().getParent().equals(drivers)
    share_class_loader(session)  # nothing is left to do
    assert current_thread(session).getContextClassLoader().getParent().equals(drivers)


def test_threads_that_start_later_share_it(session: Any) -> None:
    share_class_loader(session)
    shared = current_thread(session).getContextClassLoader()
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(lambda: current_thread(session).getContextClassLoader().equals(shared)).result()
        pool.submit(compiled, session).result()
        assert pool.submit(compiled, session).result() == 1


def test_the_next_application_gets_back_what_the_driver_had(session: Any) -> None:
    drivers = current_thread(session).getContextClassLoader()
    return_class_loader(session._jvm)
    assert current_thread(session).getContextClassLoader().equals(drivers), "nothing was shared"
    share_class_loader(session)
    return_class_loader(session._jvm)
    assert current_thread(session).getContextClassLoader().equals(drivers)
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(lambda: current_thread(session).getContextClassLoader().equals(drivers)).result()
    share_class_loader(session)
