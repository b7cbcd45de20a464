"""BiDAF's tables: which runs stand in which row, and what is compared with what."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ctxzoo.models.configuration_bidaf import BidafConfig
from ctxzoo.results.result import RunResult
from reports.tables_bidaf import CONTROLS, PAPER, TABLES, TRIAL_TABLES
from tests.support.result_tables import make_run, rows


def test_main_table() -> None:
    results = [
        make_run("learned_char7", seed=1, f1=50.0, metrics={"epochs": 2}),
        make_run("learned_char7", seed=2, f1=53.0, wall_seconds=1200.0),
        make_run(wall_seconds=90.0),
        make_run(f1=1.0, dataset="ctxzoo-data/squad_v2_mini"),
        make_run(f1=2.0, settings={"extensions": ["ema"]}),
        make_run(f1=3.0, settings={"finish_source": "v2"}),
        make_run(f1=4.0, architecture="qanet"),
    ]
    table = TABLES["bidaf-squad-v1-mini"](results)
    found = rows(table)
    assert list(found) == [
        *(name for name in BidafConfig.variants if name not in CONTROLS),
        "SQuAD 2.0, official train split",
    ]
    assert found["learned_char7"] == {
        "trainable parameters": "1,439,405",
        "test EM": "41.50 ± 2.12",
        "test F1": "51.50 ± 2.12",
        "validation F1": "52.50 ± 2.12",
        "seeds": "2",
        "epochs": "2–3",
        "minutes": "15",
    }
    assert list(found["baseline"].values()) == ["1,439,405", "30.00", "40.00", "41.00", "1", "3", "1.5"]
    assert found["sinusoidal"]["test EM"] == "not run yet"
    command = "python recipes/squad_bidaf.py --dataset ctxzoo-data/squad_v1_mini --variant {} --word_vectors FILE"
    assert [variant for variant in BidafConfig.variants if f"{command.format(variant)} --seeds 1 --prec" in table] == [
        "learned_attention",
        "learned_char3",
        "learned_char9",
    ]
    assert [variant for variant in BidafConfig.variants if f"{command.format(variant)} --seeds 1 2 3 " in table] == [
        "baseline",
        "sinusoidal",
        "learned",
        "learned_char7",
        "char7",
    ]
    assert found["SQuAD 2.0, official train split"]["test EM"] == "not run here: needs the Hub's train split"
    assert table.endswith("\npython recipes/squad_bidaf.py --results_dir results\n```")


def test_variants_that_nobody_listed_are_shown() -> None:
    found = rows(TABLES["bidaf-squad-v1-mini"]([make_run("learned_char5")]))
    assert list(found)[-2:] == ["learned_char5", "SQuAD 2.0, official train split"]


def test_runs_that_differ_in_more_than_the_seed_are_not_averaged() -> None:
    results = [
        make_run(seed=1, f1=40.0),
        make_run(seed=2, f1=50.0, settings={"batch_size": 32}),
        make_run(seed=3, f1=60.0, settings={"epochs": 9}),
        make_run(seed=4, f1=70.0, data={"source": "x", "fingerprint": "ffffffffffff"}),
    ]
    table = TABLES["bidaf-squad-v1-mini"](results)
    lines = [line for line in table.splitlines() if line.startswith("| baseline")]
    assert len(lines) == 4
    for f1, batch_size, epochs, data in ((40, 64, 3, "00ff00ff"), (50, 32, 3, "00ff00ff"), (60, 64, 9, "00ff00ff")):
        label = f"| baseline (batch_size {batch_size}, data {data}) |"
        assert any(line.startswith(label) and f"| {f1}.00 |" in line and f"| {epochs} |" in line for line in lines)
    assert any("data ffffffff" in line and "| 70.00 |" in line for line in lines)


def test_the_same_run_twice_is_refused() -> None:
    with pytest.raises(
        ValueError, match="two results for baseline on ctxzoo-data/squad_v1_mini with seed 1, fold None"
    ):
        TABLES["bidaf-squad-v1-mini"]([make_run(f1=40.0), make_run(f1=41.0), make_run(seed=2)])


def test_two_point_zero_table() -> None:
    metrics = {
        "test/span_exact": 18.0,
        "test/span_f1": 27.7,
        "test/no_answer_auc": 0.5678,
        "test/f1_at_threshold": 55.0,
        "test/always_no_answer": 54.4,
        "test/AvNA": 56.0,
        "test/nll": 7.125,
    }
    changes: dict[str, Any] = {"dataset": "ctxzoo-data/squad_v2_mini", "metrics": metrics}
    finished = make_run(
        "learned_char7", settings={"epochs": 4, "extensions": ["gru", "ema"], "finish_source": "v2"}, **changes
    )
    plain = make_run(settings={"epochs": 4}, **changes)
    table = TABLES["bidaf-squad-v2-mini"]([plain, finished, make_run("learned")])
    found = rows(table)
    assert list(found) == ["baseline", "learned_char7 + gru + ema, finished on v2"]
    values = ["18.00", "27.70", "0.568", "55.00", "54.40", "56.00", "7.12", "1", "4", "10"]
    assert list(found["baseline"].values()) == values
    assert "not run yet" not in table
    assert rows(TABLES["bidaf-squad-v2-mini"]([]))["baseline"]["span EM"] == "not run yet"


def test_runs_of_any_length_share_a_row_of_the_first_epochs() -> None:
    metrics = {f"validation/epoch{epoch}/span_{name}": 10.0 * epoch for epoch in (1, 2, 3) for name in ("exact", "f1")}
    run = make_run("learned_char7", dataset="ctxzoo-data/squad_v2_mini", metrics=metrics)
    finished = make_run(dataset="ctxzoo-data/squad_v2_mini", metrics=metrics, settings={"finish_source": "v2"})
    first = {name: value + 2 for name, value in metrics.items() if "/epoch1/" in name}
    short = replace(run, seed=2, metrics=first, settings=run.settings | {"epochs": 1})
    other = replace(short, settings=short.settings | {"batch_size": 32})
    found = rows(TABLES["bidaf-first-epochs"]([run, finished, short, other, make_run()]))
    assert list(found) == ["learned_char7 (batch_size 32)", "learned_char7 (batch_size 64)"]
    assert list(found["learned_char7 (batch_size 64)"].values()) == [*["11.00 ± 1.41"] * 2, *["20.00"] * 2, "2/1"]
    assert list(found["learned_char7 (batch_size 32)"].values()) == ["12.00", "12.00", "–", "–", "1/0"]


def test_short_runs_do_not_stand_in_that_of_whole_trainings() -> None:
    place = {"dataset": "ctxzoo-data/squad_v2_mini", "metrics": {"test/span_f1": 33.0}}
    whole, short = make_run(**place, settings={"epochs": 4}), make_run(**place, seed=2, settings={"epochs": 1})
    found = TABLES["bidaf-squad-v2-mini"]([whole, short])
    assert [line.split(" | ")[2] for line in found.splitlines() if line.startswith("| baseline ")] == ["33.00"]


def test_trials_on_validation_stand_in_no_table_of_test_scores() -> None:
    trial = make_run(split="validation", f1=99.0, settings={"epochs": 1})
    trial.metrics = {"validation/f1": 99.0}
    assert TABLES["bidaf-squad-v1-mini"]([make_run(), trial]) == TABLES["bidaf-squad-v1-mini"]([make_run()])


def first_epoch(seed: int, f1: float, **settings: Any) -> RunResult:
    scores = {"validation/epoch1/span_exact": f1 - 6, "validation/epoch1/span_f1": f1}
    settings = {"precision": "bf16-mixed", **settings}
    return make_run(seed=seed, dataset="ctxzoo-data/squad_v2_mini", metrics=scores, settings=settings)


def test_the_first_epoch_by_order_of_batches_and_start() -> None:
    told = {"pool_batches": 50, "product_start": 0.122474}
    results = [
        first_epoch(1, 13.0, epochs=4),  # neither setting was told then
        first_epoch(2, 15.0, epochs=1),
        first_epoch(1, 90.0, precision="32-true"),
        first_epoch(1, 14.0, **told),
        first_epoch(2, 15.0, **told),
        first_epoch(3, 16.0, **told),
        first_epoch(2, 18.0, **told | {"pool_batches": 1}),
    ]
    table = TABLES["bidaf-first-epoch"](results)
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()[2:6]]
    assert cells == [
        ["of similar length", "±0.173", "8.00 ± 1.41", "14.00 ± 1.41", "–", "2 of 3"],
        ["of similar length", "±0.122", "9.00 ± 1.00", "15.00 ± 1.00", "+0.50 ± 0.71 (2 seeds)", "3"],
        ["random", "±0.173", "not run yet", "", "", ""],
        ["random", "±0.122", "12.00", "18.00", "+3.00 (1 seed)", "1 of 3"],
    ]
    commands = table.splitlines()[8:-1]
    assert [line.partition("first_epoch-")[2].removesuffix(" --results_dir results") for line in commands] == [
        "",
        "before --seeds 3",
        "random --pool_batches 1 --seeds 1 2 3",
        "both --pool_batches 1 --seeds 1 3",
    ]
    starts = [line.partition("python recipes/squad_bidaf.py ")[0] for line in commands[1:]]
    assert starts == [*["git checkout fd21e49 && "] * 2, ""]


def test_runs_before_the_start_was_told_are_those_of_the_wider_start() -> None:
    plain = make_run("learned_char7")
    same = make_run("learned_char7", seed=2, settings={"pool_batches": 50, "product_start": 0.172774})
    other = make_run("learned_char7", seed=3, settings={"pool_batches": 50, "product_start": 0.122474})
    labels = [line.split(" | ")[0] for line in TABLES["bidaf-extensions"]([plain, same, other]).splitlines()]
    assert [label for label in labels if label.startswith("| learned_char7 (")] == [
        "| learned_char7 (product_start 0.122474)",
        "| learned_char7 (product_start 0.172774)",
    ]


def test_a_row_with_the_present_start_takes_the_place_of_its_earlier_one() -> None:
    start = {"pool_batches": 50, "product_start": 0.122474}
    earlier = [make_run(f1=40.0), make_run(f1=41.0, settings={"epochs": 9}), make_run("learned", f1=42.0)]
    present = [make_run(seed=seed, f1=50.0, settings=start) for seed in (1, 3)]
    table = TABLES["bidaf-squad-v1-mini"]([*earlier, *present])
    found = [line for line in table.splitlines() if line.startswith(("| baseline", "| learned "))]
    assert [line.split(" | ")[3] for line in found] == ["50.00 ± 0.00", "41.00", "42.00"]
    assert "--variant baseline --word_vectors FILE --seeds 2 --precision bf16-mixed --epochs 8" in table


def test_other_optimizers_and_trainings_without_a_source_stand_elsewhere() -> None:
    others = [
        make_run(seed=2, settings={"optimizer": "adamw"}),
        make_run(seed=3, settings={"left_out_source": "reddit"}),
        make_run("second_dropout"),
    ]
    assert TABLES["bidaf-squad-v1-mini"]([make_run(), *others]) == TABLES["bidaf-squad-v1-mini"]([make_run()])


def test_levers_are_compared_at_equal_seed_and_epochs() -> None:
    results = [
        make_run("learned_char7", seed=1, f1=50.0),
        make_run("learned_char7", seed=2, f1=60.0),
        make_run("learned_char7", seed=1, f1=90.0, settings={"epochs": 9}),
        make_run("learned_char7", seed=1, f1=51.0, settings={"extensions": ["gru"]}),
        make_run("learned_char7", seed=2, f1=63.0, settings={"extensions": ["gru"]}),
        make_run("learned_char7", seed=3, f1=99.0, settings={"extensions": ["gru"]}),
        make_run("learned_char7", seed=2, f1=57.0, settings={"extensions": ["ema"], "batch_size": 32}),
        make_run("learned_char7", seed=7, f1=70.0, settings={"extensions": ["qanet"]}),
        make_run("baseline", seed=1, settings={"extensions": ["gru"]}),
    ]
    table = TABLES["bidaf-extensions"](results)
    lines = [line for line in table.splitlines()[2:] if line.startswith("| learned_char7 |")]
    assert [line.split(" | ")[3] for line in lines] == ["55.00 ± 7.07", "90.00"]
    found = rows("\n".join(line for line in table.splitlines() if line not in lines))
    found = {name: row for name, row in found.items() if row["test EM"] != "not run yet"}
    assert list(found) == ["learned_char7 + ema", "learned_char7 + gru", "learned_char7 + qanet"]
    shown = {name: (row["difference F1"], row["difference EM"], row["pairs"]) for name, row in found.items()}
    assert shown == {
        "learned_char7 + ema": ("–", "–", "0"),  # no plain run has its batches
        "learned_char7 + gru": ("+2.00 ± 1.41", "+2.00 ± 1.41", "2"),
        "learned_char7 + qanet": ("–", "–", "0"),
    }


def test_the_plain_run_with_the_same_settings_is_the_one_to_compare_with() -> None:
    plain = [
        make_run("learned_char7", f1=50.0),
        make_run("learned_char7", f1=55.0, settings={"batch_size": 32}),
    ]
    extended = make_run("learned_char7", f1=56.0, settings={"batch_size": 32, "extensions": ["gru"]})
    found = rows(TABLES["bidaf-extensions"]([*plain, extended]))
    assert found["learned_char7 + gru"]["difference F1"] == "+1.00"
    other = make_run("learned_char7", f1=56.0, settings={"batch_size": 16, "extensions": ["gru"]})
    assert rows(TABLES["bidaf-extensions"]([*plain, other]))["learned_char7 + gru"]["difference F1"] == "–"


def test_levers_without_runs() -> None:
    extended = make_run("learned_char7", settings={"extensions": ["word_features"]})
    found = rows(TABLES["bidaf-extensions"]([make_run("learned_char7"), extended]))
    assert found["learned_char7"]["test F1"] == "40.00"
    not_run = [name for name, row in found.items() if row["test EM"] == "not run yet"]
    assert not_run == ["learned_char7 + context_self_attention"]


def test_paper_table_never_takes_our_numbers() -> None:
    table = TABLES["bidaf-paper"]([make_run("learned_char7", f1=64.0)])
    assert table == TABLES["bidaf-paper"]([])
    lines = table.splitlines()[2:]
    assert len(lines) == len(PAPER) == 8
    assert all(line.endswith("| not run here | not run here |") for line in lines)
    assert lines[5] == "| learned_char7 | dev | 64.57 | 61.49 | not run here | not run here |"
    assert lines[6] == "| learned_char9 | dev | not finished | not finished | not run here | not run here |"
    assert {row.variant for row in PAPER} == set(BidafConfig.variants) - {"char7", *CONTROLS}


PRESENT: dict[str, Any] = {"product_start": 0.122474, "word_vectors": "wiki2015_cbow.100d", "optimizer": "adadelta"}


def control(variant: str, seed: int, f1: float, **settings: Any) -> RunResult:
    return make_run(variant, seed, f1, settings=PRESENT | settings)


def cells(table: str) -> dict[tuple[str, str], list[str]]:
    lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines() if line[:2] == "| "]
    return {(line[0], line[1]): line[2:] for line in lines[2:]}


def test_rows_are_compared_at_equal_seeds() -> None:
    results = [
        control("baseline", 1, 60.0),
        control("baseline", 2, 62.0),
        control("baseline", 3, 10.0, product_start=0.172774),
        control("baseline", 3, 10.0, word_vectors="learned"),
        control("baseline", 3, 10.0, extensions=["word_features"]),
        control("baseline", 3, 10.0, left_out_source="reddit"),
        control("second_dropout", 1, 63.0),
        control("second_dropout", 2, 64.0),
        control("second_dropout", 3, 99.0),
        control("learned", 1, 50.0, optimizer="adamw"),
        control("learned_attention", 1, 20.0, optimizer="adamw"),
    ]
    table = TABLES["bidaf-controls"](results)
    found = cells(table)
    assert found["baseline", "adadelta"] == ["–", "51.00 ± 1.41", "61.00 ± 1.41", "62.00 ± 1.41", "–", "2 of 3"]
    assert found["second_dropout", "adadelta"][0] == "baseline"
    assert found["second_dropout", "adadelta"][-2:] == ["+2.50 ± 0.71 (2)", "3"]
    assert found["learned_attention", "adamw"] == ["learned", "10.00", "20.00", "21.00", "-30.00 (1)", "1 of 3"]
    assert found["sinusoidal", "adadelta"][1] == found["learned", "adadelta"][1] == "not run yet"
    commands = [line.partition("--variant ")[2] for line in table.splitlines() if line.startswith("python")]
    seeds = [(line.split()[0], line.partition("--seeds ")[2].partition(" --precision")[0]) for line in commands]
    assert seeds == [
        ("baseline", "3"),
        ("sinusoidal", "1 2 3"),
        ("learned", "1 2 3"),
        ("learned_char7", "1 2 3"),
        ("learned_attention_residual", "1 2 3"),
        ("learned", "2 3"),
        ("learned_attention", "2 3"),
    ]
    assert all(("--optimizer adamw" in line) == (place > 4) for place, line in enumerate(commands))


def test_what_was_not_made_alike_is_no_row() -> None:
    with pytest.raises(ValueError, match="were not made alike"):
        TABLES["bidaf-controls"]([control("baseline", 1, 60.0), control("baseline", 2, 61.0, epochs=9)])
    with pytest.raises(ValueError, match="two results for baseline"):
        TABLES["bidaf-controls"]([control("baseline", 1, 60.0), control("baseline", 1, 61.0)])


OF_READER = {"optimizer": "adamw", "learning_rate": 0.0015, "extensions": ["word_features"]}


def reader(tag: str, seed: int, f1: float, left_out: float | None = None, **settings: Any) -> RunResult:
    metrics = {} if left_out is None else {"left_out/f1": left_out, "left_out/exact": left_out - 5}
    return make_run("char7", seed, f1, tag=tag, settings=OF_READER | settings, metrics=metrics)


def trial(f1: float, seed: int = 1, **settings: Any) -> RunResult:
    made = make_run("char7", seed, settings=OF_READER | settings, split="validation")
    made.metrics = {"validation/f1": f1, "validation/exact": f1 - 10, "epochs": 4}
    return made


def test_trials_stand_by_their_validation_score() -> None:
    found = [trial(60.0), trial(66.0, learning_rate=0.001), trial(63.0, epochs=6), trial(61.0, seed=2)]
    table = TRIAL_TABLES["bidaf-reader-trials"]([*found, make_run("char7", f1=99.0)])
    lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()[2:]]
    assert [line[10] for line in lines] == ["66.00", "63.00", "60.50 ± 0.71"]
    assert [line[1:3] for line in lines] == [["adamw", "0.001"], ["adamw", "0.0015"], ["adamw", "0.0015"]]
    assert [line[11] for line in lines] == ["1", "1", "2"]
    assert "not run yet" in TRIAL_TABLES["bidaf-reader-trials"]([])


def test_trials_tell_sizes_and_starts_that_files_leave_out() -> None:
    wide = trial(66.0, hidden_size=128, dropout=0.3, keep_words=30000)
    others = [trial(60.0), trial(63.0, init_from="cloze", word_vectors="glove_filled")]
    table = TRIAL_TABLES["bidaf-reader-trials"]([wide, *others])
    lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()[2:]]
    assert [line[3:8] for line in lines] == [
        ["128", "0.3", "learned", "–", "30000"],
        ["100", "0.2", "glove_filled", "cloze", "all"],
        ["100", "0.2", "learned", "–", "all"],
    ]


def test_the_reader_small_and_without_a_source() -> None:
    results = [
        reader("reader", 1, 75.0),
        reader("reader", 2, 77.0),
        reader("reader_small", 1, 74.5, keep_words=30000, weights="float16"),
        reader("reader_without_reddit", 1, 70.0, 60.0, left_out_source="reddit"),
        reader("other", 1, 99.0),
    ]
    table = TABLES["bidaf-reader"](results)
    found = rows(table)
    assert found["all training rows"]["test F1"] == "76.00 ± 1.41"
    assert found["all training rows"]["left out − test, F1"] == "–"
    assert found["sliding window over words, no network"]["trainable parameters"] == "not run yet"
    assert found["the first seed of these, half precision, 30,000 words"]["test F1"] == "74.50"
    without = found["without the rows of `reddit`"]
    assert (without["left out F1"], without["left out − test, F1"]) == ("60.00", "-10.00")
    assert found["without the rows of `new_wiki`"]["trainable parameters"] == "not run yet"
    commands = [line for line in table.splitlines() if line.startswith("python")]
    assert commands.pop(0) == "python recipes/squad_sliding_window.py --results_dir results"
    asked = [line.partition("--threads 1 ")[2].removesuffix(" --results_dir results") for line in commands]
    assert asked == [
        "--epochs 6 --seeds 3 --name reader",
        "--epochs 8 --hidden_size 128 --dropout 0.3 --seeds 1 --name reader_wide",
        "--epochs 6 --left_out_source reddit --seeds 2 3 --name reader_without_reddit",
        "--epochs 6 --left_out_source new_wiki --seeds 1 2 3 --name reader_without_new_wiki",
    ]
    assert "small_reader.py --checkpoint RUN/checkpoint" in TABLES["bidaf-reader"]([])


def test_runs_of_one_name_that_were_not_made_alike_are_refused() -> None:
    with pytest.raises(ValueError, match="were not made alike"):
        TABLES["bidaf-reader"]([reader("reader", 1, 75.0), reader("reader", 2, 77.0, learning_rate=0.002)])


def test_a_baseline_without_a_network_stands_above_the_readers() -> None:
    window = make_run("sliding_window", 0, 20.0, recipe="squad_sliding_window", architecture="counts", settings={})
    other = make_run("sliding_window", 0, 90.0, recipe="squad_sliding_window", dataset="sample")
    table = TABLES["bidaf-reader"]([reader("reader", 1, 75.0), window, other])
    first = table.splitlines()[2]
    assert first.startswith("| sliding window over words, no network | 1,439,405 | ")
    assert " | 10.00 | 20.00 | – | – | – | 1 | " in first
    assert "squad_sliding_window.py" not in table
