"""Sign-in of people: passwords, sessions and tokens."""
