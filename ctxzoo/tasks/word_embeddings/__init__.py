"""Word embeddings: training and evaluating them."""
