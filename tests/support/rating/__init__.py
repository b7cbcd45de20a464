"""A problem of its own kind, to see that general code fits it: how a person rates a thing.

No text and no sequence, so no tokenizer; transformers has no Auto class and no pipeline for it; the lower its score the
better.
"""

from typing import TYPE_CHECKING

from ctxzoo.lazy_exports import lazy_exports

__all__ = ["RatingDataModule", "RatingScores", "RatingTask", "evaluate"]

if TYPE_CHECKING:
    from tests.support.rating.data import RatingDataModule
    from tests.support.rating.task import RatingScores, RatingTask, evaluate
else:
    __getattr__, __dir__ = lazy_exports(__name__)
