"""The service inside of this process: the real application on a loop of its own, without a port."""
