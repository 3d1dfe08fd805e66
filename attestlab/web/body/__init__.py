"""Reading of request bodies: strict JSON, with one large member streamed."""
