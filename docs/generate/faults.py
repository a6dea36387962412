"""The tables and lists of docs/faults.md and docs/limits.md that derive from the declarations of the faults."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from _blocks import replaced, table

from nemesis.fault import FAMILIES
from nemesis.generate import default_weights, targets
from nemesis.registry import (
    CAPABILITIES,
    DECLARATIONS,
    FAULTS,
    Declaration,
    faults_that_need,
    faults_that_prefer,
)
from workloads.stored import built_in

HEADER = ["function, own options", "what happens", "proved by", "its end proved by", "needs"]

NEEDS = {
    "nft": "nft",
    "tbf": "tbf",
    "netem": "netem",
    "disks": "a disk",
    "throttle": "a limit on block devices",
    "clock": "x86-64, SYS_PTRACE",
    "limits": "changes of limits",
    "packets": "root, control groups v2",
    "cpu": "root, control groups",
    "memory": "root, control groups",
}
"""What a cell of the last column says for each capability."""


def generate(root: Path) -> dict[Path, str]:
    page, limits = root / "docs" / "faults.md", root / "docs" / "limits.md"
    text = page.read_text(encoding="utf-8")
    for name, body in blocks().items():
        text = replaced(text, name, body)
    return {
        page: text,
        limits: replaced(limits.read_text(encoding="utf-8"), "limits: needs of faults", needs_of_faults()),
    }


def blocks() -> dict[str, str]:
    """Name of a generated block to its Markdown."""
    tables = {f"faults: {heading}": family_table(family) for family, heading in FAMILIES.items()}
    return tables | {
        "faults that block a process": _list(name for name, fault in FAULTS.items() if fault.blocks_process),
        "faults without weights": _list(default_weights()),
        "faults that are not drawn": _list(name for name in FAULTS if not _can_be_drawn(name)),
        "workloads with fixed partitions": fixed_partitions(),
        "names in JSON": names_in_json(),
        "faults that attached clusters refuse": _list(
            name for name, fault in FAULTS.items() if fault.changes_cluster
        ),
    }


def family_table(family: str) -> str:
    rows = [
        [
            signature(name, function),
            happens(function),
            declared.fault.proved_by,
            declared.fault.end_proved_by or "–",
            needs(declared),
        ]
        for declared in DECLARATIONS.values()
        if declared.fault.family == family
        for name, function in declared.functions.items()
    ]
    return table(HEADER, rows)


def signature(name: str, function: Callable[..., object]) -> str:
    """The name, and the options that only this function has. A target is listed where it has a default."""
    parameters = inspect.signature(function).parameters
    shown = []
    for key, each in parameters.items():
        has_default = each.default is not each.empty
        if each.kind is each.KEYWORD_ONLY:
            if key not in ("at", "lasting", "after"):
                shown.append(f"{key}=" if each.default is None else f"{key}={_quoted(each.default)}")
        elif has_default:
            shown.append(_quoted(each.default))
        elif key not in ("target", "split") or "settings" in parameters:
            shown.append(key)
    is_empty = "target" not in parameters and "split" not in parameters
    text = f"`{name}({', '.join(shown)})`" if shown or is_empty else f"`{name}`"
    return text if "lasting" in parameters else f"{text}, momentary"


def happens(function: Callable[..., object]) -> str:
    summary = inspect.cleandoc(function.__doc__ or "").partition("\n\n")[0]
    return " ".join(summary.split()).replace("``", "`").removesuffix(".")


def needs(declared: Declaration) -> str:
    fault = declared.fault
    return ", ".join([*(NEEDS[each] for each in sorted(fault.needs)), *filter(None, [fault.requires])]) or "–"


def needs_of_faults() -> str:
    """What a machine may lack, and the faults that use it."""
    rows = [
        [meaning, _list(faults_that_need(name)) or "–", _list(faults_that_prefer(name)) or "–"]
        for name, meaning in CAPABILITIES.items()
        if faults_that_need(name) or faults_that_prefer(name)
    ]
    return table(["it is", "impossible without it", "another way without it"], rows)


def fixed_partitions() -> str:
    return "\n".join(
        f"- `{name}`: {kind.declaration.fixed_partitions}"
        for name, kind in sorted(built_in().items())
        if kind.declaration.fixed_partitions
    )


def names_in_json() -> str:
    families = []
    for family, heading in FAMILIES.items():
        names = _list(name for name, fault in FAULTS.items() if fault.family == family)
        families.append(f"- {heading}: {names}")
    return "\n".join(families)


def _can_be_drawn(name: str) -> bool:
    fault = FAULTS[name]
    try:
        for options in fault.draw.options:
            fault(**options)
    except ValueError:
        return False
    return bool(targets(fault))


def _list(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in _sorted(names))


def _sorted(names: Iterable[str]) -> Iterator[str]:
    chosen = set(names)
    return (name for name in FAULTS if name in chosen)


def _quoted(value: object) -> str:
    return f'"{value}"' if isinstance(value, str) else repr(value)
