"""The card of session recommendation, where `ctxzoo.tasks.card_named` looks for it."""

from ctxzoo.tasks.sequences.card import SESSION_CARD as CARD

__all__ = ["CARD"]
