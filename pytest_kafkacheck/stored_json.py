"""JSON files that people may have edited: an error names the file, the line, and what was expected there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pytest_kafkacheck.errors import UsageError
from pytest_kafkacheck.wrong_call import wrong_call

SHOWN = 20
"""Characters of the text that a message shows."""


def read_json(file: Path) -> Any:
    """Raises UsageError for a file that cannot be read, or holds no JSON in UTF-8."""
    return parse_json(read_text(file), str(file))


def read_text(file: Path) -> str:
    """Raises UsageError for a file that cannot be read, or is not in UTF-8."""
    try:
        content = file.read_bytes()
        return content.decode()
    except OSError as error:
        raise UsageError(f"{file}: cannot be read ({error.strerror})") from error
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise UsageError(
            f"{file}, line {line}: expected text in UTF-8, found the byte 0x{content[error.start]:02x}"
        ) from error


def parse_json(text: str, file: str) -> Any:
    """file: its name, for messages. Raises UsageError."""
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        # Such as "Expecting ',' delimiter".
        wanted = error.msg[:1].lower() + error.msg[1:].replace("xpecting", "xpected")
        found = text[error.pos : error.pos + SHOWN].partition("\n")[0]
        raise UsageError(
            f"{file}, line {error.lineno}, column {error.colno}: {wanted}, found "
            f"{repr(found) if found else 'the end of the line'}"
        ) from error
    except RecursionError as error:
        raise UsageError(f"{file}: expected JSON that is not nested so deeply") from error
    except ValueError as error:  # a number of thousands of digits
        raise UsageError(f"{file}: {error}") from error


def what_is_wrong(error: BaseException) -> str:
    """What an error says that was raised while a value was made from JSON."""
    if isinstance(error, KeyError) and error.args:
        return f"the field {error.args[0]!r} is missing"
    return wrong_call(error) or str(error) or type(error).__name__
