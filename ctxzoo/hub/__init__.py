"""The checkpoint folder: writing, card, verification and push."""
