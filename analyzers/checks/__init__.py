"""The checks: each file declares one promise, or a few that belong together, with everything that is said about them.

To add a check, add a file with a `Check` at its top level; `analyzers.catalogue.registry` finds it. Imports only
`analyzers.catalogue`.
"""
