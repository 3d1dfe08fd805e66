"""Saved views: the filters of a page of the dashboards by a name, for the person who saved them or for the tenant."""
