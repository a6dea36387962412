"""All explainers, as the files of `analyzers.causes.explainers` declare them."""

from __future__ import annotations

from collections.abc import Mapping

from analyzers.causes.explainer import Explainer
from analyzers.causes.kind import CauseKind
from analyzers.discovery import declared

EXPLAINERS: tuple[Explainer, ...] = tuple(
    sorted(declared("analyzers.causes.explainers", Explainer), key=lambda each: each.rank)
)
"""In the order in which they are asked."""

KINDS: Mapping[str, CauseKind] = {kind.name: kind for each in EXPLAINERS for kind in each.kinds}
"""By name."""
