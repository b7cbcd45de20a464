"""Word vectors: their tables, made from results files, beside the numbers of the paper.

A cell is the mean and sample standard deviation over trainings; differences are tested over them. Of POS induction each
training has a median over its restarts, and the spread is that of all restarts of all trainings. Runs without a name
are those of the recipe as it is, without subsampling for every model; studies have other settings, which their name
stands for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from ctxzoo.results.result import VECTORS_CONTENT, RunResult
from ctxzoo.results.table_parts import NOT_RUN, NOTHING, append_commands, format_commands_not_run, format_markdown_table
from ctxzoo.tasks.text_classification.experiments import SENTENCE_DATASETS
from reports.labels import read_labels
from reports.results_table import Column, Difference, Line, Row, Table
from reports.run_selection import Runs, select_alike_runs, select_runs
from reports.score_columns import compare_means, format_mean, score_column

RECIPE = "embedding_evaluation"
WINDOW, WINDOWS = 20, (2, 5, 10, 20)


def _split_study(study: str) -> tuple[str, str]:
    """Return the architecture and the name of a study, given as "ARCHITECTURE NAME"; the name may be empty."""
    architecture, _, name = study.partition(" ")
    return architecture, name


LABELS = read_labels("word_embedding")
MODELS, GIVEN, PAPER, MEANS = (LABELS[name] for name in ("models", "given", "paper", "means"))
# Architecture and name of a study -> what rows call it; of a study without a name also all models.
STUDIES = {_split_study(study): label for study, label in LABELS["studies"].items()}
NAMES = {_split_study(model): label for model, label in MODELS.items()} | STUDIES
# Tags of POS induction: the treebank's own stand beside the paper's.
TREEBANK_TAGS, UNIVERSAL_TAGS = "all/pos_tags", "all/upos"
COMMAND = "--vectors CHECKPOINT … --seeds 0 1 2 --resume"


def match_trainings(architecture: str, name: str = "", window: int = WINDOW) -> dict[str, object]:
    """Return the values that runs have if they evaluate word vectors of an architecture, name and window."""
    return {"settings.architecture": architecture, "settings.name": name, "settings.window": window}


def select_training_runs(results: Iterable[RunResult], architecture: str, task: str, window: int = WINDOW) -> Runs:
    """Return the runs that evaluate an architecture's word vectors on a task, one for each training."""
    where = {"recipe": RECIPE, "settings.task": task, **match_trainings(architecture, window=window)}
    return select_alike_runs(map(_drop_vectors, results), where)


def _drop_vectors(run: RunResult) -> RunResult:
    """Return the run without the name of its word vectors, so that several trainings share a mean."""
    settings = {name: value for name, value in run.settings.items() if name not in ("vectors", VECTORS_CONTENT)}
    fingerprint = run.data["fingerprint"].partition(", word vectors ")[0]
    return replace(run, settings=settings, data={**run.data, "fingerprint": fingerprint})


def _make_task_column(heading: str, task: str, key: str, *, tested: bool = True) -> Column:
    """Return the column of a score on an evaluation task."""
    return score_column(heading, key, tested=tested, where={"settings.task": task})


def _make_spread_column(heading: str, tags: str) -> Column:
    """Return the column of the lowest and highest V-measure over restarts of all trainings.

    `tags` is the tag set.
    """

    def format_cell(runs: Runs) -> str:
        lowest, highest = (
            [run.metrics[key] for run in runs if key in run.metrics]
            for key in (f"{tags}/v_measure_lowest", f"{tags}/v_measure_highest")
        )
        return f"{min(lowest):.2f} to {max(highest):.2f}" if lowest and highest else NOTHING

    return Column(heading, format_cell, where={"settings.task": "pos_induction"}, absent=NOTHING)


def _make_coverage_column(heading: str, task: str, part: str, key: str) -> Column:
    """Return the column of a score, with the percentage of the test set that the vocabulary covers."""

    def format_cell(runs: Runs) -> str:
        mean = format_mean(runs, f"{part}/{key}")
        return mean if mean == NOTHING else f"{mean} (of {min(run.metrics[f'{part}/coverage'] for run in runs):.0f} %)"

    return Column(heading, format_cell, where={"settings.task": task})


def _make_training_table(columns: Sequence[Column], rows: Sequence[Line] | Callable[[Runs], Iterable[Line]]) -> Table:
    """Return a table of evaluated word vectors, with the number of trainings in the last column."""
    trainings = Column("trainings", total=lambda cells: str(max(map(len, cells))))
    return Table([*columns, trainings], rows, {"recipe": RECIPE}, prepare=_drop_vectors)


def _list_models(*, absent: str = NOT_RUN) -> list[Row]:
    """Return a row for each trained model, and for each given set of word vectors."""
    rows = [Row(label, match_trainings(name), need=3, command=COMMAND) for name, label in MODELS.items()]
    return [*rows, *(Row(label, {"variant": name}, absent=absent, optional=True) for name, label in GIVEN.items())]


def _list_difference_rows(pairs: Iterable[Sequence[str]]) -> list[Difference]:
    """Return a row of differences for each pair of studies, given as "ARCHITECTURE NAME"."""
    rows = []
    for pair in pairs:
        ours, base = map(_split_study, pair)
        label = f"{NAMES[ours]} − {NAMES[base]} (p over trainings)"
        rows.append(Difference(label, match_trainings(*ours), match_trainings(*base), optional=True))
    return rows


