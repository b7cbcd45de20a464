"""The datasets that results of ctxzoo were computed on: where each comes from, how it is built, and its check."""
