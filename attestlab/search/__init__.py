"""One search over everything of a tenant that the caller may read."""
