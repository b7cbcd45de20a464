"""References: what the package computes fast, computed a second time from its definition, by loops and in float64."""
