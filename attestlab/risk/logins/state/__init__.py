"""What is remembered about users, sources and crowds: small documents of bounded size, one for each key."""
