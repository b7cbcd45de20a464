"""Encoders: tables of their pages (docs/models), made from results files.

Kernel encoders on sentences and on rows of numbers, encoders in linear time and of higher order on generated tasks and
whole reviews, encodings of time on events, and the BiLSTM tagger. A cell is the mean and sample standard deviation over
folds, random splits or seeds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

from ctxzoo.results.result import RunResult
from ctxzoo.results.table_parts import NOTHING, make_best_epoch_column
from ctxzoo.tasks.regression.experiments import BEST_TEST, SETS, VALIDATION
from ctxzoo.tasks.sequences.data import HISTORY_DATASETS
from ctxzoo.tasks.token_classification.experiments import TOKEN_DATASETS
from reports.labels import read_labels
from reports.results_table import Column, Line, Row, Table, Trials, make_difference_rows, make_rows
from reports.run_selection import Runs, select_alike_runs, select_runs
from reports.score_columns import compare_means, compare_over_splits, score_column
from reports.tables_contextualizer import make_sentence_table

TABLES: dict[str, Callable[..., str]] = {}
TABLES["context-encoder-sentences"] = make_sentence_table(
    recipe="sentence_context_encoder",
    option="attentions",
    known=("dot", "ika", "ikan", "mikan", "esa", "hsa", "hsa-factorised"),
    compared=("dot", "ika", "ikan", "mikan", "esa", "hsa"),
    size=("inner_size", "inner width"),
)

# Regression: test RMSE over random splits, in the unit of the target, with the number of splits where there are fewer
# than ten. Differences have the p of the corrected resampled t-test.
REGRESSION = {"recipe": "regression_ika"}
SPLITS = 10
OF_SET = "--dataset {set} --models {missing}{options} --resume"
TEST_TO_TRAIN = {VALIDATION: 1 / 8, BEST_TEST: 1 / 9}  # rows of test to those of training, for the corrected test
LABELS = read_labels("encoders")
REGRESSORS, LOOKUPS, ENCODINGS = LABELS["regressors"], LABELS["lookups"], LABELS["encodings"]
# Of more than 5,000 rows: in parts, and fewer epochs of several steps each.
PARTS = {"parkinsons": " --rows_per_step 1024 --epochs 200"}
LEARNED = ("dot", "rbf", "ikan_direct", "ika", "mikan")
OF_PERSONS = {model: label for model, label in REGRESSORS.items() if model != "gp_sm"}


def _make_rmse_column(heading: str, **more: Any) -> Column:
    """Return the column of test RMSE, which says how many splits of all it covers."""
    return score_column(heading, "test/rmse", partly=" ({have} of {need})", **more)


def _make_regression_table(protocol: str, models: Iterable[str]) -> Table:
    """Return the table of test RMSE on all sets, with differences to dot-product attention.

    `protocol` says how the epoch was chosen.
    """
    name, option = ("", "") if protocol == VALIDATION else (protocol, f" --protocol {protocol}")
    columns, minus = [], compare_over_splits("test/rmse", TEST_TO_TRAIN[protocol])
    for data in SETS:
        fill = {"set": data, "options": option + PARTS.get(data, "")}
        columns.append(_make_rmse_column(data, minus=minus, where={"part": data, "name": name}, fill=fill))
    rows: list[Line] = [
        *make_rows({model: REGRESSORS[model] for model in models}, need=SPLITS, command=OF_SET),
        *make_difference_rows(REGRESSORS, product(LEARNED[1:], LEARNED[:1]), note=""),
    ]
    return Table(columns, rows, REGRESSION)


TABLES["regression-rmse"] = _make_regression_table(VALIDATION, REGRESSORS)
TABLES["regression-best-test"] = _make_regression_table(BEST_TEST, LEARNED)  # IKA's code: chosen on test rows
PERSONS = "all rows of four persons"
TABLES["regression-persons"] = Table(
    (
        _make_rmse_column("rows of any person"),
        _make_rmse_column(
            PERSONS,
            where={"name": "persons"},
            fill={"set": "parkinsons", "options": f"{PARTS['parkinsons']} --group_column x0 --name persons"},
        ),
    ),
    [
        *make_rows(OF_PERSONS, need=SPLITS, command=OF_SET),
        Row(
            f"{REGRESSORS['gp_rbf']}, of person and time alone",
            {"variant": "gp_rbf", "name": "person_and_time"},
            given={PERSONS: NOTHING},
            need=SPLITS,
            command="--dataset parkinsons --models {missing} --feature_columns x0 x3 --name person_and_time --resume",
        ),
    ],
    where={**REGRESSION, "part": "parkinsons", "name": ""},
)

# Generated tasks and whole reviews: accuracy in percent.
PROBES = {"recipe": "long_context_esa"}
LENGTHS = (64, 128, 256)
LOOKUP_PROBES = {"copy": "copy", "recall": "associative recall"}


def _drop_seed_of_data(run: RunResult) -> RunResult:
    """Return a run on generated data with a fingerprint that no longer names its seed, so that seeds share a mean."""
    drawn = run.data["fingerprint"].removesuffix(f", drawn with seed {run.seed}")
    return replace(run, data={**run.data, "fingerprint": drawn})


def select_probe_runs(results: Sequence[RunResult], variant: str, probe: str, length: int) -> Runs:
    """Return the runs of an attention on a generated task ("probe") of some length, over seeds."""
    where = {**PROBES, "variant": variant, "tag": f"{probe}-n{length}"}
    return select_alike_runs(map(_drop_seed_of_data, results), where)


TABLES["long-context-lookups"] = Table(
    [
        score_column(f"{label}, n = {length}", "test/accuracy", 1, where={"tag": f"{probe}-n{length}"})
        for probe, label in LOOKUP_PROBES.items()
        for length in LENGTHS
    ],
    make_rows(LOOKUPS, command=f"--probes {' '.join(LOOKUP_PROBES)} --attentions {{missing}} --resume"),
    where=PROBES,
    headings=("attention",),
    prepare=_drop_seed_of_data,
)
TABLES["higher-order-pairs"] = Table(
    ("seeds", score_column("test accuracy", "test/accuracy", 1), "minutes"),
    make_rows(LABELS["pairs"], command="--probes marked_product --attentions {missing} --resume"),
    where={**PROBES, "tag": "marked_product-n17"},
    headings=("one head",),
    prepare=_drop_seed_of_data,
)
SCORES = (score_column("validation accuracy", "validation/accuracy"), score_column("test accuracy", "test/accuracy"))
TABLES["long-context-documents"] = Table(
    ("seeds", *SCORES, make_best_epoch_column("accuracy", higher=True), "trainable parameters"),
    make_rows(LOOKUPS, command="--attentions {missing} --resume"),
    where={"recipe": "document_context_encoder", "dataset": "stanfordnlp/imdb", "tag": "blocks"},
    headings=("attention",),
)

# Next event.
BADGES = {"recipe": "badges_lste", "dataset": HISTORY_DATASETS["badges"]}
WITHOUT_TIMES = ("none", "positional")
OF_OTHERS = ("bochner", "mercer", "time2vec")
COMPARISONS = (*product(("lste", "lste_behaviour"), (*WITHOUT_TIMES, *OF_OTHERS)), *product(OF_OTHERS, WITHOUT_TIMES))
BADGES_COMMAND = (
    "--encodings {missing} --seeds 0 1 2 --epochs 40 --patience 8 --learning_rate 0.005 "
    "--num_layers 2 --hidden_size 64 --num_heads 2 --time_combine add --ema_decay 0.998 --resume"
)
TABLES["time-encodings-badges"] = Table(
    (
        "seeds",
        score_column("validation recall@1", "validation/recall_at_1"),
        score_column("test recall@1", "test/recall_at_1", tested=True),
        score_column("test MRR@20", "test/mrr_at_20", tested=True),
        "epochs",
        "trainable parameters",
    ),
    [
        *make_rows(LABELS["event_counts"], only=("test recall@1", "test MRR@20")),
        *make_rows(ENCODINGS, need=3, command=BADGES_COMMAND),
        *make_difference_rows(ENCODINGS, COMPARISONS, optional=True),
    ],
    where={**BADGES, "tag": ""},
)

# The tagger: a row is a corpus, its column of tags, and the word vectors that the training began with.
TAGGER = {"recipe": "pos_bilstm_tagger"}
VECTORS = {"random_vectors": "drawn"}  # of the variants; the others are named after their file


def _list_tagger_rows(results: Runs) -> Iterable[Line]:
    """Yield a row for each dataset, tag set and word vectors of the BiLSTM tagger."""
    rows = {(run.dataset, run.tag, run.variant) for run in select_runs(results, TAGGER)}
    for dataset, tag, variant in sorted(rows, key=lambda row: (*row[:2], VECTORS.get(row[2], row[2]))):
        label = f"`{dataset}`", tag, VECTORS.get(variant, variant)
        yield Row(label, {"dataset": dataset, "tag": tag, "variant": variant})
    if not rows:
        command = "--dataset ud_english_ewt --tags upos --vectors none --resume"
        yield Row(("", "", ""), [], command=command, optional=True)


TABLES["bilstm-tagger"] = Table(
    ("seeds", *SCORES, score_column("test macro F1", "test/macro_f1"), "epochs", "trainable parameters", "minutes"),
    _list_tagger_rows,
    where=TAGGER,
    headings=("corpus", "tags", "word vectors"),
)

# Few sentences with spans: both models have the same rows in a draw, and other rows in another one.
ENTITIES = read_labels("small_entities")
ENTITY_SETS = {"chunks": "conll2000_pos", "names": "ud_english_ewt"}
ENTITY_DRAWS = (3, 4)


def _list_entity_rows(results: Runs) -> Iterable[Line]:
    """Yield the rows of each draw: both models and their difference."""
    for draw in ENTITY_DRAWS:
        labels = {variant: f"{label}, draw {draw}" for variant, label in ENTITIES.items()}
        yield from make_rows(labels, {"seed": draw}, command=f"--seeds {draw} --resume")
        yield from make_difference_rows(labels, [("default", "random_field")], {"seed": draw}, note="")


TABLES["small-entities"] = Table(
    [
        score_column(
            f"{heading}, {rows:,}",
            "test/span_f1",
            minus=compare_means("test/span_f1"),
            where={"dataset": TOKEN_DATASETS[corpus]["dataset"], "tag": f"rows{rows}"},
        )
        for heading, corpus in ENTITY_SETS.items()
        for rows in (400, 1000)
    ],
    _list_entity_rows,
    where={"recipe": "small_entities"},
)

TRIAL_TABLES: dict[str, Callable[..., str]] = {
    "time-encodings-trials": Trials(
        ("model",),
        (
            score_column("recall@1", "validation/recall_at_1"),
            score_column("MRR@20", "validation/mrr_at_20"),
            score_column("nats", "validation/nll", 3),
            make_best_epoch_column("recall_at_1", higher=True),
        ),
        {(label,): {**BADGES, "variant": name} for name, label in ENCODINGS.items()},
        by="validation/recall_at_1",
        apart=False,
    )
}
