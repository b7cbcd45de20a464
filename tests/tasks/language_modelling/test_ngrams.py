"""Kneser-Ney against counts by hand and a plain, slow form of the same formula."""

from __future__ import annotations

import math
from collections import Counter
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from ctxzoo.results.result import read_result
from ctxzoo.runs.run import execute
from ctxzoo.tasks.language_modelling.baselines import (
    BASELINES,
    BaselineRun,
    KneserNey,
    estimate_discounts,
    fit_baseline,
    score_baseline,
)
from ctxzoo.tasks.language_modelling.data import LanguageModellingDataModule
from ctxzoo.tasks.language_modelling.experiments import TEXT_DATASETS, build_paper_experiment
from ctxzoo.tasks.language_modelling.problem import LANGUAGE_MODELLING

END = 1


def ids(*lines: str) -> np.ndarray:
    return np.array([word for line in lines for word in (*(ord(letter) - 95 for letter in line), END)])


def reference(train: np.ndarray, order: int, words: int, test: np.ndarray) -> list[float]:
    """The recursion of the docstring of `KneserNey` over dictionaries, word by word."""

    def grams_of(tokens: np.ndarray) -> list[tuple[int, ...]]:
        found, history = [], [END] * (order - 1)
        for token in tokens.tolist():
            found.append((*history[len(history) - order + 1 :], token) if order > 1 else (token,))
            history = [END] * (order - 1) if token == END else [*history, token]
        return found

    counts = {order: Counter(grams_of(train))}
    for length in range(order - 1, 0, -1):
        counts[length] = Counter(gram[1:] for gram in counts[length + 1])
    discounts = {}
    for length, of_length in counts.items():
        n = [sum(value == count for value in of_length.values()) for count in range(5)]
        y = n[1] / (n[1] + 2 * n[2]) if n[1] else 0.5
        modified = 0 not in n[1:]
        discounts[length] = [0.0, *(k - (k + 1) * y * n[k + 1] / n[k] if modified else y for k in (1, 2, 3))]

    @cache
    def probability(gram: tuple[int, ...]) -> float:
        if not gram:
            return 1.0 / words
        of_length, of_count = counts[len(gram)], discounts[len(gram)]
        behind = [value for one, value in of_length.items() if one[:-1] == gram[:-1]]
        shorter = probability(gram[1:])
        if not behind:
            return shorter
        taken = [of_count[min(value, 3)] for value in (of_length[gram], *behind)]
        return (of_length[gram] - taken[0] + sum(taken[1:]) * shorter) / sum(behind)

    return [probability(gram) for gram in grams_of(test)]


def test_single_words_by_hand() -> None:
    # a 3 times, b once, the end mark twice: one word once, one twice, so that D = 1 / (1 + 2).
    model = KneserNey(ids("aab", "a"), 1, 10, END)
    discount, spread = 1 / 3, (1 / 3) * 3 / 6 / 10
    expected = [(3 - discount) / 6 + spread, (1 - discount) / 6 + spread, spread, (2 - discount) / 6 + spread]
    assert model.compute_probabilities(ids("abc")) == pytest.approx(expected)
    assert model.num_counts == 3


def test_pairs_by_hand() -> None:
    # Pairs: ␤a twice, ab, b␤, ac, c␤ once each: D2 = 4 / (4 + 2). Words before: a 1, b 1, c 1, ␤ 2: D1 = 3 / (3 + 2).
    model = KneserNey(ids("ab", "ac"), 2, 4, END)
    single = {word: (count - 0.6) / 5 + 0.6 * 4 / 5 / 4 for word, count in {"a": 1, "b": 1, "c": 1, "␤": 2}.items()}
    two_thirds = 2 / 3
    expected = [
        (2 - two_thirds) / 2 + two_thirds * 1 / 2 * single["a"],  # ␤a
        (1 - two_thirds) / 2 + two_thirds * 2 / 2 * single["b"],  # ab
        0 + two_thirds * 1 / 1 * single["b"],  # bb
        (1 - two_thirds) / 1 + two_thirds * 1 / 1 * single["␤"],  # b␤
    ]
    assert model.compute_probabilities(ids("abb")) == pytest.approx(expected)


