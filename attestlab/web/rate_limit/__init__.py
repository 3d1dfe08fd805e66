"""Rate limits of requests, and the client addresses that they count."""
