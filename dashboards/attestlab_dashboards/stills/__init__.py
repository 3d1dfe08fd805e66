"""Stills: a page of the dashboards as one HTML file that needs no script, no server and no other host."""
