"""The limits of a service, which are options of `ctxzoo serve` too; nothing that takes time is imported."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Limits:
    """What a service takes.

    Attributes:
        max_bytes: Largest body of a request, in bytes.
        max_rows: Largest number of rows of a request.
        max_characters: Largest number of characters of a text in a row.
        queue: Largest number of requests that are answered or wait for it.
        timeout: Seconds in which a body is to arrive, and in which a request is to be answered.
    """

    max_bytes: int = field(default=1_000_000, metadata={"help": "largest body of a request"})
    max_rows: int = field(default=1000, metadata={"help": "most rows of a request"})
    max_characters: int = field(default=100_000, metadata={"help": "longest text of a row"})
    queue: int = field(
        default=64, metadata={"help": "most requests that are answered or wait; further ones are told to come back"}
    )
    timeout: float = field(
        default=60, metadata={"help": "seconds in which a request arrives, and in which it is answered"}
    )
