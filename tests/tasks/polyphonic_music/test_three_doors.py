"""A checkpoint that reads music opens in three ways: with ctxzoo, with its own code alone, from the command line."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModelForTokenClassification

from ctxzoo.cli.renew import rewrite_card, write_published_folder
from ctxzoo.hub.checkpoint_folder import check_checkpoint_folder
from ctxzoo.hub.published import Entry
from ctxzoo.results.result import RunResult, write_result
from ctxzoo.runs.run import execute
from ctxzoo.tasks.polyphonic_music.continuation import continue_roll
from ctxzoo.tasks.polyphonic_music.rolls import notes_of_roll, roll_of_notes
from tests.support.doors import packed_form, told_offline
from tests.support.head_doors import check_card, command_output
from tests.tasks.polyphonic_music.test_run import run

NOTES = [[27, 43, 46, 51], [27, 43, 48, 51], [29, 41, 46, 50]]
STEPS = 6
MODEL = """
import json, sys, torch
{first}
from transformers import AutoModelForTokenClassification
model = AutoModelForTokenClassification.from_pretrained({source!r}, **{options})
roll = torch.zeros(1, {steps}, 88)
for step, keys in enumerate({notes}):
    roll[0, step, keys] = 1
with torch.no_grad():
    logits = model(inputs_embeds=roll).logits
print(json.dumps({{"module": type(model).__module__, "result": logits.tolist(), "ctxzoo": "ctxzoo" in sys.modules}}))
"""


def open_with(source: Path, first: str = "", options: str = "{}") -> dict[str, Any]:
    """What a program that loads the checkpoint prints of its model; without `first` ctxzoo cannot be imported."""
    values = {"first": first, "options": options, "source": str(source), "notes": NOTES, "steps": len(NOTES)}
    found: dict[str, Any] = told_offline(MODEL.format(**values), without_ctxzoo=not first)
    return found


def check_doors(folder: Path, scratch: Path) -> None:
    """Each door gives what the model gives here, and the card says what its programs print."""
    model = AutoModelForTokenClassification.from_pretrained(folder)
    prompt = roll_of_notes(NOTES)
    with torch.no_grad():
        logits = model(inputs_embeds=torch.from_numpy(prompt).float().unsqueeze(0)).logits
    packed = packed_form(folder, scratch)
    package = open_with(folder, "import ctxzoo")
    remote = open_with(packed, options='{"trust_remote_code": True}')
    torch.testing.assert_close(torch.tensor(package["result"]), logits)
    assert remote["result"] == package["result"]
    assert (package["module"], package["ctxzoo"]) == ("ctxzoo.models.modeling_beta_lstm", True)
    assert remote["module"].startswith("transformers_modules.")
    assert remote["ctxzoo"] is False

    threshold = float(logits[0, -1].sigmoid().topk(4).values[-1])  # some keys sound at the first step
    rows, out = scratch / "prompt.jsonl", scratch / "out.json"
    rows.write_text(json.dumps({"notes": NOTES}))
    arguments = ["predict", str(folder), "--file", str(rows), "--output", str(out), "--steps", str(STEPS)]
    command_output([*arguments, "--threshold", repr(threshold)])
    expected = continue_roll(model, prompt, STEPS, threshold=threshold)
    assert json.loads(out.read_text()) == {"prompt": NOTES, "continuation": notes_of_roll(expected)}
    assert expected[0].sum() >= 4

    check_card(folder, packed, "{program}\nprint(sorted(probabilities.topk(4).indices.tolist()))")


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, RunResult]:
    """A folder as model_cards/ holds them, of a run that tells a set of the catalogue as its data."""
    folder = tmp_path_factory.mktemp("published")
    training = run(folder, learning_rate=0.02)
    result = execute(training)
    settings = {**result.settings, "config_name": "jsb_chorales"}
    told = replace(result, dataset="ctxzoo-data/polyphonic_music", settings=settings, tag="jsb_chorales")
    write_published_folder(folder / "chorales", training.checkpoint, Entry(result=write_result(told, folder / "told")))
    return folder / "chorales", told


def test_it_is_renewed_without_a_tokenizer_and_with_an_example_of_ours(published: tuple[Path, RunResult]) -> None:
    folder, result = published
    assert not [name for name in check_checkpoint_folder(folder) if "token" in name]
    card = (folder / "README.md").read_text(encoding="utf-8")
    assert "notes = [[27, 43, 46, 51]," in card
    assert "configuration: `jsb_chorales`" in card
    assert list((folder / ".eval_results").iterdir())
    before = (folder / "model.safetensors").read_bytes()
    (folder / "README.md").write_text("old")
    rewrite_card(folder, Entry(result=write_result(result, folder.parent / "told")))
    assert (folder / "model.safetensors").read_bytes() == before
    assert (folder / "README.md").read_text(encoding="utf-8") == card


@pytest.mark.slow
def test_it_opens_in_three_ways(published: tuple[Path, RunResult], tmp_path: Path) -> None:
    check_doors(published[0], tmp_path)
