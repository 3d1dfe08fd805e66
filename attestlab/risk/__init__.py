"""Risk: signals about users, devices, addresses and other entities, the decisions about them, and their analysis."""
