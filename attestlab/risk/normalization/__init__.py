"""Raw events and the tenant's mapping, which normalizes them to signals."""
