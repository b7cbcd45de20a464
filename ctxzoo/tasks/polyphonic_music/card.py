"""Polyphonic music: its metrics, limits and programs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, ClassVar

import torch

from ctxzoo.hub.card_facts import make_sample_facts
from ctxzoo.hub.card_parts import Snippets, format_repo_id_line
from ctxzoo.hub.task_card import Metric, TaskCard
from ctxzoo.models.configuration_base import ZooConfig
from ctxzoo.results.result import RunResult
from ctxzoo.tasks.polyphonic_music.continuation import continue_roll
from ctxzoo.tasks.polyphonic_music.picture import draw_roll
from ctxzoo.tasks.polyphonic_music.rolls import roll_of_notes

# Four steps of ours, C major to G major, so that cards hold no step of a dataset.
EXAMPLE = [[27, 43, 46, 51], [27, 43, 48, 51], [29, 41, 46, 50], [34, 41, 46, 50]]
LIKELIEST = 4  # keys that the programs of a card show
CONSTANT_FROM = 1.0  # weight of the prior from which gates learn nothing, see results/music_gates
# Nats of a step of the published model of the chorales, and with both gates set to a half: `test/nll` and
# `test/even_gates/nll` of results/music_gates/bibeta5_prior-polyphonic_music-test-seed0-jsb_chorales.json.
WITH_ITS_GATES, WITH_EVEN_GATES = 8.3231, 8.3237
PICTURE_PROMPT, PICTURE_STEPS = 16, 48  # steps of roll.png

_READ = """\
roll = torch.zeros(1, len(notes), 88)
for step, keys in enumerate(notes):
    roll[0, step, keys] = 1
with torch.no_grad():
    probabilities = model(inputs_embeds=roll).logits.sigmoid()[0, -1]"""

WITH_PACKAGE = f"""\
import ctxzoo  # registers the architecture
import torch
from transformers import AutoModelForTokenClassification

model = AutoModelForTokenClassification.from_pretrained(repo)
{_READ}
print(sorted(probabilities.topk({LIKELIEST}).indices.tolist()))"""

WITHOUT_PACKAGE = f"""\
import torch
from transformers import AutoModelForTokenClassification

options = {{"trust_remote_code": True, "revision": "main"}}  # better: the commit whose code you have read
model = AutoModelForTokenClassification.from_pretrained(repo, **options)
{_READ}
print(probabilities)  # of each of the 88 keys, the lowest first, to sound at the next step"""


class PolyphonicMusicCard(TaskCard):
    name = "polyphonic-music"
    pipeline_at = "ctxzoo.tasks.polyphonic_music.continuation:MusicPipeline"
    title = "polyphonic music"
    predictions = "continuations"
    intended = (
        "Predicting and continuing music of the kind that it was trained on, a step at a time, and comparing "
        "recurrent cells."
    )
    not_intended = (
        "Music with durations, dynamics or tempo, which it does not read, and scores that are sold as a person's."
    )
    metrics: ClassVar = {
        "nll": Metric("loss", "negative log-likelihood of a step (nats)"),
        "frame_accuracy": Metric("accuracy", "frame accuracy"),
    }
    headline = ("nll", "frame_accuracy")
    results_note = (
        "The negative log-likelihood is the sum over the 88 keys of a step, the mean over all steps of the split that "
        "have one before them; lower is better. Frame accuracy, in percent: of the keys that sound or are predicted "
        "with a probability above a half, those that are both."
    )
    curves = ("nll", "frame_accuracy")
    drawn: ClassVar = {"nll": "nats of a step"}
    sample = make_sample_facts("four voices over chords that follow each other as in many songs")
    own_example: ClassVar = {"notes": EXAMPLE}
    example_keys = ("notes", "next")

    def list_identity_rows(self, config: ZooConfig) -> list[list[str]]:
        """Return the rows of the first table of a model card, from the config."""
        return [
            ["task", "which of 88 keys sound at the next step, from all steps before it"],
            ["input", "`inputs_embeds` (batch, steps, 88): 1 for a key that sounds, 0 the A of MIDI note 21"],
        ]

    def describe_data(self, result: RunResult) -> Iterable[str]:
        """Yield a line that names the configuration of the dataset, if it has one."""
        name = result.settings.get("config_name")
        if name:
            yield f"configuration: `{name}`."

    def describe_limits(self, config: ZooConfig, metrics: Mapping[str, float]) -> Iterable[str]:
        """Return sentences of a model card on the limits of the model."""
        yield "It knows which keys sound, not whether they were struck again, how loud, and on which instrument."
        yield (
            "Given the past it draws the keys of a step each by itself: chords that exclude each other may be mixed "
            "where it is unsure."
        )
        yield "A step is as long as in its training data; music at another grid is another language to it."
        if getattr(config, "kl_lambda", 0) >= CONSTANT_FROM:
            yield (
                "With so heavy a prior its gates are constant: about a half at every step, whatever it reads. Of the "
                f"published model of the chorales, both gates set to a half give {WITH_EVEN_GATES:.4f} nats of a step "
                f"in place of {WITH_ITS_GATES:.4f}. It shows what noise in training does, not what gates learn."
            )

    def build_snippets(self, example: Mapping[str, Any], repo_id: str) -> Snippets:
        """Return the example programs of a model card."""
        notes = f"notes = {example['notes']}  # of each step the keys that sound, 0 to 87"
        return Snippets(
            example=f"{format_repo_id_line(repo_id)}\n{notes}",
            with_package=f"{WITH_PACKAGE}\n# {example['next']}",
            without_package=WITHOUT_PACKAGE,
        )

    def predict(self, model: Any, tokenizer: Any, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """Return the likeliest keys of the next step, `next`."""
        roll = torch.from_numpy(roll_of_notes(inputs["notes"])).float().unsqueeze(0)
        with torch.no_grad():
            logits = model(inputs_embeds=roll.to(model.device, model.dtype)).logits[0, -1]
        return {"next": sorted(logits.topk(LIKELIEST).indices.tolist())}

    def format_example(self, example: Mapping[str, Any]) -> list[str]:
        """Return two lines: the steps given and the likeliest keys of the next step."""
        return [f"steps: {example['notes']}", f"likeliest keys of the next: {example['next']}"]

    def draw_figures(self, task: Any, data: Any, example: Mapping[str, Any], folder: Path) -> None:
        """Draw roll.png, the beginning of a validation piece, or of a training piece, as the model goes on with it."""
        pieces = data.pieces("validation" if "validation" in data.splits else "train")
        prompt = pieces.roll(0)[:PICTURE_PROMPT]
        continuation = continue_roll(task.model, prompt, PICTURE_STEPS, generator=torch.Generator().manual_seed(0))
        draw_roll(prompt, continuation, folder / "roll.png", title="a piece, and how the model goes on (drawn)")

    def describe_config(self, config: ZooConfig) -> Iterable[str]:
        """Return what `ctxzoo info` prints of a config beside its fields."""
        yield f"keys: reads {getattr(config, 'input_size', config.num_labels)}, predicts {config.num_labels}"


CARD = PolyphonicMusicCard()
