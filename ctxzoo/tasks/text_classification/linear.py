"""Linear classifiers of n-grams, what a user would take instead of a small neural model, and one run of one of them."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any, ClassVar

import datasets
import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.dummy import DummyClassifier
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, f1_score
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import Pipeline, make_pipeline, make_union
from sklearn.svm import LinearSVC

from ctxzoo.data.notices import count_of
from ctxzoo.hub.task_card import TaskCard
from ctxzoo.models.tokenization_word import Cutter, build_word_tokenizer, cut_words, word_cutter
from ctxzoo.results.result import RESULTS_DIR, RunResult, write_result_file
from ctxzoo.runs.run import Run
from ctxzoo.runs.spec import RunSpec
from ctxzoo.tasks.text_classification.card import CARD
from ctxzoo.tasks.text_classification.data import TextClassificationDataModule
from ctxzoo.tasks.text_classification.fasttext_baseline import FastText
from ctxzoo.tasks.text_classification.naive_bayes import log_count_ratios
from ctxzoo.tasks.text_classification.splitting import labels_of, some_rows
from ctxzoo.training.remaining_time import RemainingTime

LINEAR_BASELINES = ("words_characters_svm", "bigram_naive_bayes", "bigram_nbsvm")  # of sentences
DOCUMENT_BASELINES = ("words_svm", "bigram_nblr")
MAJORITY_CLASS = "majority_class"
# Baselines whose C can be chosen: name -> the classifier's parameter. With the choice each is a baseline of its own.
COSTS = {"words_characters_svm": "C", "bigram_nbsvm": "C", "words_svm": "C", "bigram_nblr": "classifier__C"}
TUNED = "_tuned"
TUNED_LINEAR = tuple(f"{name}{TUNED}" for name in LINEAR_BASELINES if name in COSTS)
TUNED_DOCUMENT = tuple(f"{name}{TUNED}" for name in DOCUMENT_BASELINES)
FASTTEXT = ("fasttext", "fasttext_autotuned")  # need the package of that name
AUTOTUNE_SECONDS, AUTOTUNE_THREADS = 60, 2
C_VALUES = (0.0625, 0.25, 1.0, 4.0, 16.0)
C_FOLDS = 3


class WordCutter:
    """Cuts a text into words as `WordTokenizer` with this pre-tokenizer does; what scikit-learn calls a tokenizer."""

    def __init__(self, cutter: Cutter) -> None:
        self.cutter = cutter
        self._backend = word_cutter(lower_case=True, cutter=cutter)

    def __repr__(self) -> str:
        return f"WordCutter({self.cutter!r})"

    def __call__(self, text: str) -> list[str]:
        return cut_words(self._backend, text)


class NaiveBayesWeighted(ClassifierMixin, BaseEstimator):  # type: ignore[misc, unused-ignore]
    """A linear classifier over features that are scaled by their naive-Bayes log-count ratio (Wang and Manning 2012).

    The classifier of a class against the others sees x * r with the ratios r of the class (`log_count_ratios`). `coef_`
    are its weights times r, for x itself.

    Args:
        C: of the linear SVM that is the classifier if none is given.
        classifier: another linear classifier of two classes, not fitted.
    """

    def __init__(self, C: float = 1.0, classifier: Any = None) -> None:
        self.C = C
        self.classifier = classifier

    def fit(self, X: sparse.csr_matrix, y: npt.ArrayLike) -> NaiveBayesWeighted:
        labels = np.asarray(y)
        self.classes_ = np.unique(labels)
        # Of two classes one classifier is enough: the other's is its negative.
        fitted = self.classes_[1:] if len(self.classes_) == 2 else self.classes_
        self.ratios_ = log_count_ratios(X, labels, fitted)
        classifier = LinearSVC(C=self.C, random_state=0) if self.classifier is None else self.classifier
        weights, intercepts = [], []
        for label, ratios in zip(fitted, self.ratios_, strict=True):
            model = clone(classifier).fit(X @ sparse.diags(ratios), labels == label)
            weights.append(model.coef_[0] * ratios)
            intercepts.append(model.intercept_[0])
        self.coef_, self.intercept_ = np.stack(weights), np.array(intercepts)
        return self

    def decision_function(self, X: sparse.csr_matrix) -> npt.NDArray[np.float64]:
        """Return scores (rows, classes), or (rows,) for the second of two classes."""
        scores: npt.NDArray[np.float64] = X @ self.coef_.T + self.intercept_
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict(self, X: sparse.csr_matrix) -> npt.NDArray[Any]:
        scores = self.decision_function(X)
        indices = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
        predicted: npt.NDArray[Any] = self.classes_[indices]
        return predicted


def linear_baseline(name: str, cutter: Cutter = "whitespace") -> Pipeline:
    """Return an untrained scikit-learn pipeline from texts to classes.

    One of `LINEAR_BASELINES`, of `DOCUMENT_BASELINES`, or `MAJORITY_CLASS`. Texts are lower-cased and cut into words by
    the pre-tokenizer `cutter` (see `build_word_tokenizer`).

    With `_tuned` behind the names of `COSTS`, C is that of `C_VALUES` with the best accuracy in a cross-validation of
    the texts that the pipeline is fitted on: three stratified folds of neighbouring rows, as scikit-learn cuts them.
    Document frequencies are counted in all of these texts, naive-Bayes ratios in the fold's own.

    - words_characters_svm: TF-IDF of words (1-2) and of characters within words (2-5), linear SVM;
    - bigram_naive_bayes: multinomial naive Bayes over whether words and pairs of words occur;
    - bigram_nbsvm: the same features weighted by naive Bayes, linear SVM;
    - words_svm: TF-IDF of words (1-2), linear SVM;
    - bigram_nblr: the features of bigram_nbsvm, logistic regression, of more than two classes each against the rest;
    - majority_class: the most frequent class, whatever the text;
    - fasttext: `FastText` with its defaults; fasttext_autotuned: after it has searched its settings for a minute.

    Raises:
        ValueError: an unknown name, of which the message lists the known ones; an unknown cutter.
    """
    if name in (*TUNED_LINEAR, *TUNED_DOCUMENT):
        plain = name.removesuffix(TUNED)
        *features, (step, classifier) = linear_baseline(plain, cutter).steps
        search = GridSearchCV(classifier, {COSTS[plain]: list(C_VALUES)}, cv=C_FOLDS)
        return Pipeline([*features, (step, search)])
    words_of: dict[str, Any] = {"token_pattern": r"(?u)\S+", "ngram_range": (1, 2)}
    if cutter != "whitespace":
        words_of |= {"token_pattern": None, "tokenizer": WordCutter(cutter)}
    if name == "words_characters_svm":
        words = TfidfVectorizer(**words_of, sublinear_tf=True)
        characters = TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 5), sublinear_tf=True)
        return make_pipeline(make_union(words, characters), LinearSVC(random_state=0))
    if name == "bigram_naive_bayes":
        return make_pipeline(CountVectorizer(**words_of, binary=True), MultinomialNB())
    if name == "bigram_nbsvm":
        return make_pipeline(CountVectorizer(**words_of, binary=True), NaiveBayesWeighted(C=0.1))
    if name == "words_svm":
        return make_pipeline(TfidfVectorizer(**words_of, sublinear_tf=True), LinearSVC(random_state=0))
    if name == "bigram_nblr":
        logistic = LogisticRegression(C=1.0, solver="liblinear", random_state=0)
        return make_pipeline(CountVectorizer(**words_of, binary=True), NaiveBayesWeighted(classifier=logistic))
    if name == "fasttext":
        return make_pipeline(FastText(cutter=cutter))
    if name == "fasttext_autotuned":
        return make_pipeline(FastText(AUTOTUNE_SECONDS, AUTOTUNE_THREADS, cutter))
    if name == MAJORITY_CLASS:
        return make_pipeline(DummyClassifier(strategy="most_frequent"))
    known = (*LINEAR_BASELINES, *DOCUMENT_BASELINES, *TUNED_LINEAR, *TUNED_DOCUMENT, *FASTTEXT, MAJORITY_CLASS)
    raise ValueError(f"unknown linear baseline {name!r}; known: {', '.join(known)}")


def number_of_weights(model: Pipeline) -> int:
    """Count the numbers by which the classifier of a fitted `linear_baseline` weighs features and classes."""
    fitted = ("coef_", "intercept_", "feature_log_prob_", "class_log_prior_")
    classifier = getattr(model[-1], "best_estimator_", model[-1])
    if isinstance(classifier, FastText):
        return classifier.num_weights_
    return sum(getattr(classifier, name).size for name in fitted if hasattr(classifier, name))


def chosen_cost(model: Pipeline) -> float | None:
    """Return the C that a fitted `linear_baseline` has chosen; None where it had none to choose."""
    values: dict[str, float] = getattr(model[-1], "best_params_", {})
    return next(iter(values.values()), None)


ARCHITECTURE = "linear"


@dataclass(frozen=True, kw_only=True)
class LinearRun(Run):
    """All that decides one run, in values that can be sent to another process.

    Attributes:
        recipe, seed, fold, commit: for the results file; the seed is that of the folds and of held-out rows.
        variant: a name that `linear_baseline` knows.
        dataset, data_dir, folds: as in `TextClassificationDataModule`; without `folds` and `fold` the dataset's own
            splits.
        data: further options of the data module that choose texts: `text_column`, `dev_share`, `min_words`, and
            `cutter`, which the baseline cuts its words with.
        most_rows: texts that it is fitted to at most, drawn, with one of each label; None: all.
        tell_time: Whether it prints how long it takes, where that is long.
        score: what is scored: test, or validation to choose settings.
        named: what the results file calls the dataset; None: as it is named.
        tag: what tells its file from others on the same dataset.
        output_dir, results_dir: where to write.

    Raises:
        ValueError: one of `folds` and `fold` without the other.
    """

    card: ClassVar[TaskCard] = CARD

    recipe: str
    variant: str
    dataset: str
    seed: int
    commit: str
    folds: int | None = None
    fold: int | None = None
    data: dict[str, Any] = field(default_factory=dict)
    data_dir: str | None = None
    most_rows: int | None = None
    tell_time: bool = False
    score: str = "test"
    named: str | None = None
    tag: str = ""
    output_dir: str = "runs"
    results_dir: str = RESULTS_DIR

    def __post_init__(self) -> None:
        if (self.folds is None) != (self.fold is None):
            raise ValueError(
                f"folds={self.folds} and fold={self.fold}; give both, or none for the dataset's own splits"
            )

    @property
    def cutter(self) -> Cutter:
        """How the baseline cuts texts into words."""
        cutter: Cutter = self.data.get("cutter", "whitespace")
        return cutter

    @property
    def fitted(self) -> tuple[str, ...]:
        """The splits that the baseline is fitted on."""
        return tuple(split for split in ("train", "validation") if split != self.score)

    @property
    def spec(self) -> RunSpec:
        pipeline = " ".join(repr(linear_baseline(self.variant, self.cutter)).split())
        folds = {} if self.folds is None else {"folds": self.folds}
        if self.most_rows is not None:
            folds["most_rows"] = self.most_rows
        return RunSpec(
            recipe=self.recipe,
            architecture=ARCHITECTURE,
            variant=self.variant,
            dataset=self.named or self.dataset,
            seed=self.seed,
            fold=self.fold,
            commit=self.commit,
            settings={**folds, "trained_on": " and ".join(self.fitted), "pipeline": pipeline, **self.data},
            score=self.score,
            tag=self.tag,
            output_dir=self.output_dir,
            results_dir=self.results_dir,
        )

    def work(self, *, resume: bool) -> None:
        """Fit, by default on all rows of train and validation, score on those of test, write the results file.

        The folds are those of the neural models with the same seed. What these hold out as `validation` to pick their
        best epoch, or the dataset itself, is trained on here, unless it is what the run scores.

        Raises:
            ValueError: the data has no rows of the split to score.
        """
        write_result_file(_fit(self), self.spec.results_file)


def _fit(run: LinearRun) -> RunResult:
    data = TextClassificationDataModule.from_options(
        run.dataset,
        data_dir=run.data_dir,
        folds=run.folds,
        fold=run.fold or 0,
        fold_seed=run.seed,
        tokenizer=build_word_tokenizer([], cutter=run.cutter),  # a baseline has words of its own
        **run.data,
    )
    data.setup()
    training, testing = _fitted_texts(data, run.fitted), data.texts(run.score).select(data.rows(run.score))
    if run.most_rows is not None and len(training) > run.most_rows:
        training = training.select(some_rows(labels_of(training), run.most_rows, run.seed))
    started = time.perf_counter()
    model = linear_baseline(run.variant, run.cutter)
    if run.tell_time:
        _tell_time(model, f"linear model beside it, fitted to {count_of(len(training), 'texts')}")
    model.fit(training["text"][:], training["label"][:])
    seconds = time.perf_counter() - started
    predicted = model.predict(testing["text"][:])
    scores = {
        "accuracy": accuracy_score(testing["label"][:], predicted),
        "macro_f1": f1_score(testing["label"][:], predicted, average="macro", zero_division=0.0),
    }
    weights, cost = number_of_weights(model), chosen_cost(model)
    return run.spec.result(
        metrics={
            **{f"{run.score}/{name}": 100.0 * float(value) for name, value in scores.items()},
            **({} if cost is None else {"chosen_C": cost}),
        },
        parameters={"trainable": weights, "total": weights},
        fingerprint=data.fingerprint,
        seconds=seconds,
    )


def _tell_time(model: Pipeline, what: str) -> None:
    """Let a pipeline that chooses its C say how long it takes, once some of its fits are scored."""
    search = model[-1]
    if not isinstance(search, GridSearchCV):
        return
    remaining, done = RemainingTime(what, "fits"), count(1)
    total = search.cv * len(next(iter(search.param_grid.values()))) + 1  # the last is that of all texts

    def score(estimator: Any, inputs: Any, labels: Any) -> float:
        remaining.tell(next(done), total)
        accuracy: float = estimator.score(inputs, labels)
        return accuracy

    search.scoring = score


def _fitted_texts(data: TextClassificationDataModule, splits: Sequence[str]) -> datasets.Dataset:
    """The rows of those splits that are there, train among them, in the order of the dataset."""
    rows = {split: data.rows(split) for split in splits if split in data.splits}
    if "validation" in rows and data.texts("validation") is data.texts("train"):
        return data.texts("train").select(np.sort(np.concatenate(list(rows.values()))))
    return datasets.concatenate_datasets([data.texts(split).select(of_split) for split, of_split in rows.items()])
