"""How a command leaves its work to the daemon."""


class HandOver(Exception):
    """Raised by a command that has printed and written nothing yet: the daemon is to carry it out."""
