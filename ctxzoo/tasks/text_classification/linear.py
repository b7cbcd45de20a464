"""Linear classifiers of n-grams and fastText, which a user would take instead of a small neural model, and one run."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import count
from pathlib import Path
from typing import Any, cast

import datasets
import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin, clone
from sklearn.dummy import DummyClassifier
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, check_scoring, f1_score
from sklearn.model_selection import GridSearchCV, KFold, train_test_split
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import Pipeline, make_pipeline, make_union
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from ctxzoo.data.notices import format_count
from ctxzoo.models.tokenization_word import PreTokenizerName, build_pre_tokenizer, build_word_tokenizer, pre_tokenize
from ctxzoo.runs.counted import CountedRun, SimpleModel
from ctxzoo.runs.experiment import Experiment, ModelArgs
from ctxzoo.tasks.text_classification.data import TextClassificationDataModule
from ctxzoo.tasks.text_classification.experiments import PROBLEM, TINY_ROWS, TextData, TextStart
from ctxzoo.tasks.text_classification.label_sets import BALANCED
from ctxzoo.tasks.text_classification.naive_bayes import compute_log_count_ratios
from ctxzoo.tasks.text_classification.problem import TextClassification
from ctxzoo.tasks.text_classification.splitting import draw_rows_of_every_label, get_labels
from ctxzoo.training.remaining_time import RemainingTime
from ctxzoo.word_vectors.small_table import SMALL
from ctxzoo.word_vectors.vectors import read_word_vectors
from ctxzoo.word_vectors.vocabulary import compute_mean_weights

LINEAR_BASELINES = ("words_characters_svm", "bigram_naive_bayes", "bigram_nbsvm")  # of sentences
DOCUMENT_BASELINES = ("words_svm", "bigram_nblr")
MAJORITY_CLASS = "majority_class"
# Baselines whose C can be chosen: name -> the classifier's parameter. With the choice each is a baseline of its own.
COSTS = {
    **{"words_characters_svm": "C", "words_characters_vectors_svm": "C", "bigram_nbsvm": "C", "words_svm": "C"},
    "bigram_nblr": "classifier__C",
}
TUNED = "_tuned"
VECTOR_BASELINE = "words_characters_vectors_svm"
TUNED_LINEAR = tuple(f"{name}{TUNED}" for name in LINEAR_BASELINES if name in COSTS)
TUNED_DOCUMENT = tuple(f"{name}{TUNED}" for name in DOCUMENT_BASELINES)
TUNED_VECTOR_BASELINE = f"{VECTOR_BASELINE}{TUNED}"
FASTTEXT = ("fasttext", "fasttext_autotuned")  # need the package of that name
AUTOTUNE_SECONDS, AUTOTUNE_THREADS = 60, 2
C_VALUES = (0.0625, 0.25, 1.0, 4.0, 16.0)
C_FOLDS = 3
_SCORINGS = {"accuracy": "accuracy", "macro_f1": "f1_macro", "micro_f1": "f1_micro", "exact_match": "accuracy"}


class WordPreTokenizer:
    """Splits a text into words as `WordTokenizer` with this pre-tokenizer does; what scikit-learn calls a tokenizer."""

    def __init__(self, pre_tokenizer: PreTokenizerName) -> None:
        self.pre_tokenizer = pre_tokenizer
        self._backend = build_pre_tokenizer(lower_case=True, pre_tokenizer=pre_tokenizer)

    def __repr__(self) -> str:
        return f"WordPreTokenizer({self.pre_tokenizer!r})"

    def __call__(self, text: str) -> list[str]:
        return pre_tokenize(self._backend, text)


class NaiveBayesWeighted(ClassifierMixin, BaseEstimator):  # type: ignore[misc, unused-ignore]
    """A linear classifier over features that are scaled by their naive-Bayes log-count ratio (Wang and Manning 2012).

    The classifier of a class against the others sees x * r with the ratios r of the class
    (`compute_log_count_ratios`). `coef_` are its weights times r, for x itself.

    Args:
        C: Inverse regularization strength of the linear SVM that is used if no classifier is given.
        classifier: Unfitted scikit-learn classifier of two classes, with linear weights, to use in place of the SVM.
    """

    def __init__(self, C: float = 1.0, classifier: Any = None) -> None:
        self.C = C
        self.classifier = classifier

    def fit(self, X: sparse.csr_matrix, y: npt.ArrayLike) -> NaiveBayesWeighted:
        labels = np.asarray(y)
        self.classes_ = np.unique(labels)
        # Of two classes one classifier is enough: the other's is its negative.
        fitted = self.classes_[1:] if len(self.classes_) == 2 else self.classes_
        self.ratios_ = compute_log_count_ratios(X, labels, fitted)
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


class WordVectorFeatures(TransformerMixin, BaseEstimator):  # type: ignore[misc, unused-ignore]
    """Mean and maximum of the word vectors of a text, from the small table of English words that comes with ctxzoo.

    Args:
        pre_tokenizer: Name of the pre-tokenizer that cuts texts into words.
    """

    def __init__(self, pre_tokenizer: PreTokenizerName = "whitespace") -> None:
        self.pre_tokenizer = pre_tokenizer

    def fit(self, X: Sequence[str], y: object = None) -> WordVectorFeatures:
        self.vectors_ = read_word_vectors(SMALL)
        self.weights_ = compute_mean_weights(np.arange(len(self.vectors_)), len(self.vectors_))
        return self

    def transform(self, X: Sequence[str]) -> npt.NDArray[np.float64]:
        """Return (texts, 200) the weighted mean of the vectors (`compute_mean_weights`), then their maximum."""
        backend = build_pre_tokenizer(lower_case=True, pre_tokenizer=self.pre_tokenizer)
        features = np.zeros((len(X), 2 * self.vectors_.dim))
        for row, text in enumerate(X):
            known = [self.vectors_.lookup(word) for word in pre_tokenize(backend, text)]
            rows = [word_row for word_row in known if word_row is not None]
            if rows:
                vectors, weights = self.vectors_.vectors[rows].numpy(), self.weights_[rows]
                features[row] = np.concatenate([weights @ vectors / weights.sum(), vectors.max(axis=0)])
        return features


def build_linear_baseline(name: str, pre_tokenizer: PreTokenizerName = "whitespace") -> Pipeline:
    """Return an untrained scikit-learn pipeline from texts to classes.

    One of `LINEAR_BASELINES`, of `DOCUMENT_BASELINES`, or `MAJORITY_CLASS`. Texts are lower-cased and cut into words by
    the pre-tokenizer of the name `pre_tokenizer` (see `build_word_tokenizer`).

    With `_tuned` behind the names of `COSTS`, C is that of `C_VALUES` with the best accuracy in a cross-validation of
    the texts that the pipeline is fitted on: three stratified folds of neighbouring rows, as scikit-learn cuts them.
    Document frequencies are counted in all of these texts, naive-Bayes ratios in the fold's own.

    - words_characters_svm: TF-IDF of words (1-2) and of characters within words (2-5), linear SVM;
    - words_characters_vectors_svm: the same, and beside them the mean and the maximum of the small table of English
      word vectors, each number with mean 0 and deviation 1 / sqrt(100) over the texts;
    - bigram_naive_bayes: multinomial naive Bayes over whether words and pairs of words occur;
    - bigram_nbsvm: the same features weighted by naive Bayes, linear SVM;
    - words_svm: TF-IDF of words (1-2), linear SVM;
    - bigram_nblr: the features of bigram_nbsvm, logistic regression, of more than two classes each against the rest;
    - majority_class: the most frequent class, whatever the text;
    - fasttext: `FastText` with its defaults; fasttext_autotuned: after it has searched its settings for a minute.

    Raises:
        ValueError: an unknown name, of which the message lists the known ones; an unknown pre-tokenizer.
    """
    if name in (*TUNED_LINEAR, *TUNED_DOCUMENT, TUNED_VECTOR_BASELINE):
        plain = name.removesuffix(TUNED)
        *features, (step, classifier) = build_linear_baseline(plain, pre_tokenizer).steps
        search = GridSearchCV(classifier, {COSTS[plain]: list(C_VALUES)}, cv=C_FOLDS)
        return Pipeline([*features, (step, search)])
    words_of: dict[str, Any] = {"token_pattern": r"(?u)\S+", "ngram_range": (1, 2)}
    if pre_tokenizer != "whitespace":
        words_of |= {"token_pattern": None, "tokenizer": WordPreTokenizer(pre_tokenizer)}
    if name in ("words_characters_svm", VECTOR_BASELINE):
        words = TfidfVectorizer(**words_of, sublinear_tf=True)
        parts: list[Any] = [words, TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 5), sublinear_tf=True)]
        union = make_union(*parts)
        if name == VECTOR_BASELINE:
            union.transformer_list += [("vectors", make_pipeline(WordVectorFeatures(pre_tokenizer), StandardScaler()))]
            union.transformer_weights = {"vectors": 0.1}
        return make_pipeline(union, LinearSVC(random_state=0))
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
        return make_pipeline(FastText(pre_tokenizer=pre_tokenizer))
    if name == "fasttext_autotuned":
        return make_pipeline(FastText(AUTOTUNE_SECONDS, AUTOTUNE_THREADS, pre_tokenizer))
    if name == MAJORITY_CLASS:
        return make_pipeline(DummyClassifier(strategy="most_frequent"))
    linear = (*LINEAR_BASELINES, VECTOR_BASELINE, *DOCUMENT_BASELINES, *TUNED_LINEAR, TUNED_VECTOR_BASELINE)
    known = (*linear, *TUNED_DOCUMENT, *FASTTEXT, MAJORITY_CLASS)
    raise ValueError(f"unknown linear baseline {name!r}; known: {', '.join(known)}")


def choose_for_labels(model: Pipeline, *, several_labels: bool, objective: str | None, balanced: bool) -> Pipeline:
    """Return an untrained tuned pipeline that gives texts several labels, looks for another score, or weighs labels.

    Several labels are given by a classifier for each, as scikit-learn's `OneVsRestClassifier` has it; C is then the one
    with the best micro F1 in three random folds.

    Args:
        model: Tuned pipeline of `build_linear_baseline`.
        several_labels: Whether a text may have several labels, so that labels are (rows, L) 0 and 1.
        objective: Score by which C is chosen: accuracy, macro_f1, or micro_f1 and exact_match of several labels; None:
            the first, or micro_f1.
        balanced: Whether each label weighs as much as the others, or, of several, as its absence.
    """
    *features, (step, search) = model.steps
    (parameter,) = search.param_grid
    classifier = search.estimator.set_params(**({"class_weight": "balanced"} if balanced else {}))
    scoring: str | None = _SCORINGS[objective] if objective else None
    if several_labels:
        folds = KFold(C_FOLDS, shuffle=True, random_state=0)
        grid = {f"estimator__{parameter}": list(C_VALUES)}
        search = GridSearchCV(OneVsRestClassifier(classifier), grid, cv=folds, scoring=scoring or "f1_micro")
    else:
        search = GridSearchCV(classifier, {parameter: list(C_VALUES)}, cv=C_FOLDS, scoring=scoring)
    return Pipeline([*features, (step, search)])


def count_weights(model: Pipeline) -> int:
    """Count the numbers by which the classifier of a fitted `build_linear_baseline` weighs features and classes."""
    fitted = ("coef_", "intercept_", "feature_log_prob_", "class_log_prior_")
    classifier = getattr(model[-1], "best_estimator_", model[-1])
    if isinstance(classifier, FastText):
        return classifier.num_weights_
    parts = getattr(classifier, "estimators_", [classifier])  # one for each label
    return sum(getattr(part, name).size for part in parts for name in fitted if hasattr(part, name))


def get_chosen_cost(model: Pipeline) -> float | None:
    """Return the C that a fitted `build_linear_baseline` has chosen; None where it had none to choose."""
    values: dict[str, float] = getattr(model[-1], "best_params_", {})
    return next(iter(values.values()), None)


@dataclass(frozen=True)
class LinearRun(CountedRun):
    """A `build_linear_baseline`, fitted by default on all rows of train and validation, and scored on those of test.

    The folds are those of the neural models with the same seed. What these hold out as `validation` to pick their best
    epoch, or the dataset itself, is trained on here, unless it is what the run scores.

    Attributes:
        tell_time: Whether the expected duration of a long fit is printed.
        several_labels: Whether a text may have several labels.
        objective: Name of the score by which C is chosen, as in `choose_for_labels`; None: the usual one.

    Raises:
        ValueError: one of `folds` and `fold` without the other.
    """

    architecture = "linear"
    reads = ("folds", "min_words", "train_rows", "pre_tokenizer", "dev_share", "dev_block", "class_weights")
    columns = ("text_column", "label_column", "label_separator", "label_columns")
    tiny_rows = TINY_ROWS

    tell_time: bool = False
    several_labels: bool = False
    objective: str | None = None

    def __post_init__(self) -> None:
        folds, fold = self.experiment.data.values()["folds"], self.experiment.fold
        if (folds is None) != (fold is None):
            raise ValueError(f"folds={folds} and fold={fold}; give both, or none for the dataset's own splits")

    @classmethod
    def build_experiment(cls, experiment: Experiment, variant: str) -> Experiment:
        """Build the experiment, see `CountedRun`; without validation rows, how they are chosen is left out."""
        baseline = super().build_experiment(experiment, variant)
        usual = {one.name: one.default for one in fields(baseline.data) if one.name in ("dev_share", "dev_block")}
        return baseline if baseline.score == "validation" else baseline.copy_with(**usual)

    @property
    def pre_tokenizer(self) -> PreTokenizerName:
        """Name of the pre-tokenizer by which the baseline splits texts into words."""
        name: PreTokenizerName = self.experiment.data.values()["pre_tokenizer"]
        return name

    @property
    def trained_on(self) -> tuple[str, ...]:
        """The splits that the baseline is fitted on."""
        return tuple(split for split in ("train", "validation") if split != self.experiment.score)

    def get_model_settings(self) -> Mapping[str, Any]:
        """Return settings of the baseline itself for the results file."""
        pipeline = " ".join(repr(self.build_pipeline()).split())
        most = {} if self.max_rows is None else {"most_rows": self.max_rows}
        return {**most, "trained_on": " and ".join(self.trained_on), "pipeline": pipeline}

    def build_pipeline(self) -> Pipeline:
        """Build the untrained pipeline of the baseline."""
        model = build_linear_baseline(self.experiment.model.variant, self.pre_tokenizer)
        balanced = self.experiment.data.values()["class_weights"] == (BALANCED,)
        if not (self.several_labels or self.objective or balanced):
            return model
        return choose_for_labels(model, several_labels=self.several_labels, objective=self.objective, balanced=balanced)

    def build_data_module(self) -> TextClassificationDataModule:
        words = build_word_tokenizer([], pre_tokenizer=self.pre_tokenizer)  # a baseline has words of its own
        options = cast(TextClassification, self.problem).build_data_options(self.experiment)
        return TextClassificationDataModule.from_options(self.experiment.source, **options, tokenizer=words)

    def fit(self, data: TextClassificationDataModule) -> SimpleModel:
        training = _join_split_texts(data, self.trained_on)
        if self.max_rows is not None and len(training) > self.max_rows:
            training = training.select(
                draw_rows_of_every_label(get_labels(training), self.max_rows, self.experiment.seed)
            )
        model = self.build_pipeline()
        if self.tell_time:
            _report_search_time(model, f"linear model beside it, fitted to {format_count(len(training), 'texts')}")
        model.fit(training["text"][:], get_labels(training))

        def score_split(split: str) -> dict[str, float]:
            testing = data.texts(split).select(data.rows(split))
            labels, predicted = get_labels(testing), model.predict(testing["text"][:])
            if labels.ndim == 2:
                # Labels that nobody has, nor is given, are not in the mean, as in `LabelSetScores`.
                occurring = np.flatnonzero(labels.any(axis=0) | predicted.any(axis=0))
                of = {"micro_f1": ("micro", None), "macro_f1": ("macro", occurring)}
                scores = {
                    name: f1_score(labels, predicted, average=average, labels=chosen, zero_division=0.0)
                    for name, (average, chosen) in of.items()
                }
                scores["exact_match"] = accuracy_score(labels, predicted)
            else:
                macro_f1 = f1_score(labels, predicted, average="macro", zero_division=0.0)
                scores = {"accuracy": accuracy_score(labels, predicted), "macro_f1": macro_f1}
            return {name: 100.0 * float(score) for name, score in scores.items()}

        cost = get_chosen_cost(model)
        return SimpleModel(count_weights(model), score_split, {} if cost is None else {"chosen_C": cost})


def build_linear_experiment(recipe: str) -> Experiment:
    """Return the experiment of a study of linear baselines, whose rows say which one and on what data."""
    model = ModelArgs(architecture=LinearRun.architecture, variant="")
    return Experiment(problem=PROBLEM, recipe=recipe, data=TextData(), model=model, start=TextStart())


def _report_search_time(model: Pipeline, description: str) -> None:
    """Make a pipeline that searches its C print the remaining time, once some of its fits are scored."""
    search = model[-1]
    if not isinstance(search, GridSearchCV):
        return
    remaining, fit_counter, score = RemainingTime(description, "fits"), count(1), check_scoring(search, search.scoring)
    total = C_FOLDS * len(next(iter(search.param_grid.values()))) + 1  # the last is that of all texts

    def score_and_report(estimator: Any, inputs: Any, labels: Any) -> float:
        remaining.print_if_due(next(fit_counter), total)
        value: float = score(estimator, inputs, labels)
        return value

    search.scoring = score_and_report


def _join_split_texts(data: TextClassificationDataModule, splits: Sequence[str]) -> datasets.Dataset:
    """Return the texts of several splits in one dataset; splits that do not exist are left out."""
    rows = {split: data.rows(split) for split in splits if split in data.splits}
    if "validation" in rows and data.texts("validation") is data.texts("train"):
        return data.texts("train").select(np.sort(np.concatenate(list(rows.values()))))
    return datasets.concatenate_datasets([data.texts(split).select(of_split) for split, of_split in rows.items()])


LABEL = "__label__"
HELD_OUT = 0.1


class FastText(ClassifierMixin, BaseEstimator):  # type: ignore[misc, unused-ignore]
    """fastText's supervised classifier on texts that are lower-cased and cut into words.

    Args:
        autotune_seconds: Seconds in which fastText searches its hyperparameters on a held-out, stratified tenth of the
            texts; 0: no search.
        threads: Number of CPU threads of fastText's training; with more than one, results vary from fit to fit.
        pre_tokenizer: Name of the pre-tokenizer that cuts texts into words, "whitespace" or "english", as in
            `build_word_tokenizer`.
    """

    def __init__(
        self, autotune_seconds: int = 0, threads: int = 1, pre_tokenizer: PreTokenizerName = "whitespace"
    ) -> None:
        self.autotune_seconds = autotune_seconds
        self.threads = threads
        self.pre_tokenizer = pre_tokenizer

    def fit(self, X: Sequence[str], y: npt.ArrayLike) -> FastText:
        """Fit it to texts X and their labels y (rows,).

        Raises:
            ImportError: fasttext is not installed.
        """
        fasttext = _import_fasttext()
        labels = np.asarray(y)
        self.classes_ = np.unique(labels)
        lines = [f"{LABEL}{label} {line}" for label, line in zip(labels.tolist(), self._join_words(X), strict=True)]
        # fastText reads lines in their order, once in each epoch, and datasets often stand label by label.
        lines = [lines[row] for row in np.random.default_rng(0).permutation(len(lines))]
        with tempfile.TemporaryDirectory() as folder:
            options: dict[str, Any] = {"thread": self.threads, "verbose": 0}
            if self.autotune_seconds:
                of_line = [line.partition(" ")[0] for line in lines]
                fewest = min(Counter(of_line).values())
                lines, held_out = train_test_split(
                    lines, test_size=HELD_OUT, random_state=0, stratify=of_line if fewest > 1 else None
                )
                options |= {
                    "autotuneValidationFile": _write_lines(Path(folder, "held_out.txt"), held_out),
                    "autotuneDuration": self.autotune_seconds,
                }
            self.model_ = fasttext.train_supervised(_write_lines(Path(folder, "train.txt"), lines), **options)
        rows = self.model_.f.getInputMatrix(), self.model_.f.getOutputMatrix()
        self.num_weights_ = int(sum(np.asarray(matrix).size for matrix in rows))
        return self

    def predict(self, X: Sequence[str]) -> npt.NDArray[Any]:
        """Return the label (rows,) of each text."""
        # Not `model.predict`, which NumPy 2 refuses.
        found = self.model_.f.multilinePredict([f"{line}\n" for line in self._join_words(X)], 1, -1.0, "strict")[0]
        return np.array([self.classes_.dtype.type(labels[0].removeprefix(LABEL)) for labels in found])

    def _join_words(self, texts: Sequence[str]) -> list[str]:
        backend = build_pre_tokenizer(lower_case=True, pre_tokenizer=self.pre_tokenizer)
        return [" ".join(pre_tokenize(backend, text)) for text in texts]


def _write_lines(file: Path, lines: Sequence[str]) -> str:
    file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return str(file)


def _import_fasttext() -> Any:
    try:
        import fasttext
    except ImportError as error:
        raise ImportError("the baseline fastText needs: pip install fasttext-wheel") from error
    return fasttext
