"""Copies the segments of partitions out of a node's container."""

from __future__ import annotations

import shlex
import tarfile
from collections.abc import Iterable, Mapping
from io import RawIOBase
from itertools import accumulate
from pathlib import Path
from typing import IO, Any, cast

from pytest_kafkacheck.cluster.docker.executing import execute, output_of
from pytest_kafkacheck.cluster.spec.properties import DATA
from workloads.clients.protocol import Log

TIMEOUT = 30.0
"""Seconds without any output."""

MOST = 1 << 30
"""Bytes that are copied of one node: more would take longer than people wait for the end of a run."""

# Not whole folders: indexes are made with their full size of 10 MB.
LISTED = "cd {data} && for file in {patterns}; do [ ! -e $file ] || stat -c '%s %n' $file; done"
ARCHIVED = "cd {data} && tar -cf - {patterns}"


def copy_segments(
    api: Any, container: str, logs: Iterable[Log], folder: Path
) -> Mapping[Log, list[Path] | OSError]:
    """Copy the segments of these partitions into the folder, the smallest partitions first.

    Returns the copies of each, in the order of their offsets; none for a partition that the node does not have, and
    an OSError for one that would make the copies larger than `MOST`.
    Raises OSError where they cannot be read, or APIError where the container does not run.
    """
    names = {f"{topic}-{partition}": (topic, partition) for topic, partition in logs}
    sizes = _sizes(api, container, names)
    fits = fitting(sizes, MOST)
    found: dict[Log, list[Path]] = {names[name]: [] for name in fits}
    left_out = {log: _too_large(sizes[name]) for name, log in names.items() if log not in found}
    patterns = " ".join(_pattern(name) for name in fits if sizes[name])
    if not patterns:
        return {**found, **left_out}
    command = ARCHIVED.format(data=DATA, patterns=patterns)
    stream = _Stream(output_of(api, container, ["sh", "-c", command], timeout=TIMEOUT))
    with tarfile.open(fileobj=cast(IO[bytes], stream), mode="r|") as archive:
        for member in archive:
            log = names[str(Path(member.name).parent)]
            copy = folder / f"{log[0]}-{log[1]}-{Path(member.name).name}"
            source = archive.extractfile(member)
            assert source is not None, member.name
            with copy.open("wb") as target:
                while block := source.read(1 << 20):
                    target.write(block)
            found[log].append(copy)
    return {**{log: sorted(paths) for log, paths in found.items()}, **left_out}


def fitting(sizes: Mapping[str, int], most: int) -> list[str]:
    """Names of the smallest ones that have `most` bytes or fewer together."""
    names = sorted(sizes, key=lambda name: (sizes[name], name))
    totals = accumulate(sizes[name] for name in names)
    return [name for name, total in zip(names, totals, strict=True) if total <= most]


def _sizes(api: Any, container: str, names: Iterable[str]) -> dict[str, int]:
    """Bytes of the segments of each partition; 0 without any."""
    command = LISTED.format(data=DATA, patterns=" ".join(map(_pattern, names)))
    status, output = execute(api, container, ["sh", "-c", command], timeout=TIMEOUT)
    if status:
        raise OSError(f"the segments in {DATA} cannot be listed: {output.strip()}")
    sizes = dict.fromkeys(names, 0)
    for line in output.splitlines():
        size, _, name = line.partition(" ")
        sizes[str(Path(name).parent)] += int(size)
    return sizes


def _pattern(name: str) -> str:
    return f"{shlex.quote(name)}/*.log"


def _too_large(size: int) -> OSError:
    return OSError(
        f"its segments have {size >> 20:,} MiB, and at most {MOST >> 20:,} MiB of a broker are compared, "
        "those of the smallest partitions first"
    )


class _Stream(RawIOBase):
    """What tarfile reads of an output that arrives piece by piece."""

    def __init__(self, pieces: Iterable[bytes]) -> None:
        self._pieces, self._rest = iter(pieces), b""

    def read(self, size: int = -1) -> bytes:
        parts = [self._rest]
        length = len(self._rest)
        while (size < 0 or length < size) and (piece := next(self._pieces, None)) is not None:
            parts.append(piece)
            length += len(piece)
        data = b"".join(parts)
        size = len(data) if size < 0 else size
        self._rest = data[size:]
        return data[:size]
