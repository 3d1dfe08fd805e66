"""`dash.*`: how long people wait at the dashboards, alone and twenty at once, and what that leaves for the API."""
