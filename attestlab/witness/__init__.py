"""A witness of logs that others run: it cosigns a tree head only if the tree grew from the one it cosigned before."""
