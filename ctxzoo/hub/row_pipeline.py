"""`RowPipeline`: a model of the zoo as a function of inputs, for problems that have no pipeline in transformers."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

from ctxzoo.data.answer_files import Answer
from ctxzoo.data.rows import Row, RowStream, build_row_stream

Answers = Callable[[Sequence[Row], RowStream], Sequence[Answer | None]]


class RowPipeline(ABC):
    """A model that answers inputs as `ctxzoo predict` answers the rows of a file, in the form of its .json files.

    Called with one input it gives one answer, with a list of inputs a list of answers; an answer is None where there is
    none. A table of pandas is a list of its rows.

    Args:
        model: Model of the problem, with its weights.
        tokenizer: Tokenizer of the model; None for a model that reads no text.
        task: Name of the task in transformers, which these problems do not have; None.
        device: Device on which the model computes, as torch names it, such as "cuda"; default: the CPU.
        options: Options of every call, which a call may give anew.

    Raises:
        TypeError: an option that the problem does not have.

    Attributes:
        depth: Number of lists within each other that make one input: 0 for a text, 1 for a row of numbers.
    """

    depth: ClassVar[int]

    def __init__(
        self, model: Any, tokenizer: Any = None, task: None = None, device: Any = "cpu", **options: Any
    ) -> None:
        known = inspect.signature(self.build_answers).parameters
        unknown = [name for name in options if name not in known]
        if unknown:
            raise TypeError(f"{type(self).__name__} has no option {unknown[0]!r}; it has {', '.join(known) or 'none'}")
        self.model = model.to(device).eval()
        self.tokenizer = tokenizer
        self.options = options

    def __call__(self, inputs: Any, **options: Any) -> Any:
        """Return the answer to an input, or the answers to a list of inputs.

        Args:
            inputs: One input of the problem, or a list of inputs.
            options: Options of this call.

        Raises:
            TypeError: an option that the problem does not have.
            ValueError: an input that cannot be answered; the message says which, counted from 0.
        """
        if hasattr(inputs, "to_dict") and getattr(inputs, "ndim", 0) == 2:
            inputs = inputs.to_dict("records")
        elif hasattr(inputs, "tolist"):
            inputs = inputs.tolist()
        several = _count_nested_lists(inputs) > self.depth
        several = several or (isinstance(inputs, list) and bool(inputs) and isinstance(inputs[0], Mapping))
        rows = [self.build_row(one, number) for number, one in enumerate(inputs if several else [inputs])]
        answers, stream = self.build_answers(**{**self.options, **options}), build_row_stream("the inputs", rows)
        found = [
            None if answer is None else self.convert_answer(answer.alone)
            for chunk in stream.chunks
            for answer in answers(chunk, stream)
        ]
        return found if several else found[0]

    @abstractmethod
    def build_answers(self) -> Answers:
        """Return the function or object that answers rows; options of the task are keyword arguments."""

    @abstractmethod
    def build_row(self, pipeline_input: Any, number: int) -> Row:
        """Return an input of the pipeline as a row, as a file would hold it; `number` is its place among the inputs."""

    def convert_answer(self, answer: Any) -> Any:
        """Return an answer as the pipeline gives it, without what only files of answers hold."""
        return answer


def _count_nested_lists(value: Any) -> int:
    """Return how deep lists are nested in a value, judged by the first entry of each."""
    if isinstance(value, (str, bytes, Mapping)) or not isinstance(value, Sequence):
        return 0
    return 1 + (_count_nested_lists(value[0]) if len(value) else 0)
