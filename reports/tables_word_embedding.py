"""Word vectors: their tables, made from results files, beside the numbers of the paper.

A cell is the mean and sample standard deviation over trainings; differences are tested over them. Of POS induction each
training has a median over its restarts, and the spread is that of all restarts of all trainings. Runs without a name
are those of the recipe as it is, without subsampling for every model; studies have other settings, which their name
stands for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from ctxzoo.results.result import VECTORS_CONTENT, RunResult
from ctxzoo.results.seed_comparison import seeds_cell
from ctxzoo.results.table_parts import (
    NOT_RUN,
    NOTHING,
    commands_not_run,
    markdown_table,
    mean_difference,
    with_commands,
)
from ctxzoo.tasks.text_classification.experiments import SENTENCE_DATASETS
from reports import results_table
from reports.results_table import Column, Difference, Line, Row, Runs, Table, Where, mean_of, score, select

RECIPE = "embedding_evaluation"
WINDOW, WINDOWS = 20, (2, 5, 10, 20)
MODELS = {
    "cbow": "CBOW",
    "skip_gram": "Skip-gram",
    "structured_skip_gram": "Structured skip-gram",
    "cwindow": "CWindow",
    "attention_cbow": "Attention CBOW",
}
# Vectors of others, read from files: their name -> what rows call them.
GIVEN = {"glove.6B.100d_wink": "GloVe 6B, d = 100, without words with digits and most signs"}
# Ling et al. (2015), Table 1: V-measure of POS induction, accuracy of POS tagging and of sentiment. It has no CWindow.
PAPER = {
    "cbow": (50.40, 97.03, 71.99),
    "skip_gram": (33.86, 97.19, 72.10),
    "structured_skip_gram": (47.64, 97.40, 69.96),
    "attention_cbow": (54.00, 97.39, 71.39),
}
# Tags of POS induction: the treebank's own stand beside the paper's.
TREEBANK_TAGS, UNIVERSAL_TAGS = "all/pos_tags", "all/upos"
SIMILARITY_SETS = {"wordsim353": "WordSim-353", "men3000": "MEN", "rare_words": "rare words", "simverb3500": "SimVerb"}
COMMAND = f"python recipes/{RECIPE}.py --vectors CHECKPOINT … --seeds 0 1 2 --resume"


def trainings_of(architecture: str, name: str = "", window: int = WINDOW) -> dict[str, object]:
    """Return what the runs have that evaluate the trainings of an architecture."""
    return {"settings.architecture": architecture, "settings.name": name, "settings.window": window}


def runs_of(results: Iterable[RunResult], architecture: str, task: str, window: int = WINDOW) -> Runs:
    """Return the trainings of one cell; raises ValueError as `results_table.runs_of` does."""
    where = {"recipe": RECIPE, "settings.task": task, **trainings_of(architecture, window=window)}
    return results_table.runs_of(map(_without_vectors, results), where)


def _without_vectors(run: RunResult) -> RunResult:
    """Return the run without what names its vectors, which are those of one training, in settings and taggers' data."""
    settings = {name: value for name, value in run.settings.items() if name not in ("vectors", VECTORS_CONTENT)}
    fingerprint = run.data["fingerprint"].partition(", word vectors ")[0]
    return replace(run, settings=settings, data={**run.data, "fingerprint": fingerprint})


def _score(heading: str, task: str, key: str, *, tested: bool = True) -> Column:
    """Return the column of a score, which is compared where all trainings have it."""

    def minus(ours: Runs, base: Runs) -> str:
        return seeds_cell(ours, base, key) if all(key in run.metrics for run in (*ours, *base)) else NOTHING

    return score(heading, key, minus=minus if tested else None, where={"settings.task": task})


def _spread(heading: str, tags: str) -> Column:
    """Return the column of the range from the lowest to the highest restart of all trainings."""

    def show(runs: Runs) -> str:
        lowest, highest = (
            [run.metrics[key] for run in runs if key in run.metrics]
            for key in (f"{tags}/v_measure_lowest", f"{tags}/v_measure_highest")
        )
        return f"{min(lowest):.2f} to {max(highest):.2f}" if lowest and highest else NOTHING

    return Column(heading, show, where={"settings.task": "pos_induction"}, absent=NOTHING)


def _coverage(heading: str, task: str, part: str, key: str) -> Column:
    """Return the column of a score with the share of a set that all vectors have."""

    def show(runs: Runs) -> str:
        shown = mean_of(runs, f"{part}/{key}")
        if shown == NOTHING:
            return shown
        return f"{shown} (of {min(run.metrics[f'{part}/coverage'] for run in runs):.0f} %)"

    return Column(heading, show, where={"settings.task": task})


def _table(columns: Sequence[Column], rows: Sequence[Line] | Callable[[Runs], Iterable[Line]]) -> Table:
    """Return a table of trainings, whose number stands in the last column."""
    trainings = Column("trainings", total=lambda cells: str(max(map(len, cells))))
    return Table(("model",), [*columns, trainings], rows, where={"recipe": RECIPE}, alike=_without_vectors)


