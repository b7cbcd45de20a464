"""Cards of a user's own data: nothing of the data without being told so, nothing guessed, and every name is text."""

from __future__ import annotations

import html
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from huggingface_hub import ModelCard
from markdown_it import MarkdownIt

from ctxzoo.hub.card import OF_THE_DATA, CardOptions, build_card, make_card_example, set_licence
from ctxzoo.hub.card_parts import escape_markdown, format_code_block, format_code_span
from ctxzoo.hub.push import describe_private_data
from ctxzoo.models.configuration_kernel_encoder import KernelEncoderConfig
from ctxzoo.models.modeling_kernel_encoder import KernelEncoderForRegression
from ctxzoo.models.tokenization_word import build_word_tokenizer
from ctxzoo.tasks.question_answering.card import CARD as QUESTION_ANSWERING
from ctxzoo.tasks.regression.card import CARD as REGRESSION
from ctxzoo.tasks.text_classification.card import CARD as TEXT_CLASSIFICATION
from ctxzoo.tasks.token_classification.card import CARD as TOKEN_CLASSIFICATION
from ctxzoo.tasks.word_embeddings.card import CARD as FILL_MASK
from ctxzoo.training.classification import label_fields
from tests.support.tiny_checkpoint import tiny_model as tiny_reader
from tests.support.tiny_checkpoint import tiny_tokenizer as reader_tokenizer
from tests.support.tiny_tagger import tiny_tagger
from tests.support.tiny_tagger import tiny_tokenizer as tagger_tokenizer
from tests.support.tiny_word_embedding import tiny_model as tiny_embeddings
from tests.support.tiny_word_embedding import tiny_tokenizer as embeddings_tokenizer
from tests.support.toy.configuration_toy import ToyConfig
from tests.support.toy_classifier import registered_toy, toy_data, toy_model, toy_result, toy_tokenizer, write_toy

PRIVATE = "complaints of patients.csv"
HOSTILE = ["a`b``c", "x | y", "<script>alert(1)</script>", "# line\n\n## head", "[l](http://x)", "`"]


@pytest.fixture(autouse=True, scope="module")
def _toy() -> Iterator[None]:
    with registered_toy():
        yield


def regression() -> Any:
    torch.manual_seed(0)
    config = KernelEncoderConfig(
        **{"input_size": 2, "vocab_size": 0, "hidden_size": 8, "num_heads": 2, "num_layers": 1},
        **{"feature_names": ["age", "dose"], "target_name": "pressure"},
    )
    model = KernelEncoderForRegression(config).eval()
    model.scaling.set_offsets_and_scales([50.0, 2.5, 0.0], [1.0, 1.0, 1.0])
    return model


class NoData:
    """Data that must not be looked at."""

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"the card looked at the data: {name}")


@pytest.mark.parametrize(
    ("task", "model", "tokenizer"),
    [
        (TEXT_CLASSIFICATION, toy_model, lambda: build_word_tokenizer(["this", "is", "text"])),
        (TOKEN_CLASSIFICATION, tiny_tagger, tagger_tokenizer),
        (QUESTION_ANSWERING, tiny_reader, reader_tokenizer),
        (FILL_MASK, tiny_embeddings, embeddings_tokenizer),
        (REGRESSION, regression, lambda: None),
    ],
)
def test_an_example_of_private_data_is_ours(task: Any, model: Any, tokenizer: Any) -> None:
    """These problems take their example from the data, where it is published; the others have one of ours for any."""
    built = model()
    options: Any = {"model": built, "tokenizer": tokenizer(), "data": NoData()}
    example = make_card_example(task, PRIVATE, **options, example=None)
    assert set(task.example_keys) <= set(example)
    with pytest.raises(AssertionError, match="looked at the data"):
        make_card_example(task, PRIVATE, **options, example=OF_THE_DATA)


def test_a_text_for_the_example_is_the_users() -> None:
    options: Any = {"model": toy_model(), "tokenizer": toy_tokenizer(), "data": NoData()}
    assert make_card_example(TEXT_CLASSIFICATION, PRIVATE, **options, example="w1 w2")["text"] == "w1 w2"
    asked = QUESTION_ANSWERING.parse_example("Who came? | Anna came.")
    assert asked == {"question": "Who came?", "context": "Anna came."}
    with pytest.raises(ValueError, match=r'expected a question and its context, as "Who came\? \| Anna came\."'):
        QUESTION_ANSWERING.parse_example("Who came?")
    with pytest.raises(ValueError, match="the example in a card of regression is no text"):
        REGRESSION.parse_example("1, 2")


