"""The JSON schema of verdict.json, from the dataclasses that are stored in it and the text below their fields."""

from __future__ import annotations

import ast
import collections.abc
import dataclasses
import inspect
import json
import textwrap
import types
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

from analyzers.verdict.verdict import FORMAT, Verdict

SIMPLE = {str: "string", int: "integer", float: "number", bool: "boolean", type(None): "null"}

TITLE = "verdict.json of a run of kafkacheck"

PROMISE = (
    "Keys may be added within a format: ignore those that you do not know. A key is removed, or means something "
    "else, only in another format."
)


def generate(root: Path) -> dict[Path, str]:
    return {root / "docs" / "verdict.schema.json": json.dumps(schema(), indent=2, ensure_ascii=False) + "\n"}


def schema() -> dict[str, Any]:
    definitions: dict[str, Any] = {}
    whole = _object(Verdict, definitions)
    whole["properties"] = {"format": {"const": FORMAT}, **whole["properties"]}
    whole["required"] = ["format", *whole["required"]]
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": TITLE, "$comment": PROMISE}
    return {**head, **whole, "$defs": dict(sorted(definitions.items()))}


def _object(of: type, definitions: dict[str, Any]) -> dict[str, Any]:
    hints, said = get_type_hints(of), _descriptions(of)
    properties = {
        field.name: _type(hints[field.name], definitions)
        | ({"description": said[field.name]} if field.name in said else {})
        for field in dataclasses.fields(of)
    }
    about = inspect.cleandoc(of.__doc__ or "")
    return {"type": "object", "description": about, "properties": properties, "required": list(properties)}


def _type(hint: Any, definitions: dict[str, Any]) -> dict[str, Any]:
    origin, inside = get_origin(hint), get_args(hint)
    if hint in SIMPLE:
        return {"type": SIMPLE[hint]}
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        if hint.__name__ not in definitions:
            definitions[hint.__name__] = {}
            definitions[hint.__name__] = _object(hint, definitions)
        return {"$ref": f"#/$defs/{hint.__name__}"}
    if origin is Literal:
        return {"enum": list(inside)}
    if origin is types.UnionType:
        return {"anyOf": [_type(each, definitions) for each in inside]}
    if origin is tuple:
        return {"type": "array", "items": _type(inside[0], definitions)}
    if origin is collections.abc.Mapping:
        values = {} if inside[1] is Any else {"additionalProperties": _type(inside[1], definitions)}
        return {"type": "object", **values}
    raise TypeError(f"{hint}: no JSON schema for this type of a field")


def _descriptions(of: type) -> dict[str, str]:
    """The text below each field."""
    (body,) = ast.parse(textwrap.dedent(inspect.getsource(of))).body
    assert isinstance(body, ast.ClassDef)
    found, last = {}, ""
    for each in body.body:
        if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name):
            last = each.target.id
        elif last and isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant):
            found[last] = " ".join(str(each.value.value).split())
        else:
            last = ""
    return found
