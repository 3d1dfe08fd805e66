"""The dashboards: Panel pages over the facade, in a process of their own next to the server."""
