"""Faults that stop nodes in a controlled way and start them again, one after another."""

from __future__ import annotations

from collections.abc import Mapping

from nemesis.fault import Fault, FaultContext, Proof
from nemesis.steps.processes import KILLED
from nemesis.steps.serving import LIMIT, note_explaining, served_before


class OneByOne(Fault):
    """The next node is stopped when the one before it serves clients again."""

    family = "process"
    end_proved_by = "the process of every node runs"
    takes_all_nodes = True
    one_at_a_time = True
    momentary = True
    blocks_process = True
    strikes_serving = True

    def change(self, context: FaultContext, number: int) -> None:
        """Done to a node while it is stopped."""

    def seen(self, context: FaultContext, number: int) -> Mapping[str, object]:  # noqa: ARG002 - nothing else
        """What is observed of a node that was started again, besides that it serves. A false value: not effective."""
        return {}

    def may_go_on(self, context: FaultContext) -> bool:  # noqa: ARG002 - there is nothing else to wait for
        """Wait for what the next node has to wait for, besides that this one serves. Returns whether it came."""
        return True

    def inject(self, context: FaultContext) -> None:
        note_explaining(context)
        restarted = context.notes.setdefault("restarted", {})
        for number in context.node_ids:
            node = context.cluster.nodes[number]
            before = node.incarnation()
            context.processes.want(context.event, number, "stopped", gently=True)
            ended_by_itself = node.state() == "stopped" and node.exit_code() != KILLED
            self.change(context, number)
            context.processes.release(context.event, number)
            is_serving = context.wait_until(lambda number=number: context.cluster.serving(number), LIMIT)  # type: ignore[misc]
            restarted[number] = {
                "ended_by_itself": ended_by_itself,
                "new_incarnation": node.incarnation() != before,
                "serving": is_serving,
                **self.seen(context, number),
            }
            # Stopping the next one would otherwise take two nodes, or two replicas, away at once.
            if not is_serving or not self.may_go_on(context):
                return

    def verify_injected(self, context: FaultContext) -> Proof:
        restarted = context.notes["restarted"]
        is_complete = len(restarted) == len(context.node_ids)
        effective = is_complete and all(all(each.values()) for each in restarted.values())
        served = {number: served_before(context, number) for number in restarted}
        by_node = {str(number): {**each, **served[number].evidence} for number, each in restarted.items()}
        return Proof(effective and all(proof.effective for proof in served.values()), {"restarted": by_node})

    def heal(self, context: FaultContext) -> None:
        problems = []
        for number in context.node_ids:  # this has an effect only if the injection failed half-way
            try:
                context.processes.release(context.event, number)
            except Exception as problem:
                problem.add_note(f"while starting node {number}")
                problems.append(problem)
        if problems:
            raise ExceptionGroup("not every node could be started", problems)

    def verify_healed(self, context: FaultContext) -> Proof:
        states = {
            number: context.cluster.nodes[number].state()
            for number in context.node_ids
            if context.processes.wanted(number) == "running"
        }
        is_running = all(state == "running" for state in states.values())
        return Proof(is_running, {"states": {str(number): state for number, state in states.items()}})
