"""Encoders: tables of their pages (docs/models), made from results files.

Kernel encoders on sentences and on rows of numbers, encoders in linear time and of higher order on generated tasks and
whole reviews, encodings of time on events, and the BiLSTM tagger. A cell is the mean and sample standard deviation over
folds, random splits or seeds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import product

from ctxzoo.results.comparison import paired_test
from ctxzoo.results.result import RunResult
from ctxzoo.results.table_parts import NOTHING, best_epoch_column
from ctxzoo.tasks.regression.experiments import BEST_TEST, SETS, VALIDATION
from ctxzoo.tasks.sequences.data import HISTORY_DATASETS
from reports import results_table
from reports.results_table import (
    EPOCHS,
    MINUTES,
    PARAMETERS,
    SEEDS,
    Difference,
    Line,
    Row,
    Runs,
    Table,
    Trials,
    as_column,
    score,
    seeds_test,
    select,
)
from reports.tables_contextualizer import sentence_table

sentences = sentence_table(
    recipe="sentence_context_encoder",
    option="attentions",
    known=("dot", "ika", "ikan", "mikan", "esa", "hsa", "hsa-factorised"),
    compared=("dot", "ika", "ikan", "mikan", "esa", "hsa"),
    size=("inner_size", "inner width"),
)

# Regression: test RMSE over random splits, in the unit of the target, with the number of splits where there are fewer
# than ten. Differences have the p of the corrected resampled t-test.
REGRESSION_RECIPE = "regression_ika"
SPLITS = 10
TEST_TO_TRAIN = {VALIDATION: 1 / 8, BEST_TEST: 1 / 9}  # rows of test to those of training, for the corrected test
REGRESSORS = {
    "mean": "mean of the training rows",
    "ridge": "ridge regression",
    "gp_rbf": "Gaussian process, RBF",
    "gp_sm": "Gaussian process, spectral mixture of 5",
    "dot": "`dot`",
    "rbf": "`rbf`",
    "ikan_direct": "`ikan`, direct",
    "ika": "`ika`",
    "mikan": "`mikan`",
}
# Of more than 5,000 rows: in parts, and fewer epochs of several steps each.
PARTS = {"parkinsons": " --rows_per_step 1024 --epochs 200"}
OF_PERSONS = ("mean", "ridge", "gp_rbf", "dot", "rbf", "ikan_direct", "ika", "mikan")
LEARNED = ("dot", "rbf", "ikan_direct", "ika", "mikan")
SPLIT = " ({have} of {need})"


def _regression(protocol: str, models: Iterable[str]) -> Table:
    """Return the table of all sets by how the epoch was chosen."""

    def minus(ours: Runs, base: Runs) -> str:
        """Write the mean difference to dot products, with its p over the splits that both have."""
        first, second = ({(run.seed, run.fold): run.metrics["test/rmse"] for run in runs} for runs in (ours, base))
        common = first.keys() & second.keys()
        if len(common) < 2:
            return NOTHING
        first, second = ({split: errors[split] for split in common} for errors in (first, second))
        return paired_test(first, second, TEST_TO_TRAIN[protocol]).cell()

    name, option = ("", "") if protocol == VALIDATION else (protocol, f" --protocol {protocol}")
    columns = [
        score(
            data,
            "test/rmse",
            minus=minus,
            partly=SPLIT,
            where={"part": data, "name": name},
            fill={"set": data, "options": option + PARTS.get(data, "")},
        )
        for data in SETS
    ]
    command = f"python recipes/{REGRESSION_RECIPE}.py --dataset {{set}} --models {{missing}}{{options}} --resume"
    rows = [Row(REGRESSORS[model], {"variant": model}, need=SPLITS, command=command) for model in models]
    differences = [
        Difference(f"{REGRESSORS[model]} − `dot`", {"variant": model}, {"variant": "dot"}) for model in LEARNED[1:]
    ]
    return Table(("model",), columns, [*rows, *differences], where={"recipe": REGRESSION_RECIPE})


chosen_on_validation = _regression(VALIDATION, REGRESSORS)
best_of_all_epochs = _regression(BEST_TEST, LEARNED)  # the protocol of IKA's code, which chooses on test rows

_PARKINSONS = f"python recipes/{REGRESSION_RECIPE}.py --dataset parkinsons --models {{missing}}"
_OF_ALL = f"{_PARKINSONS}{PARTS['parkinsons']}{{options}} --resume"
_TIME_ALONE = f"{_PARKINSONS} --feature_columns x0 x3 --name person_and_time --resume"
unseen_persons = Table(
    ("model",),
    (
        score("rows of any person", "test/rmse", partly=SPLIT),
        score(
            "all rows of four persons",
            "test/rmse",
            partly=SPLIT,
            where={"name": "persons"},
            fill={"options": " --group_column x0 --name persons"},
        ),
    ),
    [
        *(Row(REGRESSORS[model], {"variant": model}, need=SPLITS, command=_OF_ALL) for model in OF_PERSONS),
        Row(
            f"{REGRESSORS['gp_rbf']}, of person and time alone",
            {"variant": "gp_rbf", "name": "person_and_time"},
            given={"all rows of four persons": NOTHING},
            need=SPLITS,
            command=_TIME_ALONE,
        ),
    ],
    where={"recipe": REGRESSION_RECIPE, "part": "parkinsons", "name": ""},
)

# Generated tasks and whole reviews: accuracy in percent.
PROBES_RECIPE, DOCUMENTS_RECIPE = "long_context_esa", "document_context_encoder"
LENGTHS = (64, 128, 256)
LOOKUP_PROBES = {"copy": "copy", "recall": "associative recall"}
LOOKUPS = {
    "dot": "softmax attention",
    "favor": "ESA, positive random features",
    "learned": "ESA, learned features",
    "elu": "ESA, elu + 1",
}
PAIRS = {
    "dot": "pairwise: softmax attention",
    "trilinear": "pairs: trilinear",
    "volume": "pairs: volume",
    "factorised": "pairs: factorised",
}


def _of_any_seed(run: RunResult) -> RunResult:
    """Return a run whose data, where they are drawn with the run's own seed, are called alike for all seeds."""
    drawn = run.data["fingerprint"].removesuffix(f", drawn with seed {run.seed}")
    return replace(run, data={**run.data, "fingerprint": drawn})


