"""The code to which the clock functions of a skewed broker are redirected, called in this process."""

from __future__ import annotations

import ctypes
import mmap
import platform
import re
import shutil
import struct
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_kafkacheck.cluster.docker import clock

SOURCE = Path(clock.__file__).with_name("clock.S")
SLOTS, SLOT, GENERATION, ENTRIES = 16, 32, 8, 80
REALTIME, MONOTONIC, COARSE = 0, 1, 5
SECOND = 1_000_000_000

native = pytest.mark.skipif(
    sys.platform != "linux" or platform.machine() != "x86_64", reason="the code is for Linux on x86-64"
)


def packed() -> bytes:
    """The bytes in clock.pl."""
    found = re.search(r"\$STUB = pack 'H\*', join '', qw\((.*?)\)", clock.SCRIPT, re.DOTALL)
    assert found
    return bytes.fromhex(found[1])


class Code:
    """The stub, loaded into memory, with its functions callable from C."""

    def __init__(self) -> None:
        code = packed()
        self.memory = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
        self.memory[: len(code)] = code
        self.at = ctypes.addressof(ctypes.c_char.from_buffer(self.memory))
        entries = struct.unpack_from("<3H", code, ENTRIES)
        argument = (ctypes.c_int, ctypes.c_void_p)
        self._gettime = ctypes.CFUNCTYPE(ctypes.c_int, *argument)(self.at + entries[0])
        self._timeofday = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)(
            self.at + entries[1]
        )
        self._time = ctypes.CFUNCTYPE(ctypes.c_long, ctypes.c_void_p)(self.at + entries[2])

    def skew(self, offset: int, anchor: int = 0, rate: float = 0.0, *, slot: int = 0) -> None:
        struct.pack_into("<3q", self.memory, SLOTS + slot * SLOT, offset, anchor, round(rate * 2**32))
        self.memory[GENERATION] = slot

    def gettime(self, which: int) -> int:
        answer = (ctypes.c_int64 * 2)()
        assert self._gettime(which, ctypes.addressof(answer)) == 0
        assert 0 <= answer[1] < SECOND
        return int(answer[0]) * SECOND + int(answer[1])

    def timeofday(self) -> int:
        answer = (ctypes.c_int64 * 2)()
        assert self._timeofday(ctypes.addressof(answer), None) == 0
        assert 0 <= answer[1] < 1_000_000
        return int(answer[0]) * SECOND + int(answer[1]) * 1000

    def time(self) -> int:
        answer = ctypes.c_int64()
        found = int(self._time(ctypes.addressof(answer)))
        assert found == answer.value == pytest.approx(self._time(None), abs=1)
        return found * SECOND


@pytest.fixture
def code() -> Code:
    return Code()


def shows(ask: Callable[[], int], skewed: Callable[[int], float], *, grain: int) -> None:
    """Assert that the shown time lies between the skewed real times before and after the call."""
    before = time.clock_gettime_ns(REALTIME)
    shown = ask()
    after = time.clock_gettime_ns(REALTIME)
    assert skewed(before) - grain <= shown <= skewed(after) + grain


def everywhere(code: Code, skewed: Callable[[int], float]) -> None:
    shows(lambda: code.gettime(REALTIME), skewed, grain=2)
    shows(lambda: code.gettime(COARSE), skewed, grain=40_000_000)
    shows(code.timeofday, skewed, grain=2_000)
    shows(code.time, skewed, grain=SECOND + 40_000_000)


@pytest.mark.skipif(not (shutil.which("as") and shutil.which("objcopy")), reason="needs an assembler")
@native
def test_the_script_contains_the_assembled_source(tmp_path: Path) -> None:
    made, code = tmp_path / "clock.o", tmp_path / "clock.bin"
    subprocess.run(["as", "--64", "-o", made, SOURCE], check=True)
    subprocess.run(["objcopy", "-O", "binary", "-j", ".text", made, code], check=True)
    assert code.read_bytes() == packed()


@native
@pytest.mark.parametrize("slot", [0, 1])
@pytest.mark.parametrize("offset", [0, 1, -1, 999_999_999, -999_999_999, 3600 * SECOND, -(10**18)])
def test_an_offset_is_added(code: Code, offset: int, slot: int) -> None:
    code.skew(offset, slot=slot)
    everywhere(code, lambda real: real + offset)


@native
@pytest.mark.parametrize("rate", [0.5, -0.5, 1.0, 0.0001])
def test_a_drift_grows_from_its_anchor(code: Code, rate: float) -> None:
    anchor = time.clock_gettime_ns(REALTIME) - 40 * 86400 * SECOND
    code.skew(-5 * SECOND, anchor, rate)
    exact = round(rate * 2**32)
    everywhere(code, lambda real: real - 5 * SECOND + ((real - anchor) * exact >> 32))


@native
def test_a_drift_of_minus_one_stops_the_clock(code: Code) -> None:
    code.skew(0, anchor := time.clock_gettime_ns(REALTIME), -1.0)
    time.sleep(0.01)
    assert code.gettime(REALTIME) == code.gettime(REALTIME) == anchor


@native
def test_a_time_before_1970_has_positive_nanoseconds(code: Code) -> None:
    offset = -time.clock_gettime_ns(REALTIME) - 3 * SECOND // 2
    code.skew(offset)
    everywhere(code, lambda real: real + offset)


@native
def test_the_monotonic_clock_is_right(code: Code) -> None:
    code.skew(3600 * SECOND, rate=0.5)
    before = time.monotonic_ns()
    assert before <= code.gettime(MONOTONIC) <= time.monotonic_ns()


@native
def test_errors_of_the_kernel_are_returned(code: Code) -> None:
    code.skew(3600 * SECOND)
    assert code._gettime(99, ctypes.addressof((ctypes.c_int64 * 2)())) < 0
    assert code._gettime(REALTIME, 8) < 0


def test_bounds_are_checked_before_anything_is_started() -> None:
    engine: Any = type("Engine", (), {"api": None})
    unused: Any = None
    asked = clock.VirtualClock(engine, unused, owner={})
    for offset, ppm in ((2e9, 0), (0, 1.1e6), (float("nan"), 0), (0, float("inf"))):
        with pytest.raises(ValueError, match="a clock's"):
            asked.set(offset, ppm)
