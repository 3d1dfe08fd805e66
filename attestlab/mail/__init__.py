"""E-mails: written with what they tell of, and carried when that is durable."""
