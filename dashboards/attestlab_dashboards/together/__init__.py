"""What people of a tenant do together on every page: saved views, and annotations at the charts of time."""
