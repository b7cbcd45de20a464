"""Data of any problem: where it comes from, files, texts as ids, folds, and batches that resume."""
