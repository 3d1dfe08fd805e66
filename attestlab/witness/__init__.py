"""A witness of other operators' logs: it cosigns a tree head only if the tree extends the one it cosigned before."""
