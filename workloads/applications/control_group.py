"""Control groups of a client process, or of an instance of an application.

The kernel limits and knows its processes as a whole.

Hosts have one hierarchy (version 2), several (version 1), or both. In version 1 each controller has a hierarchy of
its own. Sockets belong to a group of version 2 in any case.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

PERIOD = 100_000
"""us in which the processor time is measured; the kernel's default."""

UNLIMITED = 1 << 62
"""Bytes; version 1 reports no limit as a number near to 2**63."""

NAME = "kafkacheck-{run}-{member}-{owner}"
"""member: such as app-0 or client-3. owner: number of the process that removes it. A group of one that is gone is
removed by the next."""

_OWNED = re.compile(r"kafkacheck-.*-(?:app|client)-[0-9]+-([0-9]+)")


class Unavailable(OSError):
    """The host lets us make no control group of that kind. The message says why."""


class ControlGroup:
    """Made by the constructor, which raises Unavailable; `remove` removes it once its processes have ended.

    member  of the run, see `NAME`.
    wanted  of "packets", "cpu" and "memory".
    """

    def __init__(self, run: str, member: str, wanted: Iterable[str]) -> None:
        self._wanted = frozenset(wanted)
        name = NAME.format(run=run, member=member, owner=os.getpid())
        self._folders: dict[str, tuple[int, Path]] = {}
        try:
            for each in sorted(self._wanted):
                self._folders[each] = _make(each, name)
        except OSError as error:
            self.remove()
            if isinstance(error, Unavailable):
                raise
            raise Unavailable(f"{error.strerror or error}: {error.filename}") from error

    @property
    def folders(self) -> tuple[Path, ...]:
        """Those whose cgroup.procs a process has to be written to, in order to belong to it."""
        return tuple(dict.fromkeys(folder for _, folder in self._folders.values()))

    @property
    def packets(self) -> Path:
        """The group of version 2 to which the sockets of its processes belong."""
        return self._folders["packets"][1]

    def limit_cpu(self, cores: float | None) -> None:
        """The processor time of all its processes together. Raises OSError."""
        version, folder = self._folders["cpu"]
        quota = None if cores is None else max(1000, round(cores * PERIOD))
        if version == 2:
            (folder / "cpu.max").write_text(f"{'max' if quota is None else quota} {PERIOD}")
        else:
            (folder / "cpu.cfs_quota_us").write_text(str(-1 if quota is None else quota))

    def cpu_limit(self) -> float | None:
        """Cores; None for no limit."""
        version, folder = self._folders["cpu"]
        if version == 2:
            quota, period = (folder / "cpu.max").read_text().split()
        else:
            quota, period = (
                (folder / f"cpu.cfs_{each}_us").read_text().strip() for each in ("quota", "period")
            )
        return None if quota in ("max", "-1") else int(quota) / int(period)

    def throttled(self) -> int:
        """How often the kernel let them wait because of the limit."""
        return _counter(self._folders["cpu"][1] / "cpu.stat", "nr_throttled")

    def limit_memory(self, size: int | None) -> None:
        """Bytes of all its processes together, with the files that they cache. Raises OSError."""
        version, folder = self._folders["memory"]
        if version == 2:
            (folder / "memory.max").write_text("max" if size is None else str(size))
        else:
            (folder / "memory.limit_in_bytes").write_text(str(-1 if size is None else size))

    def memory(self) -> tuple[int, int | None]:
        """(bytes in use, bytes allowed; None for no limit)."""
        version, folder = self._folders["memory"]
        names = ("current", "max") if version == 2 else ("usage_in_bytes", "limit_in_bytes")
        used, limit = ((folder / f"memory.{name}").read_text().strip() for name in names)
        return int(used), None if limit == "max" or int(limit) >= UNLIMITED else int(limit)

    def reached(self) -> int:
        """How often they needed more than the limit, and the kernel had to reclaim memory or to kill one of them."""
        version, folder = self._folders["memory"]
        if version == 2:
            return _counter(folder / "memory.events", "max")
        return int((folder / "memory.failcnt").read_text())

    def remove(self) -> None:
        for _, folder in self._folders.values():
            with suppress(OSError):
                folder.rmdir()


def _make(wanted: str, name: str) -> tuple[int, Path]:
    """Version and folder of the new group."""
    version, parent = _parent(wanted)
    _remove_abandoned(parent)
    folder = parent / name
    folder.mkdir(exist_ok=True)
    file = {"packets": "cgroup.procs", "cpu": "cpu.stat", "memory": "memory.events"}[wanted]
    if version == 2 and not (folder / file).exists():
        raise Unavailable(f"the controller {wanted} is not enabled in {parent / 'cgroup.subtree_control'}")
    return version, folder


def _parent(wanted: str) -> tuple[int, Path]:
    """The group below which ours are made: our own, whose limits hold for them, too. In version 2, a group that has
    processes cannot hand controllers on, except the root."""
    for version, root, controllers, own in hierarchies():
        if version == 1 and wanted in controllers:
            return 1, root / own
        if version == 2 and wanted == "packets":
            return 2, root / own
        if version == 2 and wanted in (root / "cgroup.controllers").read_text().split():
            enabled = (root / "cgroup.subtree_control").read_text().split()
            if wanted not in enabled:
                (root / "cgroup.subtree_control").write_text(f"+{wanted}")
            return 2, root
    raise Unavailable(f"no hierarchy of control groups for {wanted} is mounted")


def hierarchies() -> Iterator[tuple[int, Path, frozenset[str], Path]]:
    """(version, where it is mounted, its controllers, our own group in it)."""
    own: dict[str, Path] = {}
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        own |= dict.fromkeys(controllers.split(","), Path(path.lstrip("/")))
    for line in Path("/proc/self/mounts").read_text().splitlines():
        _, folder, kind, options, *_ = line.split()
        if kind == "cgroup2":
            yield 2, Path(folder), frozenset(), own.get("", Path())
        elif kind == "cgroup":
            controllers_of = frozenset(options.split(",")) & own.keys()
            if controllers_of:
                yield 1, Path(folder), controllers_of, own[min(controllers_of)]


def _remove_abandoned(parent: Path) -> None:
    """Groups of processes that were killed before they could remove them."""
    for folder in parent.glob("kafkacheck-*"):
        owner = _OWNED.fullmatch(folder.name)
        if owner and not Path(f"/proc/{owner[1]}").exists():
            with suppress(OSError):  # it still has processes, which are about to end
                folder.rmdir()


def _counter(file: Path, name: str) -> int:
    found = re.search(rf"^{name} (\d+)$", file.read_text(), re.M)
    return int(found[1]) if found else 0
