"""The claims. Each file binds CLAIM, and its name begins with the claim's id."""
