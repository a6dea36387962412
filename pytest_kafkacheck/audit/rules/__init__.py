"""The rules. Each file binds RULES; `audit.assess` finds them."""
