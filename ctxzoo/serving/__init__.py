"""A checkpoint as a service over HTTP, `ctxzoo serve`: what it answers, the requests it reads, and its server."""
