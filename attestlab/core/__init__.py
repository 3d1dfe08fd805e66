"""What every capability stands on; imports nothing else of this package."""
