"""The pipeline of extractive question answering; it travels with a checkpoint, as transformers no longer has one."""

import types
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, NamedTuple

import torch
from torch.utils.data import Dataset
from transformers.pipelines.base import ChunkPipeline

from .ops_answer import AnswerSpans, no_answer_score, span_log_probabilities, span_scores

Example = Mapping[str, Any]
Answer = dict[str, Any]

# Log-probabilities of "no answer" are clamped to this range, so that their odds exist.
LOWEST_LOG, HIGHEST_LOG = -1e6, -1e-12
WINDOWS_AT_ONCE = 16  # of one context


class QuestionAnsweringPipeline(ChunkPipeline):  # type: ignore[misc, unused-ignore]
    """A pipeline that answers questions with spans of their contexts, for models that read the two apart, as BiDAF.

    `pipe(question=..., context=...)`, `pipe({"question": ..., "context": ...})` (other keys are ignored, so rows of
    SQuAD will do), or a list, generator or dataset of such rows, with `batch_size`. Lists of questions and contexts
    pair up; one string beside a list goes with all of it.

    Each answer is {"score", "start", "end", "answer", "no_answer_score"}: answer == context[start:end], characters of
    the context as given. `score` is the probability of the span, or, for the empty answer (start = end = 0), of "no
    answer". `no_answer_score` is p_na / (p_na + p_best span), the same for all answers of a question; 0 for SQuAD 1.1.

    Long contexts are read in overlapping windows, put together by `merge_window_scores`.

    Parameters, given when the pipeline is built or called:
        top_k: 1 gives one answer; more give a list, best first, without two answers of the same span.
        handle_impossible_answer: whether the empty answer may be given; default: if config.squad_version is "2.0".
        no_answer_threshold: the empty answer comes first where no_answer_score lies above it; default:
            config.no_answer_threshold, else 0.5, which is where "no answer" is more probable than the best span. With
            top_k > 1 it stands among the others by its score, but never first unless chosen.
        max_answer_len: longest answer in words; default config.max_answer_length.
        max_seq_len: context words in a window; 1000, less where the learned positions of the model end.
        doc_stride: words that neighbouring windows share; 128, or half a window if that is less. An answer longer than
            that may lie in no window as a whole.
        max_question_len: words after which a question is cut; 100.
        windows_at_once: windows of one context that the model reads as a batch; 16, and 1 with a `batch_size` above 1.

    Raises:
        ValueError: a question or context that is missing or has no words; a parameter out of range.
        TypeError: a question or context that is not a string; an unknown parameter, or one of another type.
    """

    default_input_names = "question,context"
    auto_model = "AutoModelForQuestionAnswering"
    _load_tokenizer = True
    _load_processor = False
    _load_image_processor = False
    _load_video_processor = False
    _load_feature_extractor = False

    def __call__(self, inputs: Any = None, *, question: Any = None, context: Any = None, **kwargs: Any) -> Any:
        if inputs is None:
            inputs = _make_examples(question, context)
        elif question is not None or context is not None:
            raise TypeError("give either examples or question=... and context=..., not both")
        elif isinstance(inputs, str):
            raise TypeError(f"the string {inputs[:60]!r} alone is no example; give question=... and context=...")
        elif isinstance(inputs, Mapping):
            inputs = _make_examples(inputs.get("question"), inputs.get("context"))
        elif isinstance(inputs, Iterable) and not isinstance(inputs, (Dataset, types.GeneratorType)):
            inputs = list(inputs)
        if inputs == []:
            return []
        if (kwargs.get("batch_size") or self._batch_size or 1) > 1:
            kwargs["windows_at_once"] = 1  # transformers makes the batches, of one window each
        return super().__call__(inputs, **kwargs)

    def _sanitize_parameters(
        self,
        top_k: int | None = None,
        handle_impossible_answer: bool | None = None,
        no_answer_threshold: float | None = None,
        max_answer_len: int | None = None,
        max_seq_len: int | None = None,
        doc_stride: int | None = None,
        max_question_len: int | None = None,
        windows_at_once: int | None = None,
    ) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
        """Check the options of a call and sort them by step: preprocess, forward, postprocess."""
        sizes = {"top_k": top_k, "max_answer_len": max_answer_len, "max_seq_len": max_seq_len}
        sizes |= {"max_question_len": max_question_len, "windows_at_once": windows_at_once}
        for name, value in sizes.items():
            _check_minimum(name, value, minimum=1)
        _check_minimum("doc_stride", doc_stride, minimum=0)
        check_probability("no_answer_threshold", no_answer_threshold)
        if handle_impossible_answer not in (None, True, False):
            raise TypeError(f"handle_impossible_answer must be True or False, got {handle_impossible_answer!r}")
        if handle_impossible_answer and not self._can_refuse:
            raise ValueError("handle_impossible_answer=True needs a model with squad_version='2.0'; this one has '1.1'")
        preprocess = {name: sizes[name] for name in ("max_seq_len", "max_question_len", "windows_at_once")}
        preprocess["doc_stride"] = doc_stride
        postprocess = {
            "top_k": top_k,
            "handle_impossible_answer": handle_impossible_answer,
            "no_answer_threshold": no_answer_threshold,
            "max_answer_len": max_answer_len,
        }
        return _drop_none(preprocess), {}, _drop_none(postprocess)

    @property
    def _can_refuse(self) -> bool:
        """Whether the model may answer that the text holds no answer, as SQuAD 2.0 trains it."""
        return getattr(self.model.config, "squad_version", "2.0") == "2.0"

    def preprocess(
        self,
        input_: Example,
        max_seq_len: int = 1000,
        doc_stride: int | None = None,
        max_question_len: int = 100,
        windows_at_once: int = WINDOWS_AT_ONCE,
    ) -> Iterator[dict[str, Any]]:
        """Yield the windows of one example, so many in a batch."""
        question, context = _check_example(input_, "question"), _check_example(input_, "context")
        config = self.model.config
        if getattr(config, "position_embedding", None) == "learned":
            # One position is that of the extra token.
            max_seq_len = min(max_seq_len, config.max_position_embeddings - 1)
            max_question_len = min(max_question_len, config.max_position_embeddings - 1)
        if doc_stride is None:
            doc_stride = min(128, max_seq_len // 2)
        if doc_stride >= max_seq_len:
            raise ValueError(f"doc_stride={doc_stride} must be below the {max_seq_len} words of a window")
        question_offsets = self.tokenizer(question, return_offsets_mapping=True)["offset_mapping"]
        if len(question_offsets) > max_question_len:
            question = question[: question_offsets[max_question_len - 1][1]]
        try:
            encoded = self.tokenizer(
                question,
                context,
                truncation="only_second",
                max_length=max_seq_len + 1,
                stride=doc_stride,
                return_overflowing_tokens=True,
                return_offsets_mapping=True,
            )
        except ValueError as error:
            raise ValueError(f"cannot read the example with the question {question[:80]!r}: {error}") from error
        names = [name for name in self.tokenizer.model_input_names if name in encoded]
        windows = [
            # In words of the context, without the extra token, and offsets without that of the extra token.
            _Window(context, number * (max_seq_len - doc_stride), offsets[1:])
            for number, offsets in enumerate(encoded["offset_mapping"])
        ]
        for first in range(0, len(windows), windows_at_once):
            rows = slice(first, first + windows_at_once)
            # Not by return_tensors, with which transformers walks through every number in Python.
            inputs = self.tokenizer.pad({name: encoded[name][rows] for name in names})
            yield {
                **{name: torch.tensor(value) for name, value in inputs.items()},
                "windows": windows[rows],
                "is_last": first + windows_at_once >= len(windows),
            }

    def _forward(self, input_tensors: dict[str, Any], **_: Any) -> dict[str, Any]:
        """Return the log-probabilities of starts, ends and no answer for some windows of a text."""
        inputs = {name: value for name, value in input_tensors.items() if name in self.tokenizer.model_input_names}
        outputs = self.model(**inputs, return_dict=True)
        start, end, no_answer = span_log_probabilities(outputs)  # (B, 1 + n) each, and (B,)
        return {
            "start": start,
            "end": end,
            "no_answer": no_answer,
            # A sum over pairs of exp(start + end) is the product of two sums.
            "log_mass": outputs.start_logits.float().logsumexp(dim=1) + outputs.end_logits.float().logsumexp(dim=1),
            "windows": input_tensors["windows"],
            "is_last": input_tensors["is_last"],
        }

    def postprocess(
        self,
        model_outputs: list[dict[str, Any]],
        top_k: int = 1,
        handle_impossible_answer: bool | None = None,
        no_answer_threshold: float | None = None,
        max_answer_len: int | None = None,
    ) -> Answer | list[Answer]:
        """Return the answers of one example from the outputs of its windows: one, or with `top_k` above 1 a list."""
        config = self.model.config
        if handle_impossible_answer is None:
            handle_impossible_answer = self._can_refuse
        if no_answer_threshold is None:
            no_answer_threshold = getattr(config, "no_answer_threshold", None)
        if no_answer_threshold is None:
            no_answer_threshold = 0.5
        if max_answer_len is None:
            max_answer_len = int(getattr(config, "max_answer_length", 15))

        context = model_outputs[0]["windows"][0].context
        offsets: list[tuple[int, int]] = []
        windows = []
        for output in model_outputs:
            parts = (output[name] for name in ("start", "end", "no_answer", "log_mass"))
            for window, start, end, none, mass in zip(output["windows"], *parts, strict=True):
                # Of windows that overlap, only the words behind those of the windows before.
                offsets += window.offsets[len(offsets) - window.first_word :]
                size = 1 + len(window.offsets)  # the rest is padding
                windows.append(WindowScores(start[:size], end[:size], none, mass, window.first_word))
        scores, no_answer = merge_window_scores(windows, min(max_answer_len, len(offsets)), self._can_refuse)

        # The sort is stable and spans are in the order of the text: of equal scores the first span wins, then the
        # shortest.
        ranked = scores.flatten().sort(descending=True, stable=True)
        best = ranked.values[:1]
        refusal = 0.0
        if self._can_refuse:
            # Only the log-probabilities are read; positions of the spans are not.
            refusal = no_answer_score(AnswerSpans(best, best, best, no_answer.unsqueeze(0))).item()
        answers = []
        for score, index in zip(ranked.values[:top_k].tolist(), ranked.indices[:top_k].tolist(), strict=True):
            if score == float("-inf"):
                break
            first, more = divmod(index, scores.size(1))  # first word, and how many more
            begin, stop = offsets[first][0], offsets[first + more][1]
            answers.append(_format_answer(score, begin, stop, context, refusal))
        if handle_impossible_answer:
            empty = _format_answer(no_answer.item(), 0, 0, context, refusal)
            index = 0
            if refusal <= no_answer_threshold:
                # Not chosen, it stands behind the best span even where its score is higher.
                index = 1 + sum(answer["score"] >= empty["score"] for answer in answers[1:])
            answers.insert(index, empty)
        return answers[0] if top_k == 1 else answers[:top_k]


class WindowScores(NamedTuple):
    """The scores that a model gives one window, from `span_log_probabilities`.

    Attributes:
        start, end: (1 + n,) log-probabilities of the answer's first and last word: first the extra token, which stands
            for "no answer", then the n words of the window.
        no_answer: Log-probability of "no answer", a scalar.
        log_mass: Logarithm of the sum over all spans of exp(start logit + end logit), a scalar.
        first_word: Index in the context of the window's first word.
    """

    start: torch.Tensor
    end: torch.Tensor
    no_answer: torch.Tensor
    log_mass: torch.Tensor
    first_word: int


def merge_window_scores(
    windows: Sequence[WindowScores], max_length: int, can_refuse: bool
) -> tuple[torch.Tensor, torch.Tensor]:
    """Merge the scores of the windows of a context, in float64; the scores of a single window are unchanged.

    With "no answer" (SQuAD 2.0), which every window can give, its probability is the common measure: p_na of the
    context is the least of the windows', and the rest, 1 - p_na, is divided among the windows in proportion to their
    odds of holding the answer, (1 - p_na,w) / p_na,w, and within a window as the model has it. Without it (SQuAD 1.1)
    the softmax goes over the logits of all windows together. A span that several windows hold gets the sum of its
    parts; so what is the same in every window is the same in the whole, and all probabilities add up to 1 at most.

    Args:
        windows: Scores of the windows, in the order of the text.
        max_length: Longest span in words.
        can_refuse: Whether the model may answer "no answer".

    Returns:
        (words, max_length) log-probability of the span of k + 1 words from word i at [i, k], -inf where there is none;
        and the log-probability of "no answer".
    """
    no_answer = torch.stack([window.no_answer for window in windows]).double()  # (windows,)
    if can_refuse:
        bounded = no_answer.clamp(LOWEST_LOG, HIGHEST_LOG)
        log_answer = torch.log(-torch.expm1(bounded))  # log(1 - p_na), exact where p_na is close to 1
        # (1 - p_na) odds_w / sum(odds) * p_w(span) / (1 - p_na,w), where odds_w / (1 - p_na,w) is 1 / p_na,w.
        log_weights = log_answer.max() - torch.logsumexp(log_answer - bounded, dim=0) - bounded
    else:
        log_weights = torch.stack([window.log_mass for window in windows]).double().log_softmax(dim=0)
    words = max(window.first_word + len(window.start) - 1 for window in windows)
    scores = torch.full((words, max_length), float("-inf"), dtype=torch.float64)
    for window, log_weight in zip(windows, log_weights, strict=True):
        start, end = window.start.double().unsqueeze(0), window.end.double().unsqueeze(0)
        # (words of the window, max_length): row 0, the extra token, is in no span.
        band = span_scores(start, end, torch.ones_like(start, dtype=torch.bool), max_length)[0, 1:]
        index = slice(window.first_word, window.first_word + len(band))
        scores[index] = torch.logaddexp(scores[index], band + log_weight)  # adds the probabilities of one span
    return scores, no_answer.min()


@dataclass(frozen=True)
class _Window:
    """The position of a window in its context.

    It is no tuple: the pipeline would walk through its numbers in search of tensors.
    """

    context: str
    first_word: int
    offsets: list[tuple[int, int]]


def _make_examples(question: Any, context: Any) -> Any:
    """Return one example, or a list of them where question or context is a list."""
    if isinstance(question, (list, tuple)) or isinstance(context, (list, tuple)):
        if isinstance(question, str):
            question = [question] * len(context)
        if isinstance(context, str):
            context = [context] * len(question)
        if question is not None and context is not None:
            if len(question) != len(context):
                raise ValueError(f"{len(question)} questions do not match {len(context)} contexts")
            return [{"question": q, "context": c} for q, c in zip(question, context, strict=True)]
    return {"question": question, "context": context}


def _check_example(example: Any, name: str) -> str:
    """Return the string that the example holds under `name`, "question" or "context"."""
    if not isinstance(example, Mapping):
        raise TypeError(f"an example must be a dict with question and context, got {type(example).__name__}")
    text = example.get(name)
    if text is None:
        raise ValueError(
            f"the example has no {name}; its keys are {sorted(k for k in example if example[k] is not None)}"
        )
    if not isinstance(text, str):
        raise TypeError(f"{name} must be a string, got {type(text).__name__}")
    return text


def _check_minimum(name: str, value: Any, minimum: int) -> None:
    """Raise an error unless a value is None or a whole number of at least `minimum`."""
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise TypeError(f"{name} must be a whole number, got {value!r}")
    if value < minimum:
        raise ValueError(f"{name} must be at least {minimum}, got {value}")


def check_probability(name: str, value: Any) -> None:
    """Raise an error unless a value is None or a number from 0 to 1."""
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{name} must be a number from 0 to 1, got {value!r}")
    if not 0 <= float(value) <= 1:
        raise ValueError(f"{name} must be in [0, 1], got {value}")


def _drop_none(parameters: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters whose value is not None."""
    return {name: value for name, value in parameters.items() if value is not None}


def _format_answer(log_score: float, start: int, end: int, context: str, refusal: float) -> Answer:
    """Return the answer `context[start:end]` with its score, as the pipeline returns it; `refusal` scores no answer."""
    score = torch.tensor(log_score, dtype=torch.float64).exp().item()
    return {"score": score, "start": start, "end": end, "answer": context[start:end], "no_answer_score": refusal}
