"""A signal ends what runs, wherever it strikes."""

from __future__ import annotations

import signal

import pytest

from pytest_kafkacheck.termination import raise_if_interrupted, terminated_like_interrupted

SIGNALS = [signal.SIGINT, signal.SIGTERM]


class Dying:
    """Strikes while it is destroyed, as a signal may; Python then drops what is raised."""

    def __init__(self, number: signal.Signals) -> None:
        self.number = number

    def __del__(self) -> None:
        signal.raise_signal(self.number)


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_raises_at_once(number: signal.Signals) -> None:
    with terminated_like_interrupted(), pytest.raises(KeyboardInterrupt):
        signal.raise_signal(number)


@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_one_that_python_drops_is_raised_later(number: signal.Signals) -> None:
    with terminated_like_interrupted():
        raise_if_interrupted()
        dying = Dying(number)
        del dying
        with pytest.raises(KeyboardInterrupt):
            raise_if_interrupted()


def test_what_was_before_comes_back_and_others_keep_theirs() -> None:
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
