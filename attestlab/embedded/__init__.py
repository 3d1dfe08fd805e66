"""The service inside of this process: the real application on a separate event loop, without a port."""
