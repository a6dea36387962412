"""The quick start names every extra of the package, and no other."""

from __future__ import annotations

import re
import tomllib

from tests.docs.markdown import ROOT


def test_the_quick_start_names_each_extra() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    page = (ROOT / "docs" / "quick_start.md").read_text()
    assert set(re.findall(r"pytest-kafkacheck\[(\w+)\]", page)) == project["optional-dependencies"].keys()
