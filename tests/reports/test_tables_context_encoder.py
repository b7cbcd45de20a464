"""The table of the encoders on sentences: which runs stand where, what is missing, the tests beside them."""

from __future__ import annotations

from typing import Any

from ctxzoo.results.result import RunResult
from recipes.sentence_context_encoder import BASE, COMPARED, KNOWN
from reports.tables_encoders import sentences
from tests.support.result_tables import make_folds, rows

RECIPE = BASE.recipe


def folds(variant: str, accuracies: list[float], **changes: Any) -> list[RunResult]:
    settings = {"inner_size": 256, "position": "sinusoidal"} | changes.pop("settings", {})
    return make_folds(
        accuracies, recipe=RECIPE, architecture="kernel_encoder", variant=variant, settings=settings, **changes
    )


def test_sentences() -> None:
    accuracies, better = [75.0, 76.0, 77.0, 76.5, 75.5], [76.0, 77.5, 77.0, 78.0, 77.0]
    results = folds("dot", accuracies) + folds("mikan", better, settings={"inner_size": 200})
    results += folds("dot", better, tag="rotary", settings={"position": "rotary"})
    text = sentences(results)
    table = rows(text)
    assert table["`dot`"]["CR"] == "76.00 ± 0.79"
    assert (table["`dot`"]["inner width"], table["`mikan`"]["inner width"]) == ("256", "200")
    assert table["`mikan` − `dot`"]["CR"].startswith("+1.10 (p = ")
    assert table['`dot`, rotary (position "rotary")']["CR"] == "77.10 ± 0.74"
    assert table["`ika`"]["MR"] == "not run yet"
    assert f"python recipes/{RECIPE}.py --attentions {' '.join(COMPARED)} --resume --results_dir" in text


def test_the_table_needs_what_the_recipe_trains() -> None:
    accuracies = [75.0, 76.0, 77.0, 76.5, 75.5]
    found = rows(sentences([run for variant in KNOWN for run in folds(variant, accuracies)]))
    assert [name for name in found if name.startswith("`") and "−" not in name] == [f"`{name}`" for name in KNOWN]
