"""The encoders' tables: which runs stand where, what is compared, and the commands of what is missing."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ctxzoo.results.result import RunResult
from ctxzoo.tasks.regression.experiments import BEST_TEST
from recipes.sentence_context_encoder import BASE, COMPARED, KNOWN
from reports.tables_encoders import BADGES, TABLES, TRIAL_TABLES
from tests.support.result_tables import make_folds, make_run, rows

ENCODERS_RECIPE = BASE.recipe


def folds(variant: str, accuracies: list[float], **changes: Any) -> list[RunResult]:
    settings = {"inner_size": 256, "position": "sinusoidal"} | changes.pop("settings", {})
    return make_folds(
        accuracies, recipe=ENCODERS_RECIPE, architecture="kernel_encoder", variant=variant, settings=settings, **changes
    )


def test_encoders_on_sentences() -> None:
    accuracies, better = [75.0, 76.0, 77.0, 76.5, 75.5], [76.0, 77.5, 77.0, 78.0, 77.0]
    results = folds("dot", accuracies) + folds("mikan", better, settings={"inner_size": 200})
    results += folds("dot", better, tag="rotary", settings={"position": "rotary"})
    text = TABLES["context-encoder-sentences"](results)
    table = rows(text)
    assert table["`dot`"]["CR"] == "76.00 ± 0.79"
    assert (table["`dot`"]["inner width"], table["`mikan`"]["inner width"]) == ("256", "200")
    assert table["`mikan` − `dot`"]["CR"].startswith("+1.10 (p = ")
    assert table['`dot`, rotary (position "rotary")']["CR"] == "77.10 ± 0.74"
    assert table["`ika`"]["MR"] == "not run yet"
    assert f"python recipes/{ENCODERS_RECIPE}.py --attentions {' '.join(COMPARED)} --resume --results_dir" in text


def test_the_table_needs_what_the_recipe_trains() -> None:
    accuracies = [75.0, 76.0, 77.0, 76.5, 75.5]
    found = rows(TABLES["context-encoder-sentences"]([run for variant in KNOWN for run in folds(variant, accuracies)]))
    assert [name for name in found if name.startswith("`") and "−" not in name] == [f"`{name}`" for name in KNOWN]


def split_run(variant: str, error: float, fold: int, **changes: Any) -> RunResult:
    values = {"recipe": "regression_ika", "tag": "airline", "fold": fold, "metrics": {"test/rmse": error}}
    return replace(make_run(variant, 0), **{**values, **changes})


def test_errors_over_splits_and_their_difference() -> None:
    results = [split_run("dot", 20.0 + fold % 2, fold) for fold in range(10)]
    results += [split_run("ika", 18.0, fold) for fold in range(2)]
    text = TABLES["regression-rmse"](results)
    table = rows(text)
    assert table["`dot`"]["airline"] == "20.50 ± 0.53"
    assert table["`ika`"]["airline"] == "18.00 ± 0.00 (2 of 10)"
    assert table["`ika` − `dot`"]["airline"].startswith("-2.50 (p = ")
    assert table["`mikan` − `dot`"]["airline"] == "–"
    assert "--dataset airline --models mean ridge gp_rbf gp_sm rbf ikan_direct ika mikan --resume" in text


def test_the_protocol_that_chooses_on_test_stands_apart() -> None:
    results = [split_run("dot", 20.0, 0), split_run("dot", 9.0, 0, tag=f"airline-{BEST_TEST}")]
    assert rows(TABLES["regression-rmse"](results))["`dot`"]["airline"] == "20.00 (1 of 10)"
    assert rows(TABLES["regression-best-test"](results))["`dot`"]["airline"] == "9.00 (1 of 10)"


def test_rows_of_persons_and_whole_persons_stand_apart() -> None:
    results = [split_run("gp_rbf", 0.5, 0, tag="parkinsons"), split_run("gp_rbf", 9.0, 0, tag="parkinsons-persons")]
    results += [split_run("gp_rbf", 0.25, fold, tag="parkinsons-person_and_time") for fold in range(10)]
    text = TABLES["regression-persons"](results)
    table = rows(text)
    process = table["Gaussian process, RBF"]
    assert process["rows of any person"] == "0.50 (1 of 10)"
    assert process["all rows of four persons"] == "9.00 (1 of 10)"
    alone = table["Gaussian process, RBF, of person and time alone"]
    assert alone["rows of any person"] == "0.25 ± 0.00"
    assert "--group_column x0 --name persons --resume" in text
    assert "--feature_columns" not in text  # all ten are there


def probe_run(variant: str, place: str, accuracy: float, seed: int = 0, **changes: Any) -> RunResult:
    values = {"recipe": "long_context_esa", "tag": place, "metrics": {"test/accuracy": accuracy}, **changes}
    return replace(make_run(variant, seed), **values)


def test_each_probe_and_length_has_its_cell() -> None:
    results = [
        probe_run("dot", "copy-n64", 99.0),
        probe_run("dot", "recall-n64", 88.0, seed=0),
        probe_run("dot", "recall-n64", 90.0, seed=1),
        probe_run("elu", "recall-n256", 12.0),
        probe_run("elu", "recall-n256", 77.0, recipe="another"),
    ]
    text = TABLES["long-context-lookups"](results)
    table = rows(text)
    assert table["softmax attention"]["copy, n = 64"] == "99.0"
    assert table["softmax attention"]["associative recall, n = 64"] == "89.0 ± 1.4"
    assert table["softmax attention"]["copy, n = 128"] == "not run yet"
    assert table["ESA, elu + 1"]["associative recall, n = 256"] == "12.0"
    assert "--probes copy recall --attentions dot favor learned elu --resume" in text


def test_heads_of_pairs_stand_apart_from_lookups() -> None:
    finished = [
        probe_run(variant, "marked_product-n17", 99.5) for variant in ("dot", "trilinear", "volume", "factorised")
    ]
    assert "python" not in TABLES["higher-order-pairs"](finished)
    text = TABLES["higher-order-pairs"]([*finished[:3], probe_run("factorised", "copy-n64", 50.0)])
    assert rows(text)["pairs: volume"]["test accuracy"] == "99.5"
    assert rows(text)["pairs: factorised"]["seeds"] == "not run yet"
    assert "--probes marked_product --attentions factorised --resume" in text


def test_whole_documents_are_those_of_their_recipe_and_blocks() -> None:
    place = {"recipe": "document_context_encoder", "dataset": "stanfordnlp/imdb"}
    metrics = {"test/accuracy": 88.0, "validation/accuracy": 89.0, "epochs": 2.0}
    metrics |= {"validation/epoch1/accuracy": 89.0, "validation/epoch2/accuracy": 87.0}
    results = [
        probe_run("dot", "blocks", 0.0, metrics=metrics, **place),
        probe_run("dot", "", 1.0, **place),
        probe_run("elu", "blocks", 2.0, recipe="another", dataset="stanfordnlp/imdb"),
        probe_run("learned", "blocks", 3.0, recipe="document_context_encoder"),
    ]
    text = TABLES["long-context-documents"](results)
    found = rows(text)["softmax attention"]
    assert (found["validation accuracy"], found["test accuracy"], found["best epoch"]) == ("89.00", "88.00", "1")
    assert rows(text)["ESA, elu + 1"]["seeds"] == rows(text)["ESA, learned features"]["seeds"] == "not run yet"
    assert "recipes/document_context_encoder.py --attentions favor learned elu --resume" in text


def test_seeds_whose_sequences_are_drawn_with_them_are_one_mean() -> None:
    def drawn(seed: int, with_seed: int) -> RunResult:
        data = {"source": "sample", "fingerprint": f"copy, drawn with seed {with_seed}"}
        return probe_run("dot", "copy-n64", 99.0 + seed, seed, data=data)

    assert (
        rows(TABLES["long-context-lookups"]([drawn(0, 0), drawn(1, 1)]))["softmax attention"]["copy, n = 64"]
        == "99.5 ± 0.7"
    )
    with pytest.raises(ValueError, match="data"):
        TABLES["long-context-lookups"]([drawn(0, 0), drawn(1, 0)])


def event_run(variant: str, recall: float, *, seed: int = 0, **changes: Any) -> RunResult:
    metrics = {"test/recall_at_1": recall, "test/mrr_at_20": 60.0, "validation/recall_at_1": recall + 1, "epochs": 4}
    values = {"recipe": "badges_lste", "dataset": BADGES["dataset"], "tag": "", "metrics": metrics}
    return replace(make_run(variant, seed), **{**values, **changes})


def test_encodings_floors_and_what_is_missing() -> None:
    results = [
        event_run("markov", 44.42),
        *(event_run("none", 45.0 + seed, seed=seed) for seed in range(3)),
        event_run("lste", 47.0),
    ]
    text = TABLES["time-encodings-badges"](results)
    table = rows(text)
    assert table["Markov: what follows the last event"]["test recall@1"] == "44.42"
    assert table["no times, no positions"]["test recall@1"] == "46.00 ± 1.00"
    assert table["LSTE"]["seeds"] == "1 of 3"
    (command,) = [line for line in text.splitlines() if line.startswith("python")]
    assert "--encodings positional bochner mercer time2vec lste lste_behaviour --seeds 0 1 2" in command


def test_lste_is_compared_over_seeds() -> None:
    results = [event_run("none", 20.0 + seed, seed=seed) for seed in (0, 1)]
    results += [event_run("lste", 24.0 + seed, seed=seed) for seed in (0, 1)]
    row = rows(TABLES["time-encodings-badges"](results))["LSTE − no times, no positions (p over seeds)"]
    assert row["test recall@1"] == "+4.00 (p = 0.030)"  # t = 4 / sqrt(1/2) with 2 degrees of freedom
    assert row["test MRR@20"] == "+0.00 (p = 1.000)"


def test_other_encodings_are_compared_with_none_at_all() -> None:
    results = [event_run(name, 20.0 + seed, seed=seed) for name in ("none", "bochner") for seed in (0, 1)]
    table = rows(TABLES["time-encodings-badges"](results))
    assert table["Bochner, tied − no times, no positions (p over seeds)"]["test recall@1"] == "+0.00 (p = 1.000)"
    assert "Bochner, tied − positions alone (p over seeds)" not in table


def test_trials_say_what_tells_them_apart_the_best_of_each_encoding_first() -> None:
    def tried(variant: str, recall: float, rate: float) -> RunResult:
        found = {"validation/recall_at_1": recall, "validation/mrr_at_20": 60.0, "validation/nll": 1.5}
        return event_run(variant, 0.0, metrics=found, settings={"learning_rate": rate, "epochs": 9})

    text = TRIAL_TABLES["time-encodings-trials"](
        [tried("lste", 46.0, 0.1), tried("lste", 47.0, 0.2), tried("none", 45.0, 0.1)]
    )
    assert [line.split(" | ")[:3] for line in text.splitlines()[2:]] == [
        ["| no times, no positions", "learning_rate 0.1", "45.00"],
        ["| LSTE", "learning_rate 0.2", "47.00"],
        ["| LSTE", "learning_rate 0.1", "46.00"],
    ]


def tagger(variant: str, accuracy: float, *, seed: int = 0, **changes: Any) -> RunResult:
    metrics = {"validation/accuracy": accuracy + 1, "test/accuracy": accuracy, "test/macro_f1": 80.0, "epochs": 9}
    values = {"recipe": "pos_bilstm_tagger", "dataset": "some/corpus", "tag": "upos", "metrics": metrics}
    return replace(make_run(variant, seed), **{**values, **changes})


def test_taggers_are_told_apart_by_corpus_tags_and_vectors() -> None:
    results = [
        tagger("random_vectors", 90.0),
        tagger("random_vectors", 92.0, seed=1),
        tagger("own", 93.5),
        tagger("own", 99.0, tag="xpos", settings={"tiny": True}),
    ]
    lines = TABLES["bilstm-tagger"](results).splitlines()[2:]
    assert lines[0].startswith("| `some/corpus` | upos | drawn | 2 | 92.00 ± 1.41 | 91.00 ± 1.41 | 80.00 ± 0.00 |")
    assert lines[1].startswith("| `some/corpus` | upos | own | 1 | 94.50 | 93.50 |")
    assert len(lines) == 2


def test_without_taggers_the_command_stands_there() -> None:
    assert "python recipes/pos_bilstm_tagger.py --dataset ud_english_ewt" in TABLES["bilstm-tagger"]([])
