"""What the kernel refuses for a moment is asked for again, and nothing else.

The engine is a fake here, because a real kernel cannot be made to refuse.
"""

from __future__ import annotations

import pytest
from docker.errors import APIError

from pytest_kafkacheck.cluster.docker.containers import ATTEMPTS, pause


class Engine:
    def __init__(self, *answers: str) -> None:
        self.answers, self.asked = list(answers), 0

    def pause(self, container: str) -> None:
        self.asked += 1
        if self.answers and (why := self.answers.pop(0)):
            raise APIError("500 Server Error", explanation=f"Cannot pause container {container}: {why}")


MOMENT = "OCI runtime pause failed: unable to freeze: unknown"


def test_a_temporary_refusal_is_retried() -> None:
    engine = Engine(MOMENT)
    pause(engine, "c")
    assert engine.asked == 2


@pytest.mark.parametrize(("why", "asked"), [(MOMENT, ATTEMPTS), ("container is not running", 1)])
def test_a_lasting_error_is_raised(why: str, asked: int) -> None:
    engine = Engine(*[why] * 9)
    with pytest.raises(APIError, match="Cannot pause") as caught:
        pause(engine, "c")
    assert (engine.asked, why in str(caught.value)) == (asked, True)
