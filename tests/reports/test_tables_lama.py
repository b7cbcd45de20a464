"""LAMA's tables: which runs stand in which cell, beside which numbers of the paper."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ctxzoo.results.result import RunResult
from reports.tables_lama import DATA, MODELS, PAPER, TABLES
from tests.support.result_tables import make_run, rows

REUTERS, IMDB = DATA["Reuters"][0], DATA["IMDB"][0]
SETTINGS = {"tiny": False, "num_heads": 15, "logit_scale": 1.0}


def seeds(accuracies: list[float], variant: str = "lama_ctx", **changes: Any) -> list[RunResult]:
    """Accuracy on validation is one above that on test."""
    changes = {"recipe": "document_lama", "dataset": REUTERS, **changes}
    settings = SETTINGS | changes.pop("settings", {})
    return [
        replace(
            make_run(variant, seed, **changes),
            settings=settings,
            metrics={"test/accuracy": value, "validation/accuracy": value + 1},
        )
        for seed, value in enumerate(accuracies)
    ]


def test_every_row_of_the_paper_is_there_with_its_numbers() -> None:
    table = rows(TABLES["lama-documents"]([]))
    assert set(PAPER) - {"bert"} <= set(MODELS)
    assert table["LAMA+ctx"]["Reuters, the paper"] == "97.3"
    assert table["mean of words"]["IMDB, the paper"] == "87.4"
    assert table["BERT"] == dict.fromkeys(table["BERT"], "–") | {
        "Reuters, the paper": "97.8",
        "IMDB, the paper": "89.4",
    }
    # Other data never stand in a column with the paper's numbers.
    assert {heading for heading in table["LAMA"] if "paper" in heading} == {"Reuters, the paper", "IMDB, the paper"}


def test_runs_stand_in_the_cell_of_their_model_data_and_tag() -> None:
    yelp = "Yelp/yelp_review_full"
    results = [
        *seeds([96.0, 96.5, 97.0]),
        *seeds([90.0, 90.5], dataset=IMDB),
        *seeds([60.0, 61.0, 62.0], dataset=yelp),
        *seeds([55.0, 56.0, 57.0], dataset=yelp, tag="long"),
        *seeds([99.0], variant="lama", settings={"tiny": True}),
        *seeds([98.0, 98.0, 98.0], tag="scale5"),
        *seeds([97.5, 98.0, 97.0], tag="pooled"),
        *seeds([90.0], tag="pooled", dataset=IMDB),
        *seeds([91.5], variant="bigram_nblr", recipe="document_linear", dataset=IMDB),
    ]
    table = rows(TABLES["lama-documents"](results))
    assert table["LAMA+ctx"] == {
        "Reuters, the paper": "97.3",
        "Reuters": "96.50 ± 0.50",
        "IMDB, the paper": "90.0",
        "IMDB": "90.25 ± 0.35 (2 of 3 seeds)",
        "Yelp, our sample": "61.00 ± 1.00",
        "Yelp-L, our sample": "56.00 ± 1.00",
        "News headlines": "not run yet",
    }
    assert table["LAMA"]["Reuters"] == "not run yet"
    strongest = table["LAMA+ctx, strongest settings of each set"]  # by validation; on IMDB those of the paper
    assert (strongest["Reuters"], strongest["IMDB"], strongest["Yelp, our sample"]) == ("98.00 ± 0.00", "–", "–")
    assert table["words and pairs, NB-weighted logistic regression"]["IMDB"] == "91.50"
    assert table["Transformer encoder"]["News headlines"] == "–"


def test_a_single_seed_does_not_compete_with_a_mean_of_three() -> None:
    results = [
        *seeds([89.0, 89.5, 90.0]),
        *seeds([95.0], tag="words_ema"),
        *seeds([92.0, 92.0, 92.0], tag="dropout"),
        *seeds([96.0, 96.0, 96.0], tag="given", settings={"word_vectors": "of other texts"}),
    ]
    table = rows(TABLES["lama-documents"](results))
    assert table["LAMA+ctx, strongest settings of each set"]["Reuters"] == "92.00 ± 0.00"
    assert "LAMA+ctx, strongest settings of each set" not in rows(TABLES["lama-documents"](results[:4]))


def test_nothing_is_the_strongest_before_the_paper_s_settings_have_their_seeds_and_these_win_a_draw() -> None:
    def strongest(papers: list[float], levers: float) -> bool:
        results = [*seeds(papers), *seeds([levers] * 3, tag="levers")]
        return "LAMA+ctx, strongest settings of each set" in rows(TABLES["lama-documents"](results))

    assert not strongest([90.0, 90.0], 92.0)
    assert not strongest([90.0, 90.0, 90.0], 90.0)
    assert strongest([90.0, 90.0, 90.0], 90.1)


def test_settings_for_imdb_are_chosen_by_blocks() -> None:
    imdb: dict[str, Any] = {"dataset": IMDB}
    results = [
        *seeds([89.0, 89.0, 89.0], **imdb),
        *seeds([95.0, 95.0, 95.0], **imdb, tag="dropout"),
        *seeds([80.0, 80.0, 80.0], **imdb, tag="blocks"),
        *seeds([81.0, 81.0, 81.0], **imdb, tag="blocks-levers"),
        *seeds([70.0, 70.0, 70.0], **imdb, tag="blocks-dropout"),
    ]
    row = rows(TABLES["lama-documents"](results))["LAMA+ctx, strongest settings of each set"]
    assert (row["Reuters"], row["IMDB"]) == ("–", "81.00 ± 0.00")


def test_the_other_models_get_levers_too() -> None:
    results = [
        *seeds([90.0, 90.0, 90.0], variant="single_head"),
        *seeds([93.0, 93.0, 93.0], variant="single_head", tag="words_ema", settings={"ema_decay": 0.999}),
    ]
    table = rows(TABLES["lama-documents"](results))
    assert table["one head (3.8), strongest settings of each set"]["Reuters"] == "93.00 ± 0.00"
    assert list(table)[list(table).index("one head (3.8)") + 1] == "one head (3.8), strongest settings of each set"
    climbed = rows(TABLES["lama-climb"](results))["one head (3.8): words_ema (ema_decay 0.999)"]
    assert (climbed["Reuters"], climbed["Reuters, difference"]) == ("94.00 ± 0.00", "+3.00")


def test_validation_in_blocks_has_a_column_of_its_own() -> None:
    results = [
        *seeds([89.0, 89.0, 89.0], dataset=IMDB),
        *seeds([80.0, 80.0, 80.0], dataset=IMDB, tag="blocks"),
        *seeds([81.0, 81.0, 81.0], dataset=IMDB, tag="blocks-dropout", settings={"dropout": 0.3}),
    ]
    table = rows(TABLES["lama-climb"](results))
    assert (table["the paper's"]["IMDB"], table["the paper's"]["IMDB, blocks"]) == ("90.00 ± 0.00", "81.00 ± 0.00")
    row = table["dropout (dropout 0.3)"]
    assert (row["IMDB"], row["IMDB, blocks"], row["IMDB, blocks, difference"]) == ("–", "82.00 ± 0.00", "+1.00")
    assert not [name for name in table if "blocks" in name]
    assert rows(TABLES["lama-documents"](results))["LAMA+ctx"]["IMDB"] == "89.00 ± 0.00"


def test_runs_of_bert_stand_beside_the_paper_s_and_are_not_asked_for() -> None:
    bert: dict[str, Any] = {"variant": "bert-base-uncased", "recipe": "document_bert"}
    shown = TABLES["lama-documents"]([*seeds([97.0, 98.0, 99.0], **bert), *seeds([1.0], **bert, tag="long")])
    row = rows(shown)["BERT"]
    assert (row["Reuters, the paper"], row["Reuters"], row["IMDB, the paper"]) == ("97.8", "98.00 ± 1.00", "89.4")
    assert row["IMDB"] == row["Yelp-L, our sample"] == "–"
    assert "document_bert" not in TABLES["lama-documents"]([])


def test_lama_is_compared_with_the_others_over_seeds() -> None:
    results = [*seeds([94.0, 95.0], "lama"), *seeds([90.0, 91.0], "single_head"), *seeds([92.0], "cnn")]
    table = rows(TABLES["lama-documents"](results))
    row = table["LAMA − one head (3.8) (p over seeds)"]
    assert (row["Reuters, the paper"], row["Reuters"], row["IMDB"]) == ("–", "+4.00 (p = 0.030)", "–")
    assert table["LAMA − CNN (p over seeds)"]["Reuters"] == "+2.50 (one seed)"
    assert "LAMA − SAN (p over seeds)" not in table


def test_commands_name_what_is_missing() -> None:
    table = TABLES["lama-documents"]([])
    for name in ("reuters8", "imdb", "yelp", "yelp_long", "news_aggregator"):
        assert f"python recipes/document_lama.py --dataset {name} --seeds 0 1 2 --resume" in table
    assert "python recipes/document_linear.py --resume" in table
    done = [run for variant in MODELS for run in seeds([1.0, 2.0, 3.0], variant)]
    assert "--dataset reuters8" not in TABLES["lama-documents"](done)


def test_levers_by_validation_alone() -> None:
    results = [
        *seeds([96.0, 96.5, 97.0]),
        *seeds([97.0, 96.5], tag="scale5", settings={"logit_scale": 5.0}),
        *seeds([50.0], variant="lama", tag="scale5"),
        *seeds([97.25], recipe="document_ensemble", tag="scale5", settings={"logit_scale": 5.0, "seeds": [1, 2]}),
        *seeds([94.0], recipe="document_ensemble", dataset=IMDB, settings={"seeds": [0, 1, 2]}),
        # Of several sets of seeds the largest stands for the row.
        *(
            replace(run, seed=1)
            for run in seeds([93.0], recipe="document_ensemble", dataset=IMDB, settings={"seeds": [1, 2]})
        ),
    ]
    table = rows(TABLES["lama-climb"](results))
    assert table["the paper's"]["Reuters"] == "97.50 ± 0.50"
    row = table["scale5 (logit_scale 5.0)"]
    assert (row["Reuters"], row["Reuters, difference"]) == ("97.75 ± 0.35 (2 of 3 seeds)", "+0.50")
    assert (row["IMDB"], row["IMDB, difference"]) == ("–", "–")
    together = table["scale5: the mean of the seeds' probabilities"]
    assert (together["Reuters"], together["Reuters, difference"]) == ("98.25", "+0.50")  # than 97.5 and 98 on average
    assert (together["IMDB"], together["IMDB, difference"]) == ("–", "–")
    together = table["the paper's: the mean of the seeds' probabilities"]
    assert (together["IMDB"], together["IMDB, difference"]) == ("95.00", "–")  # no seed alone to compare with
