"""Waits until an application has made an output of every input, or does nothing more."""

from __future__ import annotations

import time

from workloads.reference import NotLoadable
from workloads.roles.context import WorkerContext
from workloads.roles.output_source import UNNAMED, OutputSource, UnknownIdentity

SHORT_QUIET = 2.0
"""Seconds without an output after which nothing more is expected of an application that has made, or passed, all."""

ASK_AGAIN = 1.0
"""Seconds between two questions about the positions of its group."""


def wait_for_outputs(context: WorkerContext) -> None:
    """Once `context.stop` is set, wait until the output is quiet: no new record for `SHORT_QUIET` seconds once every
    input has an output or the group has committed the end of the source, otherwise for those of the option quiet.

    Options: quiet, settle (seconds after which it gives up), and those of `OutputSource`.
    """
    context.ready()
    context.stop.wait()
    if context.gone.is_set():
        return
    try:
        _wait(context, OutputSource(context))
    except (NotLoadable, UnknownIdentity):
        return  # the role that records the output reports it
    except TimeoutError as error:
        context.problem(f"The output could not be read while the application ran: {error}")


def _wait(context: WorkerContext, source: OutputSource) -> None:
    wanted, consumer = source.inputs(), source.consumer()
    began = last = asked = time.monotonic()
    seen: set[int] = set()
    outputs, is_passed = 0, False
    try:
        while not context.gone.is_set():
            polled = consumer.outputs(0.2)
            now = time.monotonic()
            if polled:
                last, outputs = now, outputs + len(polled)
            for output in polled:
                seen.update(source.named(output))
            is_complete = len(seen - {UNNAMED}) >= wanted
            if not is_complete and not is_passed and now - asked >= ASK_AGAIN:
                asked, is_passed = now, source.has_passed()
            if now - last >= (SHORT_QUIET if is_complete or is_passed else context.options["quiet"]):
                return
            if now - began >= context.options["settle"]:
                named = f" that name {len(seen - {UNNAMED}):,} of {wanted:,} inputs"
                context.problem(
                    f"The output {source.sink} was not quiet {context.options['settle']:g} s after the last input: "
                    f"it had {outputs:,} records{named if source.aggregate is None else ''}, and the application "
                    f"went on writing. Let it end what it does, or set settle to a longer time"
                )
                return
    finally:
        consumer.close()
