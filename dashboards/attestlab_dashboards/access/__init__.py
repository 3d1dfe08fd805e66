"""The page about access: the people, API keys and sessions of the tenant, and what each of them did."""
