"""The foundation of all capabilities; it imports no other part of this package."""
