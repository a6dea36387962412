"""Copies the segments of partitions out of a node's container."""

from __future__ import annotations

import shlex
import tarfile
from collections.abc import Iterable, Mapping
from io import RawIOBase
from pathlib import Path
from typing import IO, Any, cast

from pytest_kafkacheck.cluster.docker.executing import output_of
from pytest_kafkacheck.cluster.spec.properties import DATA
from workloads.clients.protocol import Log

TIMEOUT = 30.0
"""Seconds without any output."""

MOST = 1 << 30
"""Bytes that are copied of one node: more would take longer than people wait for the end of a run."""


def copy_segments(api: Any, container: str, logs: Iterable[Log], folder: Path) -> Mapping[Log, list[Path]]:
    """Copy all segments of these partitions into the folder.

    Returns the copies of each, in the order of their offsets; none for a partition that the node does not have.
    Raises OSError, also where they are larger than `MOST`, or APIError where the container does not run.
    """
    names = {f"{topic}-{partition}": (topic, partition) for topic, partition in logs}
    found: dict[Log, list[Path]] = {log: [] for log in names.values()}
    # Not whole folders: indexes are made with their full size of 10 MB.
    patterns = " ".join(f"{shlex.quote(name)}/*.log" for name in names)
    command = f"cd {DATA} && for file in {patterns}; do [ ! -e $file ] || echo $file; done | tar -cf - -T -"
    stream = _Stream(output_of(api, container, ["sh", "-c", command], timeout=TIMEOUT))
    size = 0
    with tarfile.open(fileobj=cast(IO[bytes], stream), mode="r|") as archive:
        for member in archive:
            size += member.size
            if size > MOST:
                raise OSError(f"the segments of {', '.join(names)} have more than {MOST >> 20:,} MiB")
            log = names[str(Path(member.name).parent)]
            copy = folder / f"{log[0]}-{log[1]}-{Path(member.name).name}"
            source = archive.extractfile(member)
            assert source is not None, member.name
            with copy.open("wb") as target:
                while block := source.read(1 << 20):
                    target.write(block)
            found[log].append(copy)
    return {log: sorted(paths) for log, paths in found.items()}


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
