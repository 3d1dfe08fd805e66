"""Other notations of a policy: Cedar, Rego and TOML."""
