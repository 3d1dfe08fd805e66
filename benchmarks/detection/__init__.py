"""How well account takeover is detected: our detector and plain rivals on generated worlds of held-out seeds."""
