"""Where a training of word vectors is."""

from __future__ import annotations

from dataclasses import dataclass, field

REPORT_SECONDS = 0.5  # between two reports of a trainer


@dataclass
class EmbeddingProgress:
    """The progress that a trainer reports.

    Attributes:
        epoch: passes that are finished.
        words: words read, of all passes; those that subsampling leaves out count, unknown ones do not.
        total_words: of the whole training.
        seconds: spent in training, over all resumptions.
        rate: learning rate now.
        loss: of the present pass, nats for each centre, from every 16th centre.
        epoch_losses: of the finished passes.
    """

    epoch: int = 0
    words: int = 0
    total_words: int = 0
    seconds: float = 0.0
    rate: float = 0.0
    loss: float = float("nan")
    epoch_losses: list[float] = field(default_factory=list)
