"""Answers to the questions of a user's file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ctxzoo.data.answer_files import Answer
from ctxzoo.data.reading_notes import skip_or_raise
from ctxzoo.data.rows import Row, RowStream, build_row_stream
from ctxzoo.data.text_files import get_unpacked_suffix
from ctxzoo.tasks.question_answering.squad_json import SquadFormatError, read_questions

if TYPE_CHECKING:
    from ctxzoo.models.pipeline_question_answering import QuestionAnsweringPipeline

COLUMNS = ("question", "context")
ID = "id"  # of a question; where there is none, the number of its row, from 0


class QuestionAnswers:
    """The answers of a reader to rows of a user's file, each a question with its context.

    A .json file of them has id to answer, "" for no answer, and `no_answer_scores` are id to no-answer score, 0 to 1:
    the two files of the official SQuAD 2.0 script. The script looks for the best threshold only in answers that were
    given: for it, set the threshold to 1.

    Args:
        reader: Question answering pipeline of a checkpoint.
        no_answer_threshold: No-answer score above which the answer is the empty string; default: the threshold in the
            model's config.
        batch_size: Number of windows of a context that the model reads at once.
    """

    def __init__(
        self, reader: QuestionAnsweringPipeline, *, no_answer_threshold: float | None = None, batch_size: int = 32
    ) -> None:
        self.reader = reader
        self.options = {} if no_answer_threshold is None else {"no_answer_threshold": no_answer_threshold}
        self.batch_size = batch_size
        self.rows = self.empty = 0
        self.no_answer_scores: dict[str, float] = {}

    def __call__(self, rows: Sequence[Row], stream: RowStream) -> list[Answer | None]:
        """Answer the question of each row and return the answers in order; None for a row that is left out.

        Raises:
            SquadFormatError: Columns are missing, all of which are named; a row without a question or context; two
                questions of one id.
        """
        missing = [name for name in COLUMNS if name not in rows[0]]
        if missing:
            problem = f"no column {', '.join(map(repr, missing))}; there are {list(rows[0])}, expected {list(COLUMNS)}"
            raise SquadFormatError(f"{stream.name}: {problem}")
        identifiers = [self._check_row_and_get_id(row, stream.name) for row in rows]
        questions = [
            {name: row[name] for name in COLUMNS}
            for row, identifier in zip(rows, identifiers, strict=True)
            if identifier is not None
        ]
        predictions = iter(self.reader(questions, batch_size=self.batch_size, **self.options))
        return [None if name is None else self._build_answer(name, next(predictions)) for name in identifiers]

    def _check_row_and_get_id(self, row: Row, source_name: str) -> str | None:
        """Return the id of a row's question; None for a bad row that is skipped."""
        location = f"{source_name}, row {self.rows}"
        identifier = str(row.get(ID, self.rows))
        self.rows += 1
        blank = next((one for one in COLUMNS if not isinstance(row.get(one), str) or not row[one].strip()), None)
        problem = None if blank is None else f"the {blank} of id {identifier!r} is empty; leave it out"
        if identifier in self.no_answer_scores:
            problem = f"two questions have the id {identifier!r}; ids must differ"
        if problem is not None:
            skip_or_raise(location, SquadFormatError(f"{location}: {problem}"))
            return None
        self.no_answer_scores[identifier] = 0.0
        return identifier

    def _build_answer(self, identifier: str, prediction: dict[str, str | float]) -> Answer:
        """Convert a prediction of the pipeline to the answer that is written for a row."""
        self.empty += not prediction["answer"]
        self.no_answer_scores[identifier] = float(prediction["no_answer_score"])
        fields = {
            "predicted_answer": prediction["answer"],
            "predicted_probability": prediction["score"],
            "answer_start": prediction["start"],
            "answer_end": prediction["end"],
            "no_answer_score": prediction["no_answer_score"],
        }
        return Answer(fields=fields, cells=[fields], alone=prediction["answer"], key=identifier)


def stream_questions(source: Path) -> RowStream | None:
    """Return the questions of a SQuAD JSON file, or of those in a folder; None where there is no such file.

    Raises:
        FileNotFoundError, DatasetFileError, SquadFormatError: see `read_questions`.
    """
    files = sorted(source.iterdir()) if source.is_dir() else [source]
    files = [
        file for file in files if get_unpacked_suffix(file) == ".json" and not file.name.startswith("dataset_info")
    ]
    if not files:
        return None
    return build_row_stream(str(source), (question for file in files for question in read_questions(file)))
