"""`TaskCard`: everything in which cards, results and the end of a run differ from problem to problem."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from ctxzoo.hub.card_facts import DatasetFacts
from ctxzoo.hub.card_parts import Snippets
from ctxzoo.hub.saved_model import SavedModel, read_saved_model
from ctxzoo.lazy_exports import import_object
from ctxzoo.models.configuration_base import ZooConfig
from ctxzoo.results.result import RunResult


@dataclass(frozen=True)
class Metric:
    """One number of a run.

    Attributes:
        hub_type: Type of the metric on the Hub.
        name: Name of the metric that readers see.
        is_score: Whether the metric is a score of the model; bounds and losses are shown in cards but are not
            evaluation results.
        decimals: Number of decimals in cards and tables, enough to tell models apart.
    """

    hub_type: str
    name: str
    is_score: bool = True
    decimals: int = 2


@dataclass(frozen=True)
class LabelTable:
    """A table of what is said of each label.

    Attributes:
        title: Title of the table.
        rows: Rows of cells, headings first.
    """

    title: str
    rows: list[list[str]]


class TaskCard(ABC):
    """One problem: what is written about a model that does it, and how such a model predicts.

    Attributes:
        name: Name of the problem, as in `zoo_task` of the heads.
        pipeline_tag: Name of the problem on the Hub and of its pipeline in transformers; None where they have none.
        pipeline_at: Place of the class of the pipeline, of transformers or of ctxzoo, as "module:name", imported when
            needed; None where there is none.
        title: Name that readers see.
        predictions: Plural noun for the model's outputs.
        intended, not_intended: Sentences on what a model for this problem is meant for, and on what it is not meant
            for.
        metrics: Metrics of a run by name, in the order of the card; the first two go into the card's metadata.
        headline: Names of the one or two metrics in tables of many runs; rows are compared by the first.
        results_note: Note on how to read the numbers in the card's results.
        curves: Names of the validation metrics that a results file keeps for every epoch.
        drawn: Names of the one or two metrics in the picture of learning curves, with their labels.
        sample: Name of the generated data that the DataModule of this problem has as "sample".
        own_example: Inputs of ours for an example on any data; None: each dataset has its own example.
        example_keys: Keys that a card's example must have.
        pipeline_note: Text in the card before the pipeline's code snippet.
        call: Arguments of a call of the pipeline, as Python source.
        trains_word_vectors: Whether trainings of this problem always train pretrained word vectors further; False: the
            settings say so.
    """

    name: ClassVar[str]
    pipeline_tag: ClassVar[str | None] = None
    pipeline_at: ClassVar[str | None] = None
    title: ClassVar[str]
    predictions: ClassVar[str]
    intended: ClassVar[str]
    not_intended: ClassVar[str]
    metrics: ClassVar[Mapping[str, Metric]]
    headline: ClassVar[tuple[str, ...]]
    results_note: ClassVar[str]
    curves: ClassVar[tuple[str, ...]]
    drawn: ClassVar[Mapping[str, str]]
    sample: ClassVar[DatasetFacts]
    own_example: ClassVar[Mapping[str, Any] | None] = None
    example_keys: ClassVar[tuple[str, ...]]
    pipeline_note: ClassVar[str] = ""
    call: ClassVar[str] = ""
    trains_word_vectors: ClassVar[bool] = False

    @abstractmethod
    def list_identity_rows(self, config: ZooConfig) -> list[list[str]]:
        """Return further rows for the table of a card that says what the model is."""

    def format_variant(self, result: RunResult) -> str:
        """Return the name of the variant in the first table."""
        return f"`{result.variant}`"

    def describe_comparability(self, result: RunResult) -> str:
        """Return sentences on which other scores the results compare with, in addition to `DATASET_FACTS`."""
        return ""

    def choose_headline(self, metrics: Mapping[str, float]) -> tuple[str, ...]:
        """Return the names of the metrics by which a result with such metrics is compared with baselines."""
        return self.headline

    def list_label_tables(self, result: RunResult) -> list[LabelTable]:
        """Return tables of the scores of each label on the split that a result reports; empty: there are none."""
        return []

    def describe_data(self, result: RunResult) -> Iterable[str]:
        """Return sentences on the data of the training, from its settings."""
        return ()

    @abstractmethod
    def describe_limits(self, config: ZooConfig, metrics: Mapping[str, float]) -> Iterable[str]:
        """Return sentences for a card, from the config and the metrics of the reported split."""

    @abstractmethod
    def build_snippets(self, example: Mapping[str, Any], repo_id: str) -> Snippets:
        """Return the example programs of a card; they load `repo_id` and run `example`."""

    @abstractmethod
    def predict(self, model: Any, tokenizer: Any, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """Return the model's output for an example's inputs; `tokenizer` is None for an architecture without one."""

    def load_pipeline(self, checkpoint: str | SavedModel, **options: Any) -> Any:
        """Open a checkpoint of this problem as a pipeline, without running code of the checkpoint.

        Args:
            checkpoint: Checkpoint folder or Hub id with model and tokenizer, or the object that `read_saved_model`
                returns for it.
            options: Options of the pipeline's class, such as device and batch_size.

        Raises:
            CheckpointFolderError, OSError: see `load_saved_model`.
            ValueError: a checkpoint of another problem; the problem has no pipeline.
        """
        saved = checkpoint if isinstance(checkpoint, SavedModel) else read_saved_model(checkpoint)
        head = saved.model_class
        if head.zoo_task != self.name:
            raise ValueError(
                f"{saved.checkpoint!r} holds a {head.__name__}, which does {head.zoo_task}, not {self.name}"
            )
        if self.pipeline_at is None:
            raise ValueError(
                f"{saved.checkpoint!r} does {self.name}, for which there is no pipeline; load its model with "
                f"{head.__name__}.from_pretrained of {head.__module__}, or use `ctxzoo predict`"
            )
        return self.build_pipeline(*saved.load(), **options)

    def build_pipeline(self, model: Any, tokenizer: Any, **options: Any) -> Any:
        """Build the pipeline of this problem, which has one, around a model and its tokenizer."""
        assert self.pipeline_at is not None
        return import_object(self.pipeline_at)(model=model, tokenizer=tokenizer, task=self.pipeline_tag, **options)

    def explain(self, model: Any, tokenizer: Any, texts: Sequence[str]) -> list[Any]:
        """Return for each text how much each word contributed; only some problems have this method."""
        raise NotImplementedError(f"{self.name} has no explanations")

    @classmethod
    def can_explain(cls) -> bool:
        """Return whether the problem has `explain`."""
        return cls.explain is not TaskCard.explain

    @abstractmethod
    def format_example(self, example: Mapping[str, Any]) -> list[str]:
        """Return the example and the model's output as text for the terminal."""

    def parse_example(self, text: str) -> dict[str, Any]:
        """Return inputs for `predict` from a text that a user typed for the card.

        Raises:
            ValueError: an example of this problem is no text, and a card holds nothing of the data.
        """
        raise ValueError(
            f"the example in a card of {self.name} is no text; ask for one without a text, or for none "
            "(or set `example`)"
        )

    def make_builtin_example(self, model: Any, tokenizer: Any) -> dict[str, Any]:
        """Return inputs for `predict` that contain no text of the dataset; called if `own_example` is None."""
        raise NotImplementedError(f"{self.name} has an own_example")

    def pick_split_example(self, data: Any, split: str) -> dict[str, Any] | None:
        """Return inputs for `predict` from a split, with the right answer under "gold"; None if there are none."""
        return None

    def draw_figures(  # noqa: B027  most problems have none
        self, task: Any, data: Any, example: Mapping[str, Any], folder: Path
    ) -> None:
        """Draw further pictures beside the learning curves into a folder; by default none."""

    def describe_config(self, config: ZooConfig) -> Iterable[str]:
        """Return further lines of `ctxzoo info` on a checkpoint, beside fields and parameters."""
        return ()


def describe_vocabulary(config: ZooConfig) -> Iterable[str]:
    """Yield lines for `describe_config` on how many words and characters a model knows."""
    for name, what in (("vocab_size", "words"), ("char_vocab_size", "characters")):
        if hasattr(config, name):
            yield f"{what}: {getattr(config, name):,} rows, the special ones included"


def format_loading_snippet(checkpoint: Path, card: TaskCard) -> list[str]:
    """Return the lines of a program that loads a checkpoint folder as a pipeline; none without a pipeline."""
    if card.pipeline_tag is None:
        return []
    return [
        "load it:",
        "    from transformers import pipeline",
        f'    model = pipeline("{card.pipeline_tag}", model="{checkpoint}", trust_remote_code=True)',
        f"    model({card.call})",
    ]
