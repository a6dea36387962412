"""What a file must declare to be a fault."""

from __future__ import annotations

from dataclasses import dataclass
from types import ModuleType
from typing import Any

import pytest

from nemesis.event import Event
from nemesis.fault import Fault, FaultContext, Proof
from nemesis.registry import FAULTS, declaration


def module(**attributes: Any) -> ModuleType:
    """A file of `nemesis.faults` with one fault and one function."""
    made = ModuleType("made")

    class Base(Fault):
        family = "Kafka"

        def inject(self, context: FaultContext) -> None: ...

        def verify_injected(self, context: FaultContext) -> Proof:
            raise NotImplementedError

    def shake() -> Event:
        raise NotImplementedError

    shake.__module__ = "made"
    fault = dataclass(frozen=True)(type("Shake", (Base,), {"__module__": "made", **attributes}))
    vars(made).update(shake=shake, Shake=fault)
    return made


def test_a_fault_that_lasts_says_what_proves_its_end() -> None:
    said = {"name": "shake", "proved_by": "it shakes"}
    assert declaration(module(**said, end_proved_by="it stands still")).fault.name == "shake"
    assert declaration(module(**said, momentary=True)).fault.momentary
    with pytest.raises(TypeError, match="made: Shake is not momentary, and has no end_proved_by"):
        declaration(module(**said))
    with pytest.raises(TypeError, match="made: Shake has no class attribute 'proved_by'"):
        declaration(module(name="shake"))


def test_a_table_says_after_the_heal_only_where_the_end_is_meant() -> None:
    assert [name for name, fault in FAULTS.items() if "after the heal" in fault.proved_by] == []