def _attentions(labels: dict[str, str], recipe: str, options: str = "") -> list[Row]:
    command = f"python recipes/{recipe}.py{options} --attentions {{missing}} --resume"
    return [Row(label, {"variant": name}, command=command) for name, label in labels.items()]


lookups = Table(
    ("attention",),
    [
        score(f"{label}, n = {length}", "test/accuracy", 1, where={"tag": f"{probe}-n{length}"})
        for probe, label in LOOKUP_PROBES.items()
        for length in LENGTHS
    ],
    _attentions(LOOKUPS, PROBES_RECIPE, f" --probes {' '.join(LOOKUP_PROBES)}"),
    where={"recipe": PROBES_RECIPE},
    alike=_of_any_seed,
)
pairs = Table(
    ("one head",),
    (SEEDS, score("test accuracy", "test/accuracy", 1), MINUTES),
    _attentions(PAIRS, PROBES_RECIPE, " --probes marked_product"),
    where={"recipe": PROBES_RECIPE, "tag": "marked_product-n17"},
    alike=_of_any_seed,
)
documents = Table(
    ("attention",),
    (
        SEEDS,
        score("validation accuracy", "validation/accuracy"),
        score("test accuracy", "test/accuracy"),
        as_column(best_epoch_column("accuracy", higher=True)),
        PARAMETERS,
    ),
    _attentions(LOOKUPS, DOCUMENTS_RECIPE),
    where={"recipe": DOCUMENTS_RECIPE, "dataset": "stanfordnlp/imdb", "tag": "blocks"},
)


def runs_of(results: Sequence[RunResult], variant: str, probe: str, length: int) -> Runs:
    """Return the seeds of an attention on a probe; raises ValueError as `results_table.runs_of` does."""
    where = {"recipe": PROBES_RECIPE, "variant": variant, "tag": f"{probe}-n{length}"}
    return results_table.runs_of(map(_of_any_seed, results), where)


