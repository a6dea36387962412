"""The actions of ``kafkacheck cluster``, one file each. May import what commands import, but no other command."""

from pytest_kafkacheck.cli.command import CommandGroup

COMMAND = CommandGroup(name="cluster", help="start, list and remove clusters", order=100, package=__name__)
