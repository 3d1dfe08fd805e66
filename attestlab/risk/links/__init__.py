"""Links: entities that one signal or raw event names together, such as a user and the device of a login."""
