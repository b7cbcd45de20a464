"""What a run leaves, and how it is read: results files, comparisons, tables, figures."""
