"""Handles: the objects that the facade returns, with the fields that the service sent and the verbs that follow."""
