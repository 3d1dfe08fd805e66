"""The HTTP toolkit. It depends on no capability and contains no business policy."""