@pytest.mark.parametrize("order", [1, 2, 3, 5])
def test_it_is_the_plain_recursion(order: int) -> None:
    draws = np.random.default_rng(order)
    lines = ["".join(draws.choice(list("abcde"), draws.integers(0, 9))) for _ in range(120)]
    train, test = ids(*lines[:80]), ids(*lines[80:], "zzz", "abz")  # z is a word that the training text lacks
    model = KneserNey(train, order, 30, END)
    assert model.compute_probabilities(test) == pytest.approx(reference(train, order, 30, test), rel=1e-12)


@pytest.mark.parametrize("order", [1, 2, 4])
def test_probabilities_of_all_words_sum_to_one(order: int) -> None:
    model = KneserNey(ids("abcab", "bca", "aaab"), order, 6, END)
    for history in ("", "a", "abc", "zz", "cba"):
        last = [model.compute_probabilities(np.array([*ids(history)[:-1], word]))[-1] for word in (1, 2, 3, 4, 5, 27)]
        assert math.fsum(last) == pytest.approx(1.0, abs=1e-12)


def test_discounts_by_hand() -> None:
    # Of six counts 1, three 2, two 3 and one 4: Y = 6 / 12.
    counts = np.array([1] * 6 + [2] * 3 + [3] * 2 + [4] + [0] * 5)
    expected = [0, 1 - 2 * 0.5 * 3 / 6, 2 - 3 * 0.5 * 2 / 3, 3 - 4 * 0.5 / 2]
    assert estimate_discounts(counts).tolist() == pytest.approx(expected)
    assert estimate_discounts(counts[:9]).tolist() == [0, 0.5, 0.5, 0.5]
    assert estimate_discounts(np.array([3, 3])).tolist() == [0, 0.5, 0.5, 0.5]
    many = np.repeat([1, 2, 3, 4], [1, 1, 9, 1])  # 2 - 3 Y n_3 / n_2 is below 0
    assert estimate_discounts(many).tolist() == [0, *[pytest.approx(1 / 3)] * 3]


def test_a_text_that_repeats_itself_leaves_other_words_a_probability() -> None:
    """Every pair of it occurs three times, so that no count is 1."""
    model = KneserNey(ids("ab", "ab", "ab"), 2, words=5, end_id=END)
    assert (model.compute_probabilities(ids("ba", "c")) > 0).all()


def test_what_is_refused() -> None:
    with pytest.raises(ValueError, match="order=0 with 2 tokens"):
        KneserNey(ids("a"), 0, 3, END)
    with pytest.raises(ValueError, match="unknown baseline 'trigram'; known: unigram, bigram, kneser_ney_5"):
        fit_baseline("trigram", LanguageModellingDataModule("sample"))


def test_a_run_leaves_its_scores(tmp_path: Path) -> None:
    found = {}
    for name in BASELINES:
        places = {"results_dir": str(tmp_path), "output_dir": str(tmp_path / "runs")}
        run = BaselineRun(
            LANGUAGE_MODELLING,
            BaselineRun.build_experiment(
                build_paper_experiment().copy_with(recipe="floors", commit="x", **places), name
            ),
        )
        result = execute(run)
        assert read_result(run.results_file) == result
        assert result.metrics["test/perplexity"] == pytest.approx(math.exp(result.metrics["test/nll"]), rel=1e-4)
        found[name] = result.metrics["test/perplexity"]
    assert found["kneser_ney_5"] < found["bigram"] < found["unigram"]


@pytest.mark.data
def test_the_penn_treebank_is_near_the_published_number() -> None:
    """Mikolov et al. (2011) give 141 for 5-grams."""
    data = LanguageModellingDataModule(TEXT_DATASETS["ptb"])
    data.setup()
    found = {name: score_baseline(fit_baseline(name, data), data.stream("test"))["perplexity"] for name in BASELINES}
    assert found == pytest.approx({"unigram": 639.30, "bigram": 185.70, "kneser_ney_5": 141.17}, abs=0.01)
