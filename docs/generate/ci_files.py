"""The files for continuous integration in docs/ci.md."""

from __future__ import annotations

from pathlib import Path

from _blocks import replaced

from pytest_kafkacheck.cli.common.init_files import CI


def generate(root: Path) -> dict[Path, str]:
    page = root / "docs" / "ci.md"
    text = page.read_text(encoding="utf-8")
    for service, (name, body) in CI.items():
        text = replaced(text, f"ci: {service}", f"`{name}`:\n\n```yaml\n{body}```")
    return {page: text}
