"""Types of receipts: named and versioned JSON Schemas, to which the payloads of receipts conform."""
