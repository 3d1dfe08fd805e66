"""The parts of the drawer of an agent, one a module."""
