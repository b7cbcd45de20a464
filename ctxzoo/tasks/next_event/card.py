"""The card of next event, where `ctxzoo.tasks.card_named` looks for it."""

from ctxzoo.tasks.sequences.card import EVENT_CARD as CARD

__all__ = ["CARD"]