def _models(*, absent: str = NOT_RUN) -> list[Row]:
    rows = [Row(label, trainings_of(name), need=3, command=COMMAND) for name, label in MODELS.items()]
    return [*rows, *(Row(label, {"variant": name}, absent=absent, optional=True) for name, label in GIVEN.items())]


def _difference(label: str, ours: Where, base: Where) -> Difference:
    return Difference(f"{label} (p over trainings)", ours, base, optional=True)


INDUCTION = _score("POS induction, V", "pos_induction", f"{TREEBANK_TAGS}/v_measure_median")
INDUCTION_12 = _score("12 tags, V", "pos_induction", f"{UNIVERSAL_TAGS}/v_measure_median")
SPREAD = _spread("its spread", TREEBANK_TAGS)
TAGGING = _score("POS tagging", "pos_tagging", "test/accuracy")
SENTIMENT = _score("sentiment", "sentiment", "test/accuracy")


def _with_paper(row: Row, name: str) -> Row:
    headings = [column.heading for column in (INDUCTION, TAGGING, SENTIMENT)]
    numbers = zip(headings, PAPER.get(name, ()), strict=False)
    return replace(row, behind={heading: f" ({number:.2f})" for heading, number in numbers})


# The paper's Table 1: ours, and its number in brackets.
downstream = _table(
    (INDUCTION, SPREAD, INDUCTION_12, _spread("its spread, 12 tags", UNIVERSAL_TAGS), TAGGING, SENTIMENT),
    [
        *(_with_paper(row, name) for row, name in zip(_models(absent=NOTHING), [*MODELS, *GIVEN], strict=True)),
        *(
            _difference(f"{MODELS[ours]} − {MODELS[base]}", trainings_of(ours), trainings_of(base))
            for ours, base in (
                *(("attention_cbow", model) for model in MODELS if model != "attention_cbow"),
                ("cbow", "structured_skip_gram"),
            )
        ),
    ],
)
# Word similarity and analogies, with the coverage of each set.
intrinsic = _table(
    [
        *(_coverage(label, "similarity", f"test/{name}", "spearman") for name, label in SIMILARITY_SETS.items()),
        *(_coverage(part, "analogy", f"test/{part}", "accuracy") for part in ("semantic", "syntactic")),
    ],
    _models(),
)

# Architecture and name of a study -> what rows call it; docs/results/word_embedding.md lists the command of each.
STUDIES = {
    ("attention_cbow", ""): "Attention CBOW",
    ("cbow", ""): "CBOW",
    **{(name, "subsampled"): f"{label}, subsampling 0.001" for name, label in MODELS.items()},
    ("attention_cbow", "uniform"): "Attention CBOW, K = s = 0 throughout",
    ("attention_cbow", "konly"): "Attention CBOW, K without s",
    ("attention_cbow", "sonly"): "Attention CBOW, s without K",
    ("attention_cbow", "rank8"): "Attention CBOW, K of rank 8",
    ("attention_cbow", "rate0.2"): "Attention CBOW, learning rate 0.2",
    ("attention_cbow", "uniform-rate0.2"): "Attention CBOW, K = s = 0 throughout, learning rate 0.2",
    ("cbow", "exact"): "CBOW, exact gradient",
    ("cbow", "exact-rate0.2"): "CBOW, exact gradient, learning rate 0.2",
    ("positional_cbow", ""): "Positional CBOW",
}
# What attention adds at each rate, what the rate adds, and positional weights beside attention.
COMPARISONS = (
    (("attention_cbow", ""), ("attention_cbow", "uniform")),
    (("attention_cbow", "rate0.2"), ("attention_cbow", "uniform-rate0.2")),
    (("attention_cbow", "rate0.2"), ("attention_cbow", "")),
    (("positional_cbow", ""), ("attention_cbow", "")),
)
CONTROL = ("attention_cbow", "uniform")


def _studies(results: Runs) -> Iterable[Line]:
    """Return a row for each of `STUDIES`, and for every other name that has results."""
    named = [run.settings for run in select(results, {"recipe": RECIPE, "settings.window": WINDOW})]
    found = {(settings["architecture"], settings["name"]) for settings in named if settings.get("name")}
    others = {(name, study): f"{MODELS.get(name, name)}, {study}" for name, study in sorted(found - STUDIES.keys())}
    for place, label in {**STUDIES, **others}.items():
        yield Row(label, trainings_of(*place), command=COMMAND)
    for ours, base in COMPARISONS:
        yield _difference(f"{STUDIES[ours]} − {STUDIES[base]}", trainings_of(*ours), trainings_of(*base))


studies = _table(
    (
        *(INDUCTION, SPREAD, INDUCTION_12, TAGGING, SENTIMENT),
        *(
            _score(SIMILARITY_SETS[name], "similarity", f"test/{name}/spearman", tested=False)
            for name in ("wordsim353", "men3000")
        ),
    ),
    _studies,
)


