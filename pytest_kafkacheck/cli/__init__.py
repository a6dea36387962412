"""The command line. Each file that binds COMMAND is a command; `common` holds what several commands use.

May import everything, at start-up only light modules: a command imports what it needs when it runs. Nothing outside
this folder imports from it, except ``__main__``.
"""
