"""HTTP/1.1 on a socket (RFC 9112): accept connections, read heads and bodies, write responses."""
