"""A measurement of whether explanations of classifiers name the words that decide.

    python -m benchmarks.explanations

Each text is classified anew without the five words that an explanation puts first, and from these five alone. If they
decide, the probability of the label falls without them and stays with them alone, unlike with five words at random. No
method here is computed by this measure, and words are taken out of the text itself, which is encoded anew.

The checkpoints are the published classifiers of texts, on texts that they were not trained on, and one that
`ctxzoo train text-classification` makes with its default settings of 2,000 film reviews. What puts words first:

- attention: the mean over heads or steps of `token_weights`, which explanations showed in the past;
- contributions: what `ctxzoo.explain` gives;
- leave one out: how far the logit falls without a word, or without a run of words where a text has more than 199;
- Shapley: the same, over random subsets of the others (permutations, each also backwards), of 200 forward passes.

The last two were tried in place of integrated gradients, on other texts than those of the table's main part.
"""

from __future__ import annotations

import ctxzoo.openmp  # noqa: F401  before torch is loaded

import argparse
import csv
import random
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from benchmarks.reporting import RESULTS, Value, write_rows
from ctxzoo.hub.published import read_published_entries
from ctxzoo.hub.saved_model import load_saved_model
from ctxzoo.results.environment import git_commit
from ctxzoo.results.result import read_result
from ctxzoo.tasks.text_classification.contributions import explain_text
from ctxzoo.tasks.text_classification.data import TextClassificationDataModule
from ctxzoo.tasks.text_classification.explanation import Explanation

Array = NDArray[np.float64]

TOP = 5
FEWEST_WORDS = 2 * TOP  # known ones that a text must have
RANDOM_DRAWS = 4  # of five words, for each text
MOST_DELETED = 40  # words of a text that are deleted one by one, the top word among them
MOST_PASSES = 200
AT_ONCE = 64  # texts of a batch
FILM_REVIEWS, TRAINING_TEXTS = "cornell-movie-review-data/rotten_tomatoes", 2_000
DEFAULT = "default"
MAIN, CHOICE = "main", "choice"  # parts of the table, on different texts


@dataclass
class Case:
    """An explained text, and a way to classify what is left of it."""

    model: Any
    tokenizer: Any
    explanation: Explanation

    @property
    def num_words(self) -> int:
        """The number of words of the text."""
        return len(self.explanation.offsets)

    def compute_logits(self, word_masks: Sequence[NDArray[np.bool_]]) -> Array:
        """Return the logits (rows, labels) of shortened texts: row i keeps the words where `word_masks[i]` is true."""
        words = self.explanation.words
        texts = [" ".join(word for word, keep in zip(words, row, strict=True) if keep) for row in word_masks]
        return np.concatenate(
            [compute_logits(self.model, self.tokenizer, texts[i : i + AT_ONCE]) for i in range(0, len(texts), AT_ONCE)]
        )

    def compute_probabilities(self, word_masks: Sequence[NDArray[np.bool_]]) -> Array:
        """Return the probability (rows,) that shortened texts give to the label of the whole text."""
        label = int(self.explanation.logits.argmax())
        probabilities: Array = torch.from_numpy(self.compute_logits(word_masks)).softmax(dim=1)[:, label].numpy()
        return probabilities

    def mask_all_words_but(self, words: Sequence[int]) -> NDArray[np.bool_]:
        """Return a mask (words,) that is true at the positions `words` and false elsewhere."""
        return np.isin(np.arange(self.num_words), words)


def compute_logits(model: Any, tokenizer: Any, texts: Sequence[str]) -> Array:
    """Return the logits (texts, labels) of a classifier for some texts."""
    rows = tokenizer(list(texts), truncation=tokenizer.word_limit is not None)
    longest = max(1, *map(len, rows["input_ids"]))
    batch = tokenizer.pad(rows, padding="max_length", max_length=longest, return_tensors="pt", verbose=False)
    with torch.inference_mode():
        found: Array = model(**batch).logits.double().numpy()
    return found


def explain_by_attention(case: Case, seed: int) -> Array:
    """Return each word's mean attention weight (words,), over heads or steps; `seed` is not used."""
    assert case.explanation.attention is not None
    weights: Array = case.explanation.attention.mean(axis=0)
    return weights


def explain_by_contributions(case: Case, seed: int) -> Array:
    """Return each word's contribution (words,) to the predicted label, in logits; `seed` is not used."""
    return case.explanation.contributions_to(case.explanation.label)


def explain_by_leaving_one_word_out(case: Case, seed: int) -> Array:
    """Return how far the label's logit falls without each word (words,).

    Long texts are cut into runs of words, each left out as a whole; its words share the fall. `seed` is not used.
    """
    runs = np.array_split(np.arange(case.num_words), min(case.num_words, MOST_PASSES - 1))
    label = int(case.explanation.logits.argmax())
    logits = case.compute_logits([~case.mask_all_words_but(run) for run in runs])[:, label]
    return np.concatenate(
        [
            np.full(len(run), (case.explanation.logits[label] - logit) / len(run))
            for run, logit in zip(runs, logits, strict=True)
        ]
    )


