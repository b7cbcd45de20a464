"""Tables of README and docs, and the pictures of the papers, from results files."""
