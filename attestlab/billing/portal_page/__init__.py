"""The embedded billing portal: links that open it, and the sessions of browsers that opened one (CONTRACT 11.6)."""
