"""A checkpoint as a service over HTTP, `ctxzoo serve`, and as a function of batches for engines that share them out."""
