"""The rules. Each file binds RULES, about one cause; `audit.registry` finds them."""
