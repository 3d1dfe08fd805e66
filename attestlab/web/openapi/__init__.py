"""OpenAPI 3.1, generated from the routes and models that validate and answer requests."""
