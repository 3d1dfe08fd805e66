"""Route declarations, the router, and the requirements of each route."""
