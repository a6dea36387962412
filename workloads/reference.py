"""References to functions and classes that another process can load again.

A worker process gets its role by reference, and experiment.json names the class of its workload. Both may live in a
file of the user that no installed package provides, such as a test file: pytest imports it under a name of its own,
so the reference keeps the file as well.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

PACKAGE = __name__.partition(".")[0]


class NotLoadable(ValueError):
    """A reference names something that cannot be loaded here. The message says what, and why."""


@dataclass(frozen=True, kw_only=True)
class Reference:
    """Where a function or class is defined.

    module  its name at the time of recording.
    name    within the module; with dots for what is nested in a class.
    file    absolute path of the module; None for modules of this package.
    """

    module: str
    name: str
    file: str | None = None

    @classmethod
    def parse(cls, text: str) -> Reference:
        """From the notation of entry points, such as ``workloads.roles.reader:read``. Raises ValueError."""
        module, colon, name = text.partition(":")
        if not (module and colon and name):
            raise ValueError(f"{text!r}: expected 'module:name', such as 'workloads.roles.reader:read'")
        return cls(module=module, name=name)

    @classmethod
    def to(cls, target: Any) -> Reference:
        """The reference to a function or class. Raises NotLoadable for one that is not at the top level of a file."""
        module, name = target.__module__, target.__qualname__
        if "<" in name:
            raise NotLoadable(
                f"{name} is defined inside a function; define it at the top level of a file, because other processes "
                f"load it by its name"
            )
        if (ours := cls(module=module, name=name)).is_ours:
            return ours
        file = _file(target)
        if file is None:
            raise NotLoadable(
                f"{module}.{name} was not read from a file; define it in one, because other processes load it from "
                f"there"
            )
        # Python files that are run as a script or by runpy have names that cannot be imported.
        if module == "__main__" or "<" in module:
            module = file.stem
        return cls(module=module, name=name, file=str(file))

    def __str__(self) -> str:
        return f"{self.name} of {self.file or self.module}"

    @property
    def is_ours(self) -> bool:
        """Whether it is in this package, which every process can import."""
        return self.module.partition(".")[0] == PACKAGE

    def load(self) -> Any:
        """What it refers to. Raises NotLoadable."""
        value: Any = self._module()
        for part in self.name.split("."):
            try:
                value = getattr(value, part)
            except AttributeError:
                raise NotLoadable(f"{self.file or self.module} defines no {self.name}") from None
        return value

    def to_json(self) -> dict[str, str]:
        return {
            "module": self.module,
            "name": self.name,
            **({"file": self.file} if self.file is not None else {}),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Reference:
        return cls(module=data["module"], name=data["name"], file=data.get("file"))

    def _module(self) -> ModuleType:
        if self.file is None:
            return self._import(f"module {self.module} cannot be imported")
        file = Path(self.file)
        if not file.is_file():
            return self._import(f"{file}: no such file, and module {self.module} cannot be imported either")
        alias = f"{self.module}_{hashlib.sha256(self.file.encode()).hexdigest()[:8]}"
        for name in (self.module, alias):
            known = sys.modules.get(name)
            if known is not None and _same(getattr(known, "__file__", None), file):
                return known
        return _execute(file, alias if self.module in sys.modules else self.module)

    def _import(self, what: str) -> ModuleType:
        try:
            return importlib.import_module(self.module)
        except Exception as error:
            raise NotLoadable(f"{what} ({type(error).__name__}: {error})") from error


def _execute(file: Path, name: str) -> ModuleType:
    """Import a file under a name. Its folder, and the one its package is in, become importable, after all others."""
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise NotLoadable(f"{file}: not a Python file")
    for folder in (file.parent, _root(file, name)):
        if str(folder) not in sys.path:
            sys.path.append(str(folder))
    module = importlib.util.module_from_spec(spec)
    # Dataclasses look their module up by name while they are defined.
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        raise NotLoadable(f"{file} cannot be imported ({type(error).__name__}: {error})") from error
    return module


def _root(file: Path, name: str) -> Path:
    """The folder from which the file has that module name; the file's own where the name does not match its path."""
    parts = name.split(".")
    if list(file.with_suffix("").parts[-len(parts) :]) == parts:
        return file.parents[len(parts) - 1]
    return file.parent


def _file(target: Any) -> Path | None:
    """The file that defines a function or class. Modules run by runpy are not in sys.modules, but code knows."""
    module = sys.modules.get(target.__module__)
    names = [getattr(module, "__file__", None)]
    for each in (target, *vars(target).values()):
        function = getattr(each, "__func__", getattr(each, "fget", each))
        code = getattr(function, "__code__", None)
        if code is not None and getattr(function, "__module__", None) == target.__module__:
            names.append(code.co_filename)
    return next((Path(name).resolve() for name in names if name and Path(name).is_file()), None)


def _same(name: str | None, file: Path) -> bool:
    return name is not None and Path(name).resolve() == file.resolve()
