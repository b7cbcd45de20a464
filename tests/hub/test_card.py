"""Model cards: metadata that the Hub reads, no empty section, and snippets that run."""

from __future__ import annotations

import ast
import re
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from huggingface_hub import ModelCard

from ctxzoo.hub.card import Surroundings, build_card
from ctxzoo.hub.card_parts import set_repo_id
from ctxzoo.hub.packing import WITHOUT_CODE
from ctxzoo.models import ARCHITECTURES
from ctxzoo.tasks import get_card_of_head
from ctxzoo.tasks.question_answering.card import CARD as QUESTION_ANSWERING
from tests.support.doors import offline
from tests.support.tiny_checkpoint import CONTEXT, QUESTION, ask, tiny_config, tiny_model, tiny_result, tiny_tokenizer
from tests.support.warm_python import run_warm

EXAMPLE = {"question": QUESTION, "context": CONTEXT, "answer": "Oda", "score": 0.25, "start": 4, "end": 7}
reader_card = partial(build_card, task=QUESTION_ANSWERING)
SECTIONS = [
    *("What it is for", "Use it", "Results", "Limits", "Training data and licence", "Settings", "Environment", "Code"),
    *("Reproduce", "Links", "Citation"),
]


def sections(card: str) -> dict[str, str]:
    body = ModelCard(card, ignore_metadata_errors=False).text
    parts = re.split(r"^## (.+)$", body, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def python_blocks(card: str) -> list[str]:
    return re.findall(r"```python\n(.*?)\n```", card, flags=re.DOTALL)


def test_metadata_is_what_the_hub_reads() -> None:
    data = ModelCard(reader_card(tiny_result(), tiny_config(), example=EXAMPLE)).data
    assert (data.license, data.library_name, data.pipeline_tag) == ("apache-2.0", "transformers", "question-answering")
    assert data.datasets == ["ctxzoo-data/squad_v2_mini"]
    assert data.model_name == "bidaf-squad_v2_mini-learned_char3"
    scores = {entry.metric_name: entry.metric_value for entry in data.eval_results}
    assert scores["F1"] == 44.5
    assert scores["exact match"] == 40.25
    assert not any("never answers" in name or "likelihood" in name for name in scores)
    assert {(entry.dataset_type, entry.dataset_split) for entry in data.eval_results} == {
        ("ctxzoo-data/squad_v2_mini", "test")
    }


def test_every_section_has_content() -> None:
    card = reader_card(tiny_result(), tiny_config(), example=EXAMPLE)
    found = sections(card)
    assert list(found) == SECTIONS
    assert all(len(text.split()) > 5 for text in found.values())
    assert "None" not in ModelCard(card).text
    assert "| exact match | – | 40.25 |" not in card  # validation comes after the reported split
    assert "| exact match | 40.25 | – |" in found["Results"]
    assert "stand beside no published SQuAD 2.0 score" in found["Results"]
    assert "54.40 of a reader that never answers" in found["Limits"]
    assert "Position rows 90 to 1023 were never trained" in found["Limits"]
    assert "It was trained on texts of up to 89 words and scored on up to 1000; the" in found["Limits"]
    unknown = sections(reader_card(tiny_result(), tiny_config(trained_positions=None), example=EXAMPLE))["Limits"]
    assert "It was scored on up to 1000; the" in unknown
    assert "never trained" not in unknown
    assert "One seed" in found["Limits"]
    assert found["Code"].strip() == WITHOUT_CODE
    assert "--data_dir $CTXZOO_DATA" in found["Reproduce"]
    assert "0123abc" in found["Reproduce"]
    assert "1,234 trained, 5,678 in all" in card
    assert "1611.01603" in found["Citation"]


def test_every_head_with_a_task_has_a_card() -> None:
    for name, architecture in ARCHITECTURES.items():
        heads = [head for head in architecture.model_classes.values() if head.zoo_task is not None]
        assert heads
        for task in map(get_card_of_head, heads):
            metrics = {f"test/{metric}": 50.0 for metric in task.metrics}
            result = tiny_result(architecture=name, metrics=metrics, dataset="someone/data")
            example = {key: 0.5 if key == "score" else "word" for key in task.example_keys}
            card = build_card(result, architecture.config_class(), task=task, example=example)
            assert list(sections(card)) == SECTIONS, name
            data = ModelCard(card, ignore_metadata_errors=False).data
            assert data.pipeline_tag == task.pipeline_tag
            assert len(data.eval_results) == sum(metric.is_score for metric in task.metrics.values())


def test_it_says_which_weights_in_half_precision_were_scored() -> None:
    def identity(**settings: object) -> str:
        result = replace(tiny_result(), settings={**tiny_result().settings, **settings})
        return build_card(result, tiny_config(), task=QUESTION_ANSWERING, example=EXAMPLE, half=bool(settings))

    assert "| safetensors, no pickles |" in identity()
    assert "| safetensors, no pickles; in half precision, rounded after they were scored |" in identity(weights=None)
    assert "| safetensors, no pickles; in half precision, scored as they are |" in identity(weights="float16")


def test_reader_of_squad_1_1_says_that_it_always_answers() -> None:
    metrics = {"test/exact": 20.0, "test/f1": 30.0}
    result = tiny_result(dataset="ctxzoo-data/squad_v1_mini", metrics=metrics)
    limits = sections(reader_card(result, tiny_config(squad_version="1.1"), example=EXAMPLE))["Limits"]
    assert "always answers" in limits
    assert "never answers" not in limits


def test_several_seeds_give_mean_and_deviation() -> None:
    runs = [tiny_result(), *(tiny_result(seed=s, metrics={"test/f1": f}) for s, f in ((2, 46.5), (3, 48.5)))]
    card = reader_card(runs[0], tiny_config(), example=EXAMPLE, surroundings=Surroundings(other_runs=runs[1:]))
    results = sections(card)["Results"]
    assert "| F1 | 44.50 | 43.00 | 46.50 ± 2.00 |" in results
    assert "Seeds: 1, 2, 3." in results
    assert "One seed" not in card


def test_simple_models_mistakes_and_other_folders_stand_beside_a_published_run() -> None:
    bars = [tiny_result(seed=seed, metrics={"test/f1": f1}) for seed, f1 in ((1, 20.0), (2, 22.0))]
    around = Surroundings(
        title="A reader of notes",
        baselines={"a window of words": bars, "a coin": [tiny_result(metrics={"test/exact": 1.0})]},
        failure={"inputs": {"question": "Who | why?"}, "answer": "answer", "given": {"answer": "Oda"}, "right": "Ida"},
        see_also=["[other](../other/README.md): smaller"],
    )
    card = reader_card(tiny_result(), tiny_config(), example=EXAMPLE, surroundings=around)
    found = sections(card)
    assert "# A reader of notes\n" in card
    assert "| F1 | 44.50 | 43.00 | 21.00 ± 1.41 | – |" in found["Results"]
    assert "test, a window of words, mean ± sd of 2 runs | test, a coin |" in found["Results"]
    assert 'for the question "Who \\| why?" it gives "Oda". Right: Ida.' in found["Limits"].replace("&#124;", "\\|")
    assert "[other](../other/README.md): smaller" in found["Links"]


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (tiny_result(), "two runs with seed 1"),
        (tiny_result(seed=2, variant="baseline"), "seed 2 has another variant: 'baseline'"),
        (tiny_result(seed=2, settings={"epochs": 9}), "another settings"),
    ],
)
def test_runs_of_another_kind_are_refused(other: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        reader_card(tiny_result(), tiny_config(), example=EXAMPLE, surroundings=Surroundings(other_runs=[other]))  # type: ignore[list-item]


def test_official_data_stands_beside_the_paper() -> None:
    result = tiny_result(dataset="rajpurkar/squad_v2", variant="learned_char7")
    results = sections(reader_card(result, tiny_config(), example=EXAMPLE))["Results"]
    assert "| learned_char7 | dev | 64.57 | 61.49 |" in results
    assert "| baseline" not in results
    assert "64.57" not in reader_card(replace(result, dataset="sample"), tiny_config(), example=EXAMPLE)


def test_trial_run_and_dirty_checkout_are_told() -> None:
    result = tiny_result(commit="0123abc-dirty", dataset="sample")
    card = reader_card(replace(result, settings={**result.settings, "tiny": True}), tiny_config(), example=EXAMPLE)
    assert "Its answers mean nothing" in card
    assert "changes that are in no commit" in card
    assert ModelCard(card).data.datasets is None


def test_unknown_dataset_still_gives_a_whole_card() -> None:
    found = sections(reader_card(tiny_result(dataset="someone/questions"), tiny_config(), example=EXAMPLE))
    assert "someone/questions" in found["Results"]
    assert "licence of the data: that of the dataset; see its source" in found["Training data and licence"]


def test_bad_input() -> None:
    with pytest.raises(ValueError, match=r"unknown architecture 'gpt'; known: .*bidaf"):
        reader_card(tiny_result(architecture="gpt"), tiny_config(), example=EXAMPLE)
    with pytest.raises(ValueError, match="lacks answer, score"):
        reader_card(tiny_result(), tiny_config(), example={"question": "q", "context": "c"})


@pytest.mark.parametrize("text", [CONTEXT, "", "x" * 300, "a\\b \"c\" 'd'\n\n`e`  {f} $g\t", "word " * 100])
def test_example_survives_as_a_program(text: str) -> None:
    names: dict[str, str] = {}
    example = {"question": "What?", "context": text}
    exec(QUESTION_ANSWERING.build_snippets(example, "someone/model").example, names)
    assert (names["context"], names["question"], names["repo"]) == (text, "What?", "someone/model")


def test_repository_is_named_in_the_snippets_only() -> None:
    card = reader_card(tiny_result(), tiny_config(), example=EXAMPLE)
    named = set_repo_id(card, "someone/tiny")
    assert named != card
    assert [(a, b) for a, b in zip(card.splitlines(), named.splitlines(), strict=True) if a != b] == [
        ('repo = "path/to/this/folder"', 'repo = "someone/tiny"')
    ]
    assert set_repo_id(named, "other/name") == set_repo_id(card, "other/name")


@pytest.mark.slow
def test_snippets_run_and_print_what_the_card_says(whole_checkpoint: Path, tmp_path: Path) -> None:
    card = (whole_checkpoint / "README.md").read_text()
    example, with_package, without_package, as_pipeline = python_blocks(set_repo_id(card, str(whole_checkpoint)))
    expected = ask(tiny_model(), tiny_tokenizer())
    environment = offline()

    ours = run_warm(f"{example}\n{with_package}", env=environment).stdout
    assert ours.strip() in CONTEXT
    assert ours.strip()
    theirs = run_warm(f"{example}\n{without_package}", without_ctxzoo=True, env=environment).stdout
    assert theirs.startswith("tensor([[")
    piped = run_warm(f"{example}\n{as_pipeline}", without_ctxzoo=True, env=environment).stdout
    # The card shows four significant digits of the same answer.
    shown = ast.literal_eval(re.findall(r"^# (\{.*\})$", as_pipeline, flags=re.MULTILINE)[0])
    printed = ast.literal_eval(piped.splitlines()[-1])
    assert printed.pop("answer") == shown.pop("answer") == expected["answer"]
    assert printed == pytest.approx({name: expected[name] for name in printed}, rel=1e-5)
    assert shown == pytest.approx(printed, rel=1e-3)
