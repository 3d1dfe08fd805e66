"""Declared routes, the router that finds them, what each requires, and OpenAPI made from them."""
