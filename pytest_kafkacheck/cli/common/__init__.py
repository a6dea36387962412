"""What several commands use: groups of options, progress, JSON output. May import what commands may; no command."""
