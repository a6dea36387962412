"""SIGINT and SIGTERM raise KeyboardInterrupt, also where Python drops an exception."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator

import pytest

from pytest_kafkacheck.plugin.interrupts import pytest_runtest_setup
from pytest_kafkacheck.termination import (
    CLEANING_UP,
    announced_by,
    interrupts_before_errors,
    is_interrupted,
    raise_if_interrupted,
    since_interrupt,
    terminated_like_interrupted,
)

SIGNALS = [signal.SIGINT, signal.SIGTERM]


class SignalsWhenDestroyed:
    """Sends a signal from its destructor. Python drops an exception that is raised there."""

    def __init__(self, number: signal.Signals) -> None:
        self.number = number

    def __del__(self) -> None:
        signal.raise_signal(self.number)


@pytest.fixture(autouse=True)
def default_handlers() -> Iterator[None]:
    """Start from Python's handlers. A session that has used a cluster keeps handlers of its own until it ends."""
    earlier = {number: signal.getsignal(number) for number in SIGNALS}
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    yield
    for number, handler in earlier.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_raises_at_once(number: signal.Signals) -> None:
    with terminated_like_interrupted(), pytest.raises(KeyboardInterrupt):
        signal.raise_signal(number)


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_is_answered_once_and_before_the_clean_up(number: signal.Signals) -> None:
    lines: list[str] = []
    with announced_by(lines.append), terminated_like_interrupted():
        try:
            with pytest.raises(KeyboardInterrupt):
                signal.raise_signal(number)
        finally:
            assert lines == [CLEANING_UP]
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(number)
    assert lines == [CLEANING_UP]


def test_a_line_that_cannot_be_printed_changes_nothing() -> None:
    def fail(_: str) -> None:
        raise RuntimeError("reentrant call inside <_io.BufferedWriter>")

    with announced_by(fail), terminated_like_interrupted(), pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)


@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_exception_that_python_drops_is_raised_later(number: signal.Signals) -> None:
    with terminated_like_interrupted():
        raise_if_interrupted()
        value = SignalsWhenDestroyed(number)
        del value
        with pytest.raises(KeyboardInterrupt):
            raise_if_interrupted()


def test_an_interrupt_comes_before_an_error_of_the_clean_up() -> None:
    def interrupted() -> None:
        try:
            signal.raise_signal(signal.SIGTERM)
        finally:
            raise OSError("could not be deleted")

    with terminated_like_interrupted():
        with pytest.raises(KeyboardInterrupt) as raised, interrupts_before_errors():
            interrupted()
        assert str(raised.value.__context__) == "could not be deleted"


def test_without_an_interrupt_an_error_stays_as_it_is() -> None:
    with (
        terminated_like_interrupted(),
        pytest.raises(OSError, match="could not be deleted"),
        interrupts_before_errors(),
    ):
        raise OSError("could not be deleted")


def test_earlier_handlers_are_restored_and_foreign_handlers_stay() -> None:
    def own(number: int, frame: object) -> None: ...

    before = [signal.getsignal(number) for number in SIGNALS]
    with terminated_like_interrupted():
        assert signal.getsignal(signal.SIGTERM) is not before[1]
    assert [signal.getsignal(number) for number in SIGNALS] == before
    signal.signal(signal.SIGTERM, own)
    try:
        with terminated_like_interrupted():
            assert signal.getsignal(signal.SIGTERM) is own
    finally:
        signal.signal(signal.SIGTERM, before[1])


def _fails_after(problem: Callable[[], object]) -> None:
    with terminated_like_interrupted(), interrupts_before_errors():
        try:
            problem()
        finally:
            raise ValueError("the clean-up failed")


def test_an_error_after_an_interrupt_by_another_handler_does_not_replace_it() -> None:
    def handler(*_: object) -> None:
        raise KeyboardInterrupt

    signal.signal(signal.SIGINT, handler)  # as PySpark does where a session is opened on the main thread
    with pytest.raises(KeyboardInterrupt):
        _fails_after(lambda: signal.raise_signal(signal.SIGINT))


def test_an_error_after_another_error_stays() -> None:
    with pytest.raises(ValueError, match="clean-up"):
        _fails_after(lambda: 1 // 0)


def test_a_test_does_not_see_the_interrupt_that_one_before_it_caught() -> None:
    """The session of a worker is one outer block, from its first test with a fixture of kafkacheck on."""
    with terminated_like_interrupted():
        with pytest.raises(KeyboardInterrupt), terminated_like_interrupted():
            signal.raise_signal(signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            raise_if_interrupted()
        pytest_runtest_setup()
        raise_if_interrupted()


def test_an_inner_block_does_not_forget_an_interrupt() -> None:
    with terminated_like_interrupted():
        with pytest.raises(KeyboardInterrupt), terminated_like_interrupted():
            signal.raise_signal(signal.SIGTERM)
        assert is_interrupted()
        assert since_interrupt() > 0
    assert not is_interrupted()
    assert since_interrupt() == 0


def test_an_interrupt_is_forgotten_with_the_block_that_it_ended() -> None:
    with pytest.raises(KeyboardInterrupt), terminated_like_interrupted():
        signal.raise_signal(signal.SIGTERM)
    raise_if_interrupted()
