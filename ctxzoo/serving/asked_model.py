"""`AskedModel`: what a checkpoint answers to the rows of a request, the same as `ctxzoo predict` to a file of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ctxzoo.data.answer_files import Answer, format_json_line
from ctxzoo.data.reading_notes import collect_reading_notes
from ctxzoo.data.rows import Row
from ctxzoo.serving.joined_work import JoinedWork, ModelThread
from ctxzoo.tasks import PROBLEMS, get_card, get_problem

BATCH_SIZE = 32  # as that of `ctxzoo predict`
SOURCE = "the request"  # what messages call the rows of one


class AskedModel:
    """A checkpoint that several threads ask at once.

    Requests whose rows are answered each by itself are joined in front of the model; others are answered one after
    another, as files are.

    Args:
        problem_name: Name of the problem, one of `ctxzoo.tasks.PROBLEMS`.
        model, tokenizer: Model in evaluation mode, on its device, and its tokenizer, if it has one.
        options: Values of the problem's own options of `ctxzoo serve`, by name.
        batch_size: Number of rows, of one request or several, that the model reads at once; default: 32, or 1 where the
            rows of a batch change each other's bits.
        skip_bad: Whether bad rows are left out; otherwise a request with one is an error.

    Raises:
        OSError, ValueError: an option that does not fit the model; a file that it names.
    """

    def __init__(
        self,
        problem_name: str,
        model: Any,
        tokenizer: Any,
        options: Mapping[str, Any],
        *,
        batch_size: int | None = None,
        skip_bad: bool = False,
    ) -> None:
        self.problem, self.card = get_problem(problem_name), get_card(problem_name)
        self.model, self.tokenizer, self.options = model, tokenizer, options
        self.skip_bad = skip_bad
        self.thread = ModelThread()
        joins_rows = self.problem.joins_rows
        batch_size = batch_size or (BATCH_SIZE if joins_rows else 1)
        self._build = self.problem.prepare_answers(model, tokenizer, options, batch_size=batch_size)
        self.joined = JoinedWork(self._build().work, self.thread) if joins_rows else None

    def predict(self, rows: Sequence[Row]) -> tuple[list[str], list[str]]:
        """Answer rows as `ctxzoo predict` answers those of a .jsonl file.

        Returns:
            A line of JSON for each row that is not left out, and notes on what was not read, or left out.

        Raises:
            ValueError, TypeError: rows that are not as they should be; the message says which and why.
        """
        lines: list[str] = []
        with collect_reading_notes(skip_bad=self.skip_bad) as notes:
            answers = self._build()
            if self.joined is not None:
                answers.work = self.joined
            stream = self.problem.stream_rows(SOURCE, rows, self.options)
            for chunk in stream.chunks:
                found = answers(chunk, stream) if self.joined else self.thread.run(answers, chunk, stream)
                lines += [format_json_line(row, one) for row, one in zip(chunk, found, strict=True) if one is not None]
            said = answers.write_notes() if hasattr(answers, "write_notes") else []
            return lines, [*said, *(line.removeprefix("note: ") for line in notes.format_lines())]

    def explain(self, rows: Sequence[Row]) -> tuple[list[str], list[str]]:
        """Answer rows with how much each word of their texts adds to the logit of each label; see `predict`.

        Raises:
            NotImplementedError: models of this problem are not explained by words.
            ValueError, TypeError: rows that are not as they should be.
        """
        if not self.card.can_explain():
            able = ", ".join(name for name in PROBLEMS if get_card(name).can_explain())
            raise NotImplementedError(f"{self.card.name} is not explained by words; {able} is")
        lines: list[str] = []
        with collect_reading_notes(skip_bad=self.skip_bad) as notes:
            texts = self._build().texts_of(rows, SOURCE, False)
            for row, text in zip(rows, texts, strict=True):
                if text is not None:  # one at a time, so that others have their turn between them
                    (one,) = self.thread.run(self.card.explain, self.model, self.tokenizer, [text])
                    lines.append(format_json_line(row, Answer(one.to_json_dict(), [], None)))
            return lines, [line.removeprefix("note: ") for line in notes.format_lines()]
