"""The actions of ``kafkacheck image``, one file each. May import what commands import, but no other command."""

from pytest_kafkacheck.cli.command import CommandGroup

COMMAND = CommandGroup(name="image", help="build and list broker images", order=110, package=__name__)