def windows(results: Runs) -> str:
    """Return POS induction by the half window b."""
    rows, missing = [], False
    for tags, shown in ((TREEBANK_TAGS, "the treebank's tags"), (UNIVERSAL_TAGS, "12 tags")):
        for name in ("attention_cbow", "cbow"):
            cells = [runs_of(results, name, "pos_induction", window) for window in WINDOWS]
            medians = [mean_of(runs, f"{tags}/v_measure_median") if runs else NOT_RUN for runs in cells]
            rows.append([f"{MODELS[name]}, {shown}", *medians])
            missing |= not all(cells)
    table = markdown_table(["model", *(f"b = {window}" for window in WINDOWS)], rows)
    return with_commands(table, commands_not_run([COMMAND] if missing else []))


# Names of the evaluation's means of a sentence's words, and what they are called here.
MEANS = {"plain": "as they are", "unit": "length 1", "weighted": "weighted", "unit_weighted": "length 1, weighted"}
sentiment_means = _table(
    [_score(label, "sentiment_means", f"test/{name}/accuracy") for name, label in MEANS.items()],
    [
        Row(label, trainings_of(*place), need=3, command=COMMAND)
        for place, label in {**{(name, ""): label for name, label in MODELS.items()}, CONTROL: STUDIES[CONTROL]}.items()
    ],
)


@dataclass(frozen=True)
class Use:
    """A model that is trained from the vectors of attention CBOW, and what it starts from otherwise.

    Attributes:
        label: Text of the first cell.
        otherwise: Text on what the other runs are initialized with.
        where: Values that those other runs must have.
        key: Name of the score that is compared, such as "test/accuracy".
        options: Options of the recipe that start from these vectors, ending with the name of those runs.
    """

    label: str
    otherwise: str
    where: Where
    key: str
    options: str

    @property
    def ours(self) -> dict[str, str]:
        """What the runs have that start from these vectors."""
        return {**self.where, "tag": self.options.rpartition(" ")[2]}


TAG, SCALED = "attention_cbow", "attention_cbow_scaled"  # of the runs that start from these vectors, and scale them
STD = 0.0577  # to that of U(-0.1, 0.1), from which the Contextualizer starts otherwise
USES = (
    Use(
        "BiDAF with learned positions, part of SQuAD 1.1, F1",
        "CBOW, 100-d, 78 M words",
        {"recipe": "squad_bidaf", "variant": "learned", "dataset": "ctxzoo-data/squad_v1_mini", "tag": ""},
        "test/f1",
        "--dataset ctxzoo-data/squad_v1_mini --variant learned --epochs 8 --seeds 1 --word_vectors CHECKPOINT "
        f"--name {TAG}",
    ),
    *(
        Use(
            f"Contextualizer with dropout, {heading}, accuracy{scaled}",
            "U(−0.1, 0.1), 250-d",
            {
                "recipe": "sentence_contextualizer",
                "variant": "learned_embeddings",
                "dataset": dataset,
                "tag": "dropout",
            },
            "test/accuracy",
            f"--dropout 0.5{option} --vectors CHECKPOINT --name {name}",
        )
        for scaled, option, name in (("", "", TAG), (", vectors scaled", f" --vectors_std {STD}", SCALED))
        for heading, dataset in SENTENCE_DATASETS.items()
    ),
    Use(
        "LAMA, Reuters, accuracy",
        "word2vec of the documents, 100-d",
        {"recipe": "document_lama", "variant": "lama", "dataset": "ctxzoo-data/reuters8", "tag": ""},
        "test/accuracy",
        f"--model lama --seeds 0 1 2 --vectors CHECKPOINT --name {TAG}",
    ),
)


def uses(results: Runs) -> str:
    """Return a row for each model and dataset: mean and sample standard deviation over its seeds or folds."""
    headings = ["model", "starts otherwise from", "its score", "from these vectors", "difference", "runs"]
    rows, missing = [], []
    for use in USES:
        others, ours = (results_table.runs_of(results, where) for where in (use.where, use.ours))
        scores = [mean_of(runs, use.key) if runs else NOT_RUN for runs in (others, ours)]
        rows.append([use.label, use.otherwise, *scores, mean_difference(ours, others, use.key), str(len(ours))])
        if not ours:
            missing.append(f"python recipes/{use.where['recipe']}.py {use.options} --resume")
    return with_commands(markdown_table(headings, rows, left=2), commands_not_run(list(dict.fromkeys(missing))))


TABLES: dict[str, Callable[..., str]] = {
    "word-embedding-downstream": downstream,
    "word-embedding-intrinsic": intrinsic,
    "word-embedding-studies": studies,
    "word-embedding-windows": windows,
    "word-embedding-sentiment": sentiment_means,
    "word-embedding-uses": uses,
}
