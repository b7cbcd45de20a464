"""Language modelling: its metrics, limits and programs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from ctxzoo.hub.card_facts import make_sample_facts
from ctxzoo.hub.card_parts import Snippets, format_repo_id_line, format_text_assignment
from ctxzoo.hub.task_card import Metric, TaskCard, describe_vocabulary
from ctxzoo.models.configuration_base import ZooConfig
from ctxzoo.tasks.language_modelling.continuation import continue_text

WORDS = 10  # that the programs of a card add

_GENERATE = f"""\
ids = [tokenizer.eos_token_id, *tokenizer(prompt)["input_ids"]]  # a line begins behind the end of another
never = [tokenizer.pad_token_id, tokenizer.unk_token_id]
found = model.generate(torch.tensor([ids]), max_new_tokens={WORDS}, do_sample=False, suppress_tokens=never)
print(tokenizer.decode(found[0, len(ids) :], skip_special_tokens=True))"""

WITH_PACKAGE = f"""\
import ctxzoo  # registers the architecture
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained(repo)
model = AutoModelForCausalLM.from_pretrained(repo)
{_GENERATE}"""

WITHOUT_PACKAGE = f"""\
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

options = {{"trust_remote_code": True, "revision": "main"}}  # better: the commit whose code you have read
tokenizer = AutoTokenizer.from_pretrained(repo, **options)
model = AutoModelForCausalLM.from_pretrained(repo, **options)
{_GENERATE}"""


class LanguageModellingCard(TaskCard):
    name = "language-modelling"
    pipeline_at = "ctxzoo.tasks.language_modelling.continuation:ContinuationPipeline"
    title = "language modelling"
    predictions = "continuations"
    intended = "Scoring texts of the kind that it was trained on by their perplexity, and comparing recurrent cells."
    not_intended = "Writing texts for readers: what it writes is fluent over a few words and means nothing."
    metrics: ClassVar = {
        "perplexity": Metric("perplexity", "perplexity"),
        "nll": Metric("loss", "negative log-likelihood of a token (nats)"),
        "unknown_words": Metric("unknown_words", "unknown words (%)", is_score=False),
    }
    headline = ("perplexity", "nll")
    results_note = (
        "Perplexity is exp of the mean negative log-likelihood over all tokens of the split, the end mark of each line "
        "among them, each in the context of all before it; lower is better. Words outside the vocabulary are one word "
        "for the model; texts with another vocabulary have other perplexities."
    )
    curves = ("perplexity", "nll")
    drawn: ClassVar = {"nll": "nats of a token"}
    sample = make_sample_facts(
        "short reports of people at work, in which a verb agrees with a noun that may stand several words before it",
        example={"prompt": "the old farmers from the village"},
    )
    own_example: ClassVar = {"prompt": "the"}
    example_keys = ("prompt", "continuation")

    def list_identity_rows(self, config: ZooConfig) -> list[list[str]]:
        """Return the rows of the first table of a model card, from the config."""
        return [
            ["task", "which word comes next, from all words before it"],
            ["input", "`input_ids` (batch, words), an end mark behind each line"],
        ]

    def describe_limits(self, config: ZooConfig, metrics: Mapping[str, float]) -> Iterable[str]:
        """Return sentences of a model card on the limits of the model."""
        yield "It knows the words of its vocabulary alone; all others are one word for it."
        yield "What it gives reads like its training text. It is no source of facts."

    def build_snippets(self, example: Mapping[str, Any], repo_id: str) -> Snippets:
        """Return the example programs of a model card."""
        return Snippets(
            example=f"{format_repo_id_line(repo_id)}\n{format_text_assignment('prompt', example['prompt'])}",
            with_package=f"{WITH_PACKAGE}\n# {example['continuation']}",
            without_package=WITHOUT_PACKAGE,
        )

    def parse_example(self, text: str) -> dict[str, Any]:
        """Return the text of `--example` as the prompt to continue."""
        return {"prompt": text}

    def predict(self, model: Any, tokenizer: Any, inputs: Mapping[str, str]) -> dict[str, str]:
        """Return the likeliest words behind a prompt, `continuation`."""
        return {"continuation": continue_text(model, tokenizer, inputs["prompt"], WORDS, temperature=None)}

    def format_example(self, example: Mapping[str, Any]) -> list[str]:
        """Return two lines: the prompt and the model's continuation."""
        return [f"prompt:       {example['prompt']}", f"continuation: {example['continuation']}"]

    def describe_config(self, config: ZooConfig) -> Iterable[str]:
        """Return what `ctxzoo info` prints of a config beside its fields."""
        return describe_vocabulary(config)


CARD = LanguageModellingCard()
