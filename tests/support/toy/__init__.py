"""A classifier of texts by docs/adding_an_architecture.md: the mean of the words of a text, weighed by gates."""
