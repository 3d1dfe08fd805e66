"""Route declarations, the router, the requirements of each route, and OpenAPI generated from them."""
