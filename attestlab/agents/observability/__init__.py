"""What agents report of their work, its figures, and the anomalies that it shows (CONTRACT 11.12)."""
