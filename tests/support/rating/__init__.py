"""A problem of its own kind, to see that general code fits it: how a person rates a thing.

No text and no sequence, so no tokenizer; transformers has no Auto class and no pipeline for it; the lower its score the
better.
"""