def explain_by_shapley_values(case: Case, seed: int) -> Array:
    """Return each word's Shapley value (words,), estimated by adding words in random orders.

    It is the mean rise of the label's logit as the word comes in; each order is also read backwards. Long texts are cut
    into runs of words that share the rise.
    """
    runs = np.array_split(np.arange(case.num_words), min(case.num_words, MOST_PASSES // 2))
    generator = np.random.default_rng(seed)
    label = int(case.explanation.logits.argmax())
    orders: list[Array] = []
    while (len(orders) + 2) * (len(runs) - 1) + 2 <= MOST_PASSES:
        order = generator.permutation(len(runs))
        orders += [order, order[::-1]]
    empty, full = case.compute_logits([case.mask_all_words_but([]), ~case.mask_all_words_but([])])[:, label]
    values = np.zeros(case.num_words)
    for order in orders:
        word_masks = [
            case.mask_all_words_but(np.concatenate([runs[i] for i in order[:n]])) for n in range(1, len(runs))
        ]
        steps = np.diff([empty, *case.compute_logits(word_masks)[:, label], full])
        for number, step in zip(order, steps, strict=True):
            values[runs[number]] += step / len(runs[number]) / len(orders)
    return values


METHODS: Mapping[str, Callable[[Case, int], Array]] = {
    "attention": explain_by_attention,
    "contributions": explain_by_contributions,
    "leave one out": explain_by_leaving_one_word_out,
    "Shapley": explain_by_shapley_values,
}
PARTS = {MAIN: ("attention", "contributions"), CHOICE: tuple(METHODS)}


def score_explanation(case: Case, values: Array, seed: int) -> dict[str, float]:
    """Score an explanation: how much the label depends on the words with the largest `values` (words,).

    Returns:
        `fall` of the label's probability without the top words and `kept`, the probability with them alone; both with
        `random_` for random words; `rank` of the first word among those deleted one by one, from 0 for the one whose
        deletion lowers the probability most to 1.
    """
    generator = np.random.default_rng(seed)
    order = np.argsort(-values, kind="stable")
    drawn = [generator.choice(case.num_words, TOP, replace=False) for _ in range(RANDOM_DRAWS)]
    word_masks = [case.mask_all_words_but(words) for words in (order[:TOP], *drawn)]
    deleted_words = generator.permutation(order[1:])[: MOST_DELETED - 1]
    without_one = [~case.mask_all_words_but([word]) for word in (order[0], *deleted_words)]
    probabilities = case.compute_probabilities(
        [~case.mask_all_words_but([]), *[~words for words in word_masks], *word_masks, *without_one]
    )
    full, without, alone = (
        probabilities[0],
        probabilities[1 : 2 + RANDOM_DRAWS],
        probabilities[2 + RANDOM_DRAWS : 3 + 2 * RANDOM_DRAWS],
    )
    of_single = probabilities[3 + 2 * RANDOM_DRAWS :]
    before = (of_single[1:] < of_single[0]).sum() + (of_single[1:] == of_single[0]).sum() / 2
    return {
        "fall": full - without[0],
        "random_fall": full - without[1:].mean(),
        "kept": alone[0],
        "random_kept": alone[1:].mean(),
        "rank": before / len(deleted_words),
    }


def build_cases(
    model: Any, tokenizer: Any, texts: Sequence[str], start: int, count: int
) -> Iterator[tuple[Case, float]]:
    """Explain `count` texts, after the first `start`, that are long enough; yield each with its CPU seconds."""
    long_enough = (text for text in texts if text.strip() and len(tokenizer.tokenize(text)) >= FEWEST_WORDS)
    for number, text in enumerate(long_enough):
        if number >= start + count:
            return
        if number >= start:
            begin = time.process_time()
            explanation = explain_text(model, tokenizer, text)
            yield Case(model, tokenizer, explanation), time.process_time() - begin


def count_passes(model: Any, tokenizer: Any, text: str) -> int:
    """Return how many texts the model reads to explain one text."""
    rows: list[int] = []
    base = model.base_model
    hook = base.register_forward_hook(lambda _module, _inputs, output: rows.append(len(output.last_hidden_state)))
    explain_text(model, tokenizer, text)
    hook.remove()
    return sum(rows)


def compute_missing_fraction(explanation: Explanation) -> float:
    """Return how far contributions and bias are from adding up to the logits.

    The difference is a fraction of the most that words add to a logit.
    """
    differences = explanation.logits - explanation.bias
    missing = differences - explanation.contributions.sum(axis=1)
    return float(np.abs(missing).max() / max(np.abs(differences).max(), 1e-9))


def load_test_texts(dataset: str, tokenizer: Any, seed: int, **options: Any) -> list[str]:
    """Return the texts of a dataset's test split in random order."""
    data = TextClassificationDataModule.from_options(dataset, tokenizer=tokenizer, **options)
    data.prepare_data()
    data.setup()
    texts = [str(data.texts("test")[int(row)]["text"]) for row in data.rows("test")]
    random.Random(seed).shuffle(texts)
    return texts


def find_published_classifiers(root: Path) -> dict[str, tuple[Path, str, dict[str, Any]]]:
    """Return checkpoint, dataset and data options of each published text classifier below `root`, by name."""
    classifiers = {}
    for folder, entry in read_published_entries(root).items():
        result = read_result(entry.result)
        if result.architecture in ("contextualizer", "lama"):
            folds = {} if result.fold is None else {"folds": result.settings["folds"], "fold": result.fold}
            classifiers[folder.name] = (folder, result.dataset, folds)
    return classifiers


def train_default_classifier(folder: Path, seed: int) -> Path:
    """Train the default text classifier on film reviews by the command line; return its checkpoint folder."""
    from ctxzoo.cli.main import main as ctxzoo_main

    data = TextClassificationDataModule.from_options(FILM_REVIEWS)
    data.prepare_data()
    data.setup()
    rows = list(data.rows("train"))
    random.Random(seed).shuffle(rows)
    file = folder / "film_reviews.csv"
    with file.open("w", encoding="utf-8", newline="") as opened:
        labels = dict(zip(data.rows("train"), data.labels("train"), strict=True))
        written = [(data.texts("train")[int(row)]["text"], int(labels[row])) for row in rows[:TRAINING_TEXTS]]
        csv.writer(opened).writerows([("text", "label"), *written])
    command = ["train", "text-classification", "--data", str(file), "--seed", str(seed), "--threads", "1"]
    status = ctxzoo_main([*command, "--output_dir", str(folder / "runs"), "--results_dir", str(folder / "results")])
    if status:
        raise RuntimeError(f"ctxzoo {' '.join(command)} ended with {status}")
    (checkpoint,) = (folder / "runs").rglob("checkpoint")
    return checkpoint


def measure_explanations(
    name: str, checkpoint: Path, dataset: str, options: Mapping[str, Any], counts: Mapping[str, int], seed: int
) -> list[dict[str, Value]]:
    """Measure one classifier's explanations on its test texts; return a row for each part and method."""
    torch.set_num_threads(1)
    rows: list[dict[str, Value]] = []
    model, tokenizer = load_saved_model(str(checkpoint))
    texts = load_test_texts(dataset, tokenizer, seed, **options)
    start = 0
    for part, count in counts.items():
        if not count:
            continue
        begin = time.perf_counter()
        explained = list(build_cases(model, tokenizer, texts, start, count))
        passes = max(count_passes(model, tokenizer, case.explanation.text) for case, _ in explained[:3])
        start += count
        for method in PARTS[part]:
            scores = [score_explanation(case, METHODS[method](case, seed), seed) for case, _ in explained]
            means = {key: float(np.mean([one[key] for one in scores])) for key in scores[0]}
            is_ours = method == "contributions"
            row: dict[str, Value] = {
                "classifier": name,
                "part": part,
                "method": method,
                "texts_of": dataset,
                "texts": len(explained),
                "words": float(np.mean([case.num_words for case, _ in explained])),
                **means,
                "passes": passes if is_ours else None,
                "missing": max(compute_missing_fraction(case.explanation) for case, _ in explained)
                if is_ours
                else None,
                "cpu_seconds_a_text": float(np.mean([seconds for _, seconds in explained])) if is_ours else None,
                "seed": seed,
                "wall_seconds": time.perf_counter() - begin,
            }
            begin = time.perf_counter()
            rows.append(row)
            print(f"{name:24} {part:7} {method:14} {', '.join(f'{key} {value:.2f}' for key, value in means.items())}")
    return rows


def main(arguments: Sequence[str] | None = None) -> Path:
    """Measure the explanations of each classifier, print the scores and write the results file; return its path."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.explanations",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--texts", type=int, default=100, help="texts of each classifier, in the main part")
    parser.add_argument("--choice", type=int, default=15, help="other texts, on which all methods are compared")
    parser.add_argument("--only", nargs="+", help="some of the classifiers; default: all")
    parser.add_argument("--processes", type=int, default=1, help="classifiers that are measured at the same time")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output", type=Path, default=RESULTS / "explanations.csv")
    options = parser.parse_args(arguments)
    commit = git_commit()
    counts = {MAIN: options.texts, CHOICE: options.choice}
    with tempfile.TemporaryDirectory() as folder:
        classifiers = find_published_classifiers(Path(__file__).resolve().parents[1])
        if options.only is None or DEFAULT in options.only:
            classifiers[DEFAULT] = (train_default_classifier(Path(folder), options.seed), FILM_REVIEWS, {})
        chosen = [(name, *classifiers[name]) for name in classifiers if options.only is None or name in options.only]
        with ProcessPoolExecutor(options.processes, mp_context=get_context("spawn")) as pool:
            found = [pool.submit(measure_explanations, *one, counts, options.seed) for one in chosen]
            rows = [row for one in found for row in one.result()]
    write_rows(options.output, rows, commit)
    return Path(options.output)


if __name__ == "__main__":
    main()
