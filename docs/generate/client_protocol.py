"""Tables of docs/client_protocol.md: capabilities, what built-in workloads use of a client, and the rules."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

from _blocks import replaced, table

from pytest_kafkacheck import HOMES
from pytest_kafkacheck.client_test.run import RULES
from pytest_kafkacheck.workload_names import WORKLOAD_NAMES
from workloads.clients.command.messages import CAPABILITIES
from workloads.declaration import Declaration, always


def generate(root: Path) -> dict[Path, str]:
    page = root / "docs" / "client_protocol.md"
    text = page.read_text(encoding="utf-8")
    rows = [[f"`{name}`", says] for name, says in CAPABILITIES.items()]
    text = replaced(text, "capabilities", table(["capability", "the client"], rows))
    text = replaced(text, "uses", _uses())
    rules = [[f"`{rule.name}`", rule.says, ", ".join(rule.needs) or "–"] for rule in RULES]
    return {page: replaced(text, "rules", table(["rule", "the client", "if it states"], rules))}


def _uses() -> str:
    rows = []
    for kind in sorted(WORKLOAD_NAMES.values()):
        declaration: Declaration = _class(kind).declaration
        if declaration.uses:
            each = [use.capability for use in declaration.uses if use.applies is always]
            some = [use.capability for use in declaration.uses if use.applies is not always]
            rows.append([f"`{kind}`", ", ".join(each), ", ".join(some) or "–"])
    return table(["workload", "uses", "with some values of its fields"], rows)


def _class(name: str) -> Any:
    return getattr(import_module(HOMES[name]), name)