def card(dataset: str = PRIVATE, config: Any = None, **options: Any) -> str:
    example = {"text": "ours ``` # not a heading", "label": "good", "score": 0.5}
    told = CardOptions(**options)
    model_config = config or toy_model().config
    return build_card(
        toy_result(dataset=dataset), model_config, task=TEXT_CLASSIFICATION, example=example, options=told
    )


def test_neither_licence_nor_language_is_guessed() -> None:
    data = ModelCard(card(), ignore_metadata_errors=False).data
    assert (data.license, data.language, data.datasets) == (None, None, None)
    assert "license:" not in card().split("---")[1]
    assert "of these weights: none was chosen" in card()
    named = card(licence="cc-by-4.0", language=("de", "en"))
    data = ModelCard(named, ignore_metadata_errors=False).data
    assert (data.license, data.language) == ("cc-by-4.0", ["de", "en"])
    assert "of these weights: cc-by-4.0; of the code: Apache-2.0." in named
    published = ModelCard(card("sample"), ignore_metadata_errors=False).data
    assert (published.license, published.language) == ("apache-2.0", "en")


def test_a_card_is_given_its_licence_later() -> None:
    later = set_licence(card(), "cc-by-4.0", ["de"])
    now = card(licence="cc-by-4.0", language=("de",))
    assert ModelCard(later).data.to_dict() == ModelCard(now).data.to_dict()
    assert later.split("---", 2)[2] == now.split("---", 2)[2]
    assert ModelCard(set_licence(now, None)).data.to_dict() == ModelCard(now).data.to_dict()


def rendered(text: str) -> str:
    return MarkdownIt("commonmark").enable("table").render(ModelCard(text, ignore_metadata_errors=True).text)


@pytest.mark.parametrize("name", HOSTILE)
def test_names_are_text_and_not_markup(name: str) -> None:
    """A Markdown parser finds the same headings, and the name as it is, but for line breaks."""
    plain = rendered(card())
    config = ToyConfig(vocab_size=19, **label_fields([name, "other"]))
    found = rendered(card(f"{name}.csv", config))
    assert [found.count(f"<{tag}") for tag in ("h1", "h2", "a ", "script")] == [
        plain.count(f"<{tag}") for tag in ("h1", "h2", "a ", "script")
    ]
    line = " ".join(name.split())
    shown = html.escape(line).replace("|", "&amp;#124;")
    assert f"<code>{shown}</code>, <code>other</code>" in found
    assert f"<code>{html.escape(line)}.csv</code>" in found  # in no table


@pytest.mark.parametrize("text", [*HOSTILE, "a\n```\nb", "````", "plain name_1.csv", "_private_", "a*b*c"])
def test_code_and_escapes_render_as_they_are(text: str) -> None:
    line = " ".join(text.split())
    assert MarkdownIt().render(format_code_span(text)) == f"<p><code>{html.escape(line)}</code></p>\n"
    assert MarkdownIt().render(f"x {escape_markdown(text)}") == f"<p>x {html.escape(line)}</p>\n"
    block = MarkdownIt().render(format_code_block(text))
    assert block == f'<pre><code class="language-python">{html.escape(text)}\n</code></pre>\n'


def test_plain_names_stay_as_they_are() -> None:
    for name in ("ctxzoo-data/squad_v2_mini", "sample", "stanfordnlp/imdb", "rows of 2024.csv"):
        assert escape_markdown(name) == name


def test_what_a_checkpoint_of_private_data_holds_is_said(tmp_path: Path) -> None:
    folder = write_toy(tmp_path / "toy", toy_data(tmp_path))
    words = len(json.loads((folder / "tokenizer.json").read_text())["model"]["vocab"])
    (note,) = describe_private_data(folder, card())
    assert f"it holds {words:,} words of the training texts" in note
    assert "its card names no license and no language" in note
    (note,) = describe_private_data(folder, card(licence="mit", language=("de",)))
    assert "names no" not in note
    assert describe_private_data(folder, card("sample")) == []
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "item_names": ["a", "b"], "num_context_rows": 7}))
    (note,) = describe_private_data(folder, card())
    assert "2 item names, 7 rows of the training as they are" in note


def test_the_linear_part_is_named() -> None:
    from ctxzoo.models.configuration_text_baseline import TextBaselineConfig

    without, with_it = (TextBaselineConfig(vocab_size=40, wide_buckets=wide) for wide in (0, 20))
    rows = [dict(map(tuple, TEXT_CLASSIFICATION.list_identity_rows(config))) for config in (without, with_it)]
    assert ["linear part" in one for one in rows] == [False, True]
    assert rows[1]["linear part"].startswith("scores of 20 hashed n-grams")
    assert any("linear classifier of TF-IDF" in line for line in TEXT_CLASSIFICATION.describe_limits(with_it, {}))
    assert not any("linear classifier" in line for line in TEXT_CLASSIFICATION.describe_limits(without, {}))
