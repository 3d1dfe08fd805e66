"""A tour of the API: every operation is called once on a real server, and what went over the wire is captured.

The examples of the API reference are such a capture; a test takes the tour again.
"""
