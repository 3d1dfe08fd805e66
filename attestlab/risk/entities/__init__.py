"""Entities: everything that is known about one user, device, address or other thing."""
