"""`views.*`: how long people wait for a view in a cell of a notebook, and what it costs the kernel and the notebook."""
