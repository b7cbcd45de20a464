"""Evaluations of word vectors by name, each in the same form."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ctxzoo.results.table_parts import NOTHING
from ctxzoo.tasks.text_classification.reader import TextSplits, read_texts
from ctxzoo.tasks.word_embeddings import analogy as word_analogy
from ctxzoo.tasks.word_embeddings import pos_induction, sentiment
from ctxzoo.tasks.word_embeddings import similarity as word_similarity
from ctxzoo.word_vectors.vectors import WordVectors

ALL_SPLITS = "all"  # where nothing is taught, the sentences of all splits are scored
POS_TAGS = ("upos", "pos_tags")


@dataclass(frozen=True, kw_only=True)
class EvaluationOptions:
    """The options of evaluations.

    Attributes:
        data_dir: Folder that holds datasets as `<namespace>/<name>`, as in `resolve_dataset`; None: the usual folder.
        pos_dataset, pos_tags: Hub id or folder of the data for POS induction, and names of its tag columns, each of
            which is evaluated.
        restarts: Number of trainings from different random starts, for POS induction.
        seed: Seed of all random draws.
        threads: Number of trainings that run at the same time, each in a thread; 0: one for each core.
    """

    data_dir: str | None = None
    pos_dataset: str = pos_induction.DATASET
    pos_tags: tuple[str, ...] = POS_TAGS
    restarts: int = pos_induction.RESTARTS
    seed: int = 0
    threads: int = 0


@dataclass(frozen=True)
class Score:
    """A line of the printed table.

    Attributes:
        name: Name of the test set, or of a part of it.
        value: Score in percent; None: undefined.
        coverage: Percentage of the test items whose words have vectors.
        detail: Further remark for the reader, such as the spread of the score.
    """

    name: str
    value: float | None
    coverage: float
    detail: str = ""


@dataclass(frozen=True)
class Evaluation:
    """The result of an evaluation.

    Attributes:
        dataset, split: Names of the dataset and of the split that was scored.
        fingerprint: Hash of the content of the dataset.
        scores: Scores to print, a row of the table each.
        metrics: All numbers for the results file, by name, such as "test/spearman".
    """

    dataset: str
    split: str
    fingerprint: str
    scores: list[Score]
    metrics: dict[str, float]


@dataclass(frozen=True)
class EmbeddingTask:
    """An evaluation by name.

    Attributes:
        run: Function from word vectors and options to the evaluation's result.
        settings: Function from options to the settings that, with the vectors, determine the result.
    """

    run: Callable[[WordVectors, EvaluationOptions], Evaluation]
    settings: Callable[[EvaluationOptions], dict[str, Any]]


def run_pos_induction(vectors: WordVectors, options: EvaluationOptions) -> Evaluation:
    """Score part-of-speech induction for each set of tags: the median V-measure over restarts."""
    sentences, fingerprint = pos_induction.read_tagged_sentences(
        options.pos_tags, options.pos_dataset, options.data_dir
    )
    scores: list[Score] = []
    metrics: dict[str, float] = {}
    for tags in options.pos_tags:
        induction = pos_induction.induce_pos(
            vectors, sentences, tags, restarts=options.restarts, seed=options.seed, threads=options.threads
        )
        lowest, highest = induction.v_measure_range
        detail = f"median of {len(induction.restarts)}, {lowest:.2f} to {highest:.2f}; best likelihood "
        name = f"{tags}, {induction.states} states"
        scores.append(
            Score(
                name, induction.median_v_measure, induction.coverage, f"{detail}{induction.best_restart.v_measure:.2f}"
            )
        )
        values = {
            "states": float(induction.states),
            "coverage": induction.coverage,
            "v_measure_median": induction.median_v_measure,
            "v_measure_lowest": lowest,
            "v_measure_highest": highest,
            "v_measure_best_likelihood": induction.best_restart.v_measure,
        }
        for number, restart in enumerate(induction.restarts):
            values[f"restart{number}/v_measure"] = restart.v_measure
            values[f"restart{number}/log_likelihood"] = restart.log_likelihood
            values[f"restart{number}/iterations"] = float(restart.iterations)
        metrics |= {f"{ALL_SPLITS}/{tags}/{name}": value for name, value in values.items()}
    return Evaluation(options.pos_dataset, ALL_SPLITS, fingerprint, scores, metrics)


def run_similarity(vectors: WordVectors, options: EvaluationOptions) -> Evaluation:
    """Score word similarity by Spearman's correlation with people's scores, for each test set."""
    sets, fingerprint = word_similarity.read_word_pairs(data_dir=options.data_dir)
    scores: list[Score] = []
    metrics: dict[str, float] = {}
    for name, found in word_similarity.evaluate_similarity(vectors, sets).items():
        scores.append(Score(name, found.spearman, found.coverage, f"{found.known:,} of {found.pairs:,} pairs"))
        metrics |= _name_test_metrics(name, spearman=found.spearman, coverage=found.coverage)
    return Evaluation(word_similarity.DATASET, "test", fingerprint, scores, metrics)


def run_analogy(vectors: WordVectors, options: EvaluationOptions) -> Evaluation:
    """Score analogies by accuracy on semantic and syntactic questions, and in each category."""
    categories, fingerprint = word_analogy.read_analogies(data_dir=options.data_dir)
    category_scores = word_analogy.evaluate_analogies(vectors, categories)
    parts = word_analogy.sum_scores_by_kind(category_scores, categories)
    metrics: dict[str, float] = {}
    for name, score in {**category_scores, **parts}.items():
        metrics |= _name_test_metrics(name, accuracy=score.accuracy, coverage=score.coverage)
    scores = [
        Score(name, score.accuracy, score.coverage, f"{score.correct:,} of {score.known:,} questions")
        for name, score in parts.items()
    ]
    return Evaluation(word_analogy.DATASET, "test", fingerprint, scores, metrics)


def run_sentiment(vectors: WordVectors, options: EvaluationOptions) -> Evaluation:
    """Score sentence sentiment by the accuracy of a linear classifier that validation chose."""
    texts = read_texts(sentiment.DATASET, options.data_dir)
    sentiment_score = sentiment.evaluate_sentiment(vectors, texts)
    detail = f"validation {sentiment_score.validation_accuracy:.2f}, C = {sentiment_score.strength:g}"
    return Evaluation(
        sentiment.DATASET,
        "test",
        _hash_splits(texts),
        [Score("SST binary", sentiment_score.accuracy, sentiment_score.coverage, detail)],
        {
            "test/accuracy": sentiment_score.accuracy,
            "test/coverage": sentiment_score.coverage,
            "validation/accuracy": sentiment_score.validation_accuracy,
            "C": sentiment_score.strength,
        },
    )


def run_mean_vector_sentiment(vectors: WordVectors, options: EvaluationOptions) -> Evaluation:
    """Score sentiment by the accuracy of classifiers on mean vectors, chosen by cross-validation on train."""
    texts = read_texts(sentiment.DATASET, options.data_dir)
    scores: list[Score] = []
    metrics: dict[str, float] = {}
    for name, mean_score in sentiment.evaluate_mean_vector_sentiment(vectors, texts).items():
        detail = f"folds {mean_score.fold_accuracy:.2f}, C = {mean_score.strength:g}"
        scores.append(Score(f"SST binary, {name}", mean_score.accuracy, mean_score.coverage, detail))
        metrics |= _name_test_metrics(name, accuracy=mean_score.accuracy, coverage=mean_score.coverage)
        metrics |= {
            f"validation/{name}/accuracy": mean_score.validation_accuracy,
            f"train/{name}/fold_accuracy": mean_score.fold_accuracy,
            f"{name}/C": mean_score.strength,
        }
    return Evaluation(sentiment.DATASET, "test", _hash_splits(texts), scores, metrics)


TASKS: dict[str, EmbeddingTask] = {
    "pos_induction": EmbeddingTask(
        run_pos_induction,
        lambda options: {
            "tags": list(options.pos_tags),
            "restarts": options.restarts,
            "evaluation_seed": options.seed,
            "variance": pos_induction.VARIANCE,
        },
    ),
    "similarity": EmbeddingTask(run_similarity, lambda options: {}),
    "analogy": EmbeddingTask(run_analogy, lambda options: {}),
    "sentiment": EmbeddingTask(run_sentiment, lambda options: {}),
    "sentiment_means": EmbeddingTask(
        run_mean_vector_sentiment,
        lambda options: {"means": list(sentiment.MEANS), "folds": sentiment.FOLDS},
    ),
}
HEADINGS = ("task", "set", "score", "coverage", "")


def check_task_names(names: Sequence[str], task_names: Sequence[str] = tuple(TASKS)) -> None:
    """Raise ValueError if a name is not one of the evaluations."""
    for name in names:
        if name not in task_names:
            raise ValueError(f"unknown task {name!r}; known: {', '.join(task_names)}")


def format_score_rows(task: str, evaluation: Evaluation) -> list[list[str]]:
    """Return the scores of an evaluation as rows of the printed table with `HEADINGS`."""
    return [
        [
            task,
            score.name,
            NOTHING if score.value is None else f"{score.value:.2f}",
            f"{score.coverage:.1f} %",
            score.detail,
        ]
        for score in evaluation.scores
    ]


def _hash_splits(texts: TextSplits) -> str:
    """Return one content hash of the texts of all splits."""
    return ", ".join(f"{split} {value[:16]}" for split, value in sorted(texts.fingerprint.items()))


def _name_test_metrics(test_set: str, **values: float | None) -> dict[str, float]:
    """Return the scores of a test set by metric name, without undefined ones."""
    return {f"test/{test_set}/{metric}": value for metric, value in values.items() if value is not None}
