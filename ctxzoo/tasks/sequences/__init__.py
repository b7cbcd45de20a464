"""Sequences of named things: sessions of items, and histories of events at times; what comes next is predicted."""
