"""Generated files are up to date: tables in the documents, and static exports."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_generated_files_are_up_to_date() -> None:
    check = [sys.executable, "docs/generate", "--check"]
    done = subprocess.run(check, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, (
        f"{done.stdout}{done.stderr}\nRun `.venv/bin/python docs/generate` and commit the result."
    )
