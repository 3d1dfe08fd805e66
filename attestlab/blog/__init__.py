"""The operator's blog: posts in Markdown, their history of addresses, and pictures of our own (CONTRACT 11.7)."""
