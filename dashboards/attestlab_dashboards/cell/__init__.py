"""Pages of the dashboards in cells of notebooks: what `lab.explore` shows, and what it gives to the next cell."""
