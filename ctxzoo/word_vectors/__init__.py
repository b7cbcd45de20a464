"""Word vectors: reading, writing, looking up."""
