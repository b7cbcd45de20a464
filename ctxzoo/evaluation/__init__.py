"""Saved checkpoints over a split, results files and the tables made from them."""
