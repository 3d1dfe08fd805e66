"""Machine agents: registration, lifecycle, keys and statements (SPEC, Machine agent; CONTRACT 11.8)."""
