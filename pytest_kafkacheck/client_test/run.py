"""Carries out the rules, and says for each in one line whether it is kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from pytest_kafkacheck.client_test import (
    consumer_rules,
    group_rules,
    process_rules,
    producer_rules,
    share_rules,
    transaction_rules,
)
from pytest_kafkacheck.client_test.bench import Bench, Broken, Brokers, Rule
from workloads.clients.command.messages import Hello, Refusal
from workloads.clients.command.process import ClientFailure

RULES: tuple[Rule, ...] = (
    *process_rules.RULES,
    *producer_rules.RULES,
    *consumer_rules.RULES,
    *transaction_rules.RULES,
    *group_rules.RULES,
    *share_rules.RULES,
)

WIDTH = max(len(rule.name) for rule in RULES)


def run_rules(
    command: Sequence[str], brokers: Brokers, *, run: str, log: Path, say: Callable[[str], None]
) -> int:
    """How many rules are broken. say: takes one line for each rule. run: unique; topics are named after it."""
    bench = Bench(command, brokers, run=run, log=log)
    hello: Hello | None = None
    broken = skipped = 0
    for rule in RULES:
        if hello is not None and (missing := hello.missing(rule.needs)):
            skipped += 1
            say(f"skip  {rule.name:<{WIDTH}}  without {', '.join(missing)}")
            continue
        if brokers.release < rule.release:
            skipped += 1
            say(
                f"skip  {rule.name:<{WIDTH}}  needs brokers of Kafka {'.'.join(map(str, rule.release))} or later"
            )
            continue
        problem = None
        try:
            with bench:
                if hello is None:
                    hello = bench.start().hello
                rule.test(bench)
        except (Broken, ClientFailure) as error:
            problem = str(error)
        except Refusal as error:
            problem = f"it answered with the error {error}"
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            problem = f"an answer is not in the form of the protocol: {type(error).__name__}: {error}"
        if problem is None:
            say(f"pass  {rule.name:<{WIDTH}}  {rule.says}")
            continue
        broken += 1
        say(f"FAIL  {rule.name:<{WIDTH}}  {problem}; the rule: {rule.says}")
        if hello is None:
            say("Without a hello, no other rule can be tested.")
            return broken
    say(f"{hello}: {len(RULES) - broken - skipped} rules kept, {broken} broken, {skipped} not applicable")
    return broken