INDUCTION = _make_task_column("POS induction, V", "pos_induction", f"{TREEBANK_TAGS}/v_measure_median")
INDUCTION_12 = _make_task_column("12 tags, V", "pos_induction", f"{UNIVERSAL_TAGS}/v_measure_median")
SPREAD = _make_spread_column("its spread", TREEBANK_TAGS)
TAGGING = _make_task_column("POS tagging", "pos_tagging", "test/accuracy")
SENTIMENT = _make_task_column("sentiment", "sentiment", "test/accuracy")


def _add_numbers(row: Row, name: str) -> Row:
    """Return the row with the paper's numbers for a model in brackets after its scores."""
    headings = [column.heading for column in (INDUCTION, TAGGING, SENTIMENT)]
    numbers = zip(headings, PAPER.get(name, ()), strict=False)
    return replace(row, behind={heading: f" ({number:.2f})" for heading, number in numbers})


TABLES: dict[str, Callable[..., str]] = {}
# The paper's Table 1: ours, and its number in brackets.
TABLES["word-embedding-downstream"] = _make_training_table(
    (INDUCTION, SPREAD, INDUCTION_12, _make_spread_column("its spread, 12 tags", UNIVERSAL_TAGS), TAGGING, SENTIMENT),
    [
        *(_add_numbers(row, name) for row, name in zip(_list_models(absent=NOTHING), [*MODELS, *GIVEN], strict=True)),
        *_list_difference_rows(("attention_cbow", model) for model in MODELS if model != "attention_cbow"),
        *_list_difference_rows([("cbow", "structured_skip_gram")]),
    ],
)
# Word similarity and analogies, with the coverage of each set.
SIMILARITY = LABELS["similarity"]
TABLES["word-embedding-intrinsic"] = _make_training_table(
    [
        *(_make_coverage_column(label, "similarity", f"test/{name}", "spearman") for name, label in SIMILARITY.items()),
        *(_make_coverage_column(part, "analogy", f"test/{part}", "accuracy") for part in ("semantic", "syntactic")),
    ],
    _list_models(),
)


def _list_study_rows(results: Runs) -> Iterable[Line]:
    """Yield a row for each declared study, and for every other name that has results."""
    named = [run.settings for run in select_runs(results, {"recipe": RECIPE, "settings.window": WINDOW})]
    found = {(settings["architecture"], settings["name"]) for settings in named if settings.get("name")}
    others = {(name, study): f"{MODELS.get(name, name)}, {study}" for name, study in sorted(found - STUDIES.keys())}
    for place, label in {**STUDIES, **others}.items():
        yield Row(label, match_trainings(*place), command=COMMAND)
    yield from _list_difference_rows(LABELS["comparisons"])


TABLES["word-embedding-studies"] = _make_training_table(
    (
        *(INDUCTION, SPREAD, INDUCTION_12, TAGGING, SENTIMENT),
        *(
            _make_task_column(SIMILARITY[name], "similarity", f"test/{name}/spearman", tested=False)
            for name in ("wordsim353", "men3000")
        ),
    ),
    _list_study_rows,
)


def make_window_table(results: Runs) -> str:
    """Return the Markdown table of part-of-speech induction by half window size b, for two architectures."""
    rows, missing = [], False
    for tags, label in ((TREEBANK_TAGS, "the treebank's tags"), (UNIVERSAL_TAGS, "12 tags")):
        for name in ("attention_cbow", "cbow"):
            cells = [select_training_runs(results, name, "pos_induction", window) for window in WINDOWS]
            medians = [format_mean(runs, f"{tags}/v_measure_median") if runs else NOT_RUN for runs in cells]
            rows.append([f"{MODELS[name]}, {label}", *medians])
            missing |= not all(cells)
    table = format_markdown_table(["model", *(f"b = {window}" for window in WINDOWS)], rows)
    return append_commands(table, format_commands_not_run([f"python recipes/{RECIPE}.py {COMMAND}"] if missing else []))


TABLES["word-embedding-windows"] = make_window_table
TABLES["word-embedding-sentiment"] = _make_training_table(
    [_make_task_column(label, "sentiment_means", f"test/{name}/accuracy") for name, label in MEANS.items()],
    [
        Row(NAMES[place], match_trainings(*place), need=3, command=COMMAND)
        for place in (*map(_split_study, MODELS), ("attention_cbow", "uniform"))
    ],
)


def make_use_table(results: Runs) -> str:
    """Return the Markdown table of models that start from given word vectors: mean and deviation of their scores."""
    headings = ["model", "starts otherwise from", "its score", "from these vectors", "difference", "runs"]
    rows, commands = [], []
    for use, values in USES:
        key, tag = use["key"], use["options"].rpartition(" ")[2]
        plain, tagged = (select_alike_runs(results, place) for place in (values, {**values, "tag": tag}))
        scores = [format_mean(runs, key) if runs else NOT_RUN for runs in (plain, tagged)]
        rows.append([use["label"], use["otherwise"], *scores, compare_means(key)(tagged, plain), str(len(tagged))])
        if not tagged:
            commands.append(f"python recipes/{values['recipe']}.py {use['options']} --resume")
    table = format_markdown_table(headings, rows, left_aligned=2)
    return append_commands(table, format_commands_not_run(list(dict.fromkeys(commands))))


USES = []  # of sentences each data set
for _use in LABELS["uses"]:
    _sets = SENTENCE_DATASETS if "{set}" in _use["label"] else {"": _use["where"]["dataset"]}
    for _heading, _dataset in _sets.items():
        USES.append(({**_use, "label": _use["label"].format(set=_heading)}, {**_use["where"], "dataset": _dataset}))
TABLES["word-embedding-uses"] = make_use_table
