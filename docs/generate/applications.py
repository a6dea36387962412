"""The application of the first example in docs/pipeline.md, whole: the wheel does not contain `examples`."""

from __future__ import annotations

from pathlib import Path

from _blocks import replaced

COPIER = "examples/applications/copier.py"


def generate(root: Path) -> dict[Path, str]:
    page = root / "docs" / "pipeline.md"
    program = (root / COPIER).read_text(encoding="utf-8")
    body = f"`copier.py`:\n\n```py\n{program}```"
    return {page: replaced(page.read_text(encoding="utf-8"), "application: copier", body)}