# Next event.
BADGES = {"recipe": "badges_lste", "dataset": HISTORY_DATASETS["badges"]}
RECALL, RANK = "test/recall_at_1", "test/mrr_at_20"
EVENT_FLOORS = {"pop": "POP: what is frequent", "markov": "Markov: what follows the last event"}
ENCODINGS = {
    "none": "no times, no positions",
    "positional": "positions alone",
    "bochner": "Bochner, tied",
    "mercer": "Mercer",
    "time2vec": "time2vec",
    "lste": "LSTE",
    "lste_behaviour": "LSTE with behaviour",
}
WITHOUT_TIMES = ("none", "positional")
OF_OTHERS = ("bochner", "mercer", "time2vec")
LSTE = ("lste", "lste_behaviour")
COMPARISONS = (*product(LSTE, (*WITHOUT_TIMES, *OF_OTHERS)), *product(OF_OTHERS, WITHOUT_TIMES))
BADGES_COMMAND = (
    "python recipes/badges_lste.py --encodings {missing} --seeds 0 1 2 --epochs 40 --patience 8 --learning_rate 0.005 "
    "--num_layers 2 --hidden_size 64 --num_heads 2 --time_combine add --ema_decay 0.998 --resume"
)


def _encoding(name: str) -> dict[str, str]:
    return {"variant": name}


badges = Table(
    ("model",),
    (
        SEEDS,
        score("validation recall@1", "validation/recall_at_1"),
        score("test recall@1", RECALL, minus=seeds_test(RECALL)),
        score("test MRR@20", RANK, minus=seeds_test(RANK)),
        EPOCHS,
        PARAMETERS,
    ),
    [
        *(Row(label, {"variant": name}, only=("test recall@1", "test MRR@20")) for name, label in EVENT_FLOORS.items()),
        *(Row(label, _encoding(name), need=3, command=BADGES_COMMAND) for name, label in ENCODINGS.items()),
        *(
            Difference(f"{ENCODINGS[one]} − {ENCODINGS[other]} (p over seeds)", _encoding(one), _encoding(other), True)
            for one, other in COMPARISONS
        ),
    ],
    where={**BADGES, "tag": ""},
)
badges_trials = Trials(
    ("model",),
    (
        score("recall@1", "validation/recall_at_1"),
        score("MRR@20", "validation/mrr_at_20"),
        score("nats", "validation/nll", 3),
        as_column(best_epoch_column("recall_at_1", higher=True)),
    ),
    {(label,): {**BADGES, "variant": name} for name, label in ENCODINGS.items()},
    by="validation/recall_at_1",
    apart=False,
)

# The tagger: a row is a corpus, its column of tags, and the word vectors that the training began with.
TAGGER_RECIPE = "pos_bilstm_tagger"
VECTORS = {"random_vectors": "drawn"}  # of the variants; the others are named after their file


def _tagger_rows(results: Runs) -> Iterable[Line]:
    rows = {(run.dataset, run.tag, run.variant) for run in select(results, {"recipe": TAGGER_RECIPE})}
    for dataset, tag, variant in sorted(rows, key=lambda row: (*row[:2], VECTORS.get(row[2], row[2]))):
        label = f"`{dataset}`", tag, VECTORS.get(variant, variant)
        yield Row(label, {"dataset": dataset, "tag": tag, "variant": variant})
    if not rows:
        command = f"python recipes/{TAGGER_RECIPE}.py --dataset ud_english_ewt --tags upos --vectors none --resume"
        yield Row(("", "", ""), [], command=command, optional=True)


taggers = Table(
    ("corpus", "tags", "word vectors"),
    (
        SEEDS,
        score("validation accuracy", "validation/accuracy"),
        score("test accuracy", "test/accuracy"),
        score("test macro F1", "test/macro_f1"),
        EPOCHS,
        PARAMETERS,
        MINUTES,
    ),
    _tagger_rows,
    where={"recipe": TAGGER_RECIPE},
)

TRIAL_TABLES: dict[str, Callable[..., str]] = {"time-encodings-trials": badges_trials}
TABLES: dict[str, Callable[..., str]] = {
    "context-encoder-sentences": sentences,
    "regression-rmse": chosen_on_validation,
    "regression-best-test": best_of_all_epochs,
    "regression-persons": unseen_persons,
    "long-context-lookups": lookups,
    "long-context-documents": documents,
    "higher-order-pairs": pairs,
    "time-encodings-badges": badges,
    "bilstm-tagger": taggers,
}
