"""A reader without a network: the words of the context beside which most of the question's words stand.

After the sliding window of Richardson et al. (2013, Algorithm 1), which Rajpurkar et al. (2016, section 5.1) have
beside their reader. Their candidates are the constituents of a parser; here they are runs of words between common ones.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ctxzoo.metrics.squad_text import compute_exact_match_and_f1
from ctxzoo.models.tokenization_word_char import build_word_pre_tokenizer
from ctxzoo.runs.counted import CountedRun, SimpleModel
from ctxzoo.tasks.question_answering.data import SquadDataModule

VARIANT = "sliding_window"
COMMON_WORDS = 200  # on squad_v1_mini validation F1 is 18.1, 18.6 and 18.9 with 50, 100 and 200

_CUT = build_word_pre_tokenizer()


def _tokenize(text: str) -> list[tuple[str, int, int]]:
    """Return each word in lower case, with the offsets at which it begins and ends."""
    return [(word.lower(), start, end) for word, (start, end) in _CUT.pre_tokenize_str(text)]


class SlidingWindow:
    """A reader that counts words.

    Args:
        contexts: Texts of the training contexts; duplicates count once.
        common_words: Number of the most frequent words, which cannot be part of an answer.
    """

    def __init__(self, contexts: Iterable[str], common_words: int = COMMON_WORDS) -> None:
        frequency: Counter[str] = Counter()
        self.contexts_with: Counter[str] = Counter()
        distinct = set(contexts)
        for context in distinct:
            words = [word for word, _, _ in _tokenize(context)]
            frequency.update(words)
            self.contexts_with.update(set(words))
        self.contexts = len(distinct)
        # Of equally frequent words the first of the alphabet, so that the order of a set decides nothing.
        self.common = set(sorted(frequency, key=lambda word: (-frequency[word], word))[:common_words])

    def compute_weight(self, word: str) -> float:
        """Return the inverse document frequency of a word in nats; 0 for punctuation."""
        if not any(map(str.isalnum, word)):
            return 0.0
        return math.log((self.contexts + 1) / (self.contexts_with[word] + 1))

    def answer(self, question: str, context: str) -> str:
        """Return the words of the context whose surroundings share most with the question; empty if none do.

        A run has no sign, no word of the question and no common word. Its window is as long as question and run
        together, and counts the weights of the question's words. Of equal windows the one whose words are nearer wins,
        each weight divided by its distance from the run; of equal ones the first.
        """
        words, question_words = _tokenize(context), {word for word, _, _ in _tokenize(question)}
        weights = np.array([self.compute_weight(word) if word in question_words else 0.0 for word, _, _ in words])
        sums = np.concatenate([[0.0], np.cumsum(weights)])
        positions = np.arange(len(words))
        length = len(_tokenize(question))
        best, best_answer = (-1.0, 0.0), ""
        for start, end in self._find_candidate_spans([word for word, _, _ in words], question_words):
            width = length + end - start
            first = np.arange(max(0, end - width), start + 1)
            window = (sums[np.minimum(first + width, len(words))] - sums[first]).max()
            distance = np.maximum(np.maximum(start - positions, positions - end + 1), 1)
            score = (round(float(window), 9), float((weights / distance).sum()))
            if score > best:
                best, best_answer = score, context[words[start][1] : words[end - 1][2]]
        return best_answer

    def _find_candidate_spans(self, words: list[str], question_words: set[str]) -> Iterable[tuple[int, int]]:
        """Yield begin and end of each run of words without common words, signs and question words."""
        start = None
        for position, word in enumerate([*words, ""]):
            fits = word not in question_words and word not in self.common and any(map(str.isalnum, word))
            if fits and start is None:
                start = position
            elif not fits and start is not None:
                yield start, position
                start = None


@dataclass(frozen=True)
class SlidingWindowRun(CountedRun):
    """A `SlidingWindow` counted and scored; see `CountedRun`. It always answers."""

    reads = ("squad_version",)

    def get_model_settings(self) -> Mapping[str, Any]:
        """Return settings of the baseline itself for the results file."""
        return {"common_words": COMMON_WORDS}

    def build_data_module(self) -> SquadDataModule:
        """Build the `SquadDataModule` of the experiment, for words only."""
        one: Any = self.experiment
        return SquadDataModule(
            one.source,
            data_dir=one.run.data_dir,
            squad_version=one.data.squad_version,
            characters=False,
            streaming=one.data.streaming,
        )

    def fit(self, data: SquadDataModule) -> SimpleModel:
        """Set up the sliding window with the word counts of the data."""
        reader = SlidingWindow(data.texts("train")["context"][:])

        def score_split(split: str) -> dict[str, float]:
            """Return exact match and F1 in percent, and the number of questions, of a split."""
            rows = data.texts(split)
            columns = (rows[name][:] for name in ("question", "context", "answers"))
            scores_of_rows = [
                compute_exact_match_and_f1(reader.answer(question, context), answers["text"])
                for question, context, answers in zip(*columns, strict=True)
            ]
            exact, f1 = (100 * float(np.mean(one)) for one in zip(*scores_of_rows, strict=True))
            return {"exact": exact, "f1": f1, "total": float(len(scores_of_rows))}

        return SimpleModel(len(reader.contexts_with), score_split)
