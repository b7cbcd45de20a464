"""Words predicted from those around them: metrics, limits and programs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from ctxzoo.hub.card_facts import make_sample_facts
from ctxzoo.hub.card_parts import Snippets, format_prediction, format_repo_id_line, format_text_assignment
from ctxzoo.hub.task_card import Metric, TaskCard, describe_vocabulary
from ctxzoo.models.configuration_base import ZooConfig
from ctxzoo.models.tokenization_word import MASK_TOKEN

METRICS = {
    "perplexity": Metric("perplexity", "perplexity of a word, given those around it"),
    "nll": Metric("loss", "negative log-likelihood of a word, given those around it (nats)", is_score=False),
}

WITH_PACKAGE = """\
import ctxzoo  # registers the architecture
import torch
from transformers import AutoModelForMaskedLM, AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained(repo)
model = AutoModelForMaskedLM.from_pretrained(repo)
inputs = tokenizer(text, return_tensors="pt")
with torch.no_grad():
    logits = model(**inputs).logits[inputs["input_ids"] == tokenizer.mask_token_id]
print(tokenizer.decode(logits.argmax(dim=1)))"""

WITHOUT_PACKAGE = """\
import torch
from transformers import AutoModel, AutoTokenizer

options = {"trust_remote_code": True, "revision": "main"}  # better: the commit whose code you have read
tokenizer = AutoTokenizer.from_pretrained(repo, **options)
model = AutoModel.from_pretrained(repo, **options)
with torch.no_grad():
    vectors = model(**tokenizer(text, return_tensors="pt")).last_hidden_state
print(vectors.shape)  # one text, its known words, the width of a word's vector"""

AS_PIPELINE = """\
from transformers import pipeline

fill = pipeline("fill-mask", model=repo, trust_remote_code=True)
print(fill(text, top_k=1))"""


class FillMaskCard(TaskCard):
    name = "fill-mask"
    pipeline_tag = "fill-mask"
    pipeline_at = "transformers:FillMaskPipeline"
    title = "word prediction"
    predictions = "words"
    intended = "Word vectors to start other models from, and studies of which words of a window count."
    not_intended = "Filling gaps in texts for readers: a pretrained masked language model is far better at that."
    metrics = METRICS
    headline = ("perplexity",)
    results_note = "Over all known words of the split, each predicted from those around it, with the whole vocabulary."
    curves = ("nll",)
    drawn: ClassVar = {"perplexity": "perplexity"}
    sample = make_sample_facts("sentences of a small grammar", example={"text": "the old [MASK] often eats bread ."})
    example_keys = ("text", "score", "token_str")
    pipeline_note = "It gives the most probable words at the place of [MASK], and their probabilities:"
    call = '"... [MASK] ..."'

    def list_identity_rows(self, config: ZooConfig) -> list[list[str]]:
        """Return the rows of the first table of a model card, from the config."""
        return [["task", "the word in a place, from the words around it; a vector for each word"]]

    def describe_limits(self, config: ZooConfig, metrics: Mapping[str, float]) -> Iterable[str]:
        """Return sentences of a model card on the limits of the model."""
        yield "Words outside its vocabulary are left out of a text before it is read, and are never predicted."
        yield "It prefers what stood in its training texts, with their prejudices and errors."

    def build_snippets(self, example: Mapping[str, Any], repo_id: str) -> Snippets:
        """Return the example programs of a model card."""
        output = format_prediction(example, ("score", "token", "token_str", "sequence"))
        return Snippets(
            example=f"{format_repo_id_line(repo_id)}\n{format_text_assignment('text', example['text'])}",
            with_package=WITH_PACKAGE,
            without_package=WITHOUT_PACKAGE,
            as_pipeline=f"{AS_PIPELINE}\n# {[output]!r}",
        )

    def predict(self, model: Any, tokenizer: Any, inputs: Mapping[str, str]) -> dict[str, Any]:
        """Predict the word for the mask of a card's example."""
        best: dict[str, Any] = self.build_pipeline(model, tokenizer)(inputs["text"], top_k=1)[0]
        return best

    def parse_example(self, text: str) -> dict[str, Any]:
        """Return the text of `--example`, which holds a mask."""
        return {"text": text}

    def make_builtin_example(self, model: Any, tokenizer: Any) -> dict[str, Any]:
        """Return a sentence with a mask for a card without data."""
        return {"text": f"this is a {tokenizer.mask_token} of your own"}

    def pick_split_example(self, data: Any, split: str) -> dict[str, Any]:
        """Return a text of frequent words, since a text of the corpus may be private."""
        before, after = data.words[:3], data.words[3:6]
        return {"text": " ".join([*before, MASK_TOKEN, *after])}

    def format_example(self, example: Mapping[str, Any]) -> list[str]:
        """Return two lines: the text and the word predicted for its mask."""
        return [f"text: {example['text']}", f"word: {example['token_str']}, score {example['score']:.4f}"]

    def describe_config(self, config: ZooConfig) -> Iterable[str]:
        """Return what `ctxzoo info` prints of a config beside its fields."""
        return describe_vocabulary(config)


CARD = FillMaskCard()
