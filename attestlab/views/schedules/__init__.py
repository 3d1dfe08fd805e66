"""Reports of saved views by mail: who gets one, when it is due, and its text."""
