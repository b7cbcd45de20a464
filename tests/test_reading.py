"""docs/reading: each model in one file is the package's model, and needs torch alone."""

from __future__ import annotations

import ast
import runpy
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pytest
import torch
from torch import nn

from ctxzoo.models.configuration_bidaf import BidafConfig
from ctxzoo.models.configuration_contextualizer import ContextualizerConfig
from ctxzoo.models.configuration_hcrnn import HcrnnConfig
from ctxzoo.models.configuration_lama import LamaConfig
from ctxzoo.models.modeling_bidaf import BidafForQuestionAnswering
from ctxzoo.models.modeling_contextualizer import ContextualizerForSequenceClassification
from ctxzoo.models.modeling_hcrnn import HcrnnForNextItem
from ctxzoo.models.modeling_lama import LamaForSequenceClassification
from tests.support.subprocesses import REPOSITORY_ROOT

READING = REPOSITORY_ROOT / "docs" / "reading"
FILES = sorted(READING.glob("*.py"))


@dataclass
class Case:
    """One model in both versions.

    Attributes:
        reading, package: The models.
        names: Name of a parameter or buffer of the reading version to that of the package.
        read: Gives (logits, loss) of the reading version.
        run: Gives those of the package.
    """

    reading: nn.Module
    package: nn.Module
    names: Mapping[str, str]
    read: Callable[[], tuple[list[torch.Tensor], torch.Tensor]]
    run: Callable[[], tuple[list[torch.Tensor], torch.Tensor]]


def reading_class(name: str, class_name: str) -> Any:
    return runpy.run_path(str(READING / f"{name}.py"))[class_name]


def texts(vocab_size: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Return ids (4, 7) of words and their mask; texts of 7, 4, 1 and 5 words."""
    mask = torch.arange(7) < torch.tensor([[7], [4], [1], [5]])
    return torch.randint(1, vocab_size, (4, 7)) * mask, mask


def of_texts(reading: Any, package: Any, names: Mapping[str, str], vocab_size: int) -> Case:
    (words, mask), labels = texts(vocab_size), torch.tensor([0, 2, 1, 2])

    def run() -> tuple[list[torch.Tensor], torch.Tensor]:
        output = package(words, attention_mask=mask.long(), labels=labels)
        return [output.logits], output.loss

    return Case(reading, package, names, lambda: ([reading(words, mask)], reading.loss(words, mask, labels)), run)


def contextualizer() -> Case:
    config = ContextualizerConfig.of_variant(
        "recurrent", vocab_size=20, word_dim=6, position_dim=4, rank=5, num_steps=4, num_labels=3
    )
    reading = reading_class("contextualizer", "Contextualizer")(20, 3, 6, 4, 5, 4)
    names = {
        "E": "contextualizer.embeddings.words.weight",
        "U": "contextualizer.steps.token_factors",
        "V": "contextualizer.steps.context_factors",
        "W": "contextualizer.steps.feature_factors",
        "W_o": "classifier.weight",
        "b_o": "classifier.bias",
        "fixed_start": "contextualizer.start.drawn",
    }
    return of_texts(reading, ContextualizerForSequenceClassification(config), names, 20)


def lama() -> Case:
    config = LamaConfig.of_variant(
        "lama", vocab_size=20, word_dim=6, recurrent_size=4, num_heads=3, classifier_size=7, num_labels=3
    )
    reading = reading_class("lama", "Lama")(20, 3, 6, 4, 3, 7)
    names = {
        "E.weight": "lama.embeddings.words.weight",
        "W_w": "lama.word_projection.weight",
        "b_w": "lama.word_projection.bias",
        "P": "lama.attention.context_factors",
        "Q": "lama.attention.word_factors",
        "c": "lama.learned_context.vector",
    }
    of_gru = {"W": "weight_ih", "U": "weight_hh", "b_W": "bias_ih", "b_U": "bias_hh"}
    for direction, suffix in (("forward", "_l0"), ("backward", "_l0_reverse")):
        names |= {f"gru_{direction}.{ours}": f"lama.rnn.rnn.{theirs}{suffix}" for ours, theirs in of_gru.items()}
    for ours, theirs in (("W_1", "hidden"), ("W_2", "output")):
        names |= {f"{ours}.{kind}": f"classifier.{theirs}.{kind}" for kind in ("weight", "bias")}
    return of_texts(reading, LamaForSequenceClassification(config), names, 20)


def bidaf() -> Case:
    sizes = {"char_embedding_size": 5, "char_channels": 3, "max_position_embeddings": 12}
    config = BidafConfig.of_variant(
        "learned_char7", vocab_size=20, word_embedding_size=6, hidden_size=4, char_vocab_size=15, **sizes
    )
    package = BidafForQuestionAnswering(config)
    reading = reading_class("bidaf", "Bidaf")(torch.zeros(20, 6), 15, 4, 12, 5, 3)
    names = {
        "E_w": "bidaf.embeddings.words.weight",
        "projection.weight": "bidaf.embeddings.projection.weight",
        "positions": "bidaf.embeddings.position.table",
        "E_c.weight": "bidaf.char_cnn.embedding.weight",
        "w_c": "bidaf.attention_flow.similarity.context_weight",
        "w_q": "bidaf.attention_flow.similarity.question_weight",
        "w_cq": "bidaf.attention_flow.similarity.product_weight",
        "b": "bidaf.attention_flow.similarity.bias",
    }
    layers = {"convolution": "bidaf.char_cnn.convolution", "w_1": "start_from_flow", "v_1": "start_from_modelling"}
    layers |= {"w_2": "end_from_flow", "v_2": "end_from_modelling"}
    layers |= {f"{kind}.{layer}": f"bidaf.highway.{kind}.{layer}" for kind in ("gates", "transforms") for layer in "01"}
    names |= {f"{ours}.{kind}": f"{theirs}.{kind}" for ours, theirs in layers.items() for kind in ("weight", "bias")}
    lstms = {"encoder": "bidaf.encoder", "end_encoder": "end_encoder"}
    lstms |= {f"modelling.{layer}": f"bidaf.modelling.{layer}" for layer in "01"}
    for ours, theirs in lstms.items():
        names |= {
            f"{ours}.lstm.{name}": f"{theirs}.rnn.{name}" for name, _ in package.end_encoder.rnn.named_parameters()
        }

    context, _ = texts(20)
    question = torch.randint(1, 20, (4, 5)) * (torch.arange(5) < torch.tensor([[2], [5], [3], [1]]))
    chars, question_chars = (
        torch.randint(1, 15, (*words.shape, 16)) * (torch.arange(16) < torch.randint(1, 17, (*words.shape, 1)))
        for words in (context, question)
    )
    answers = torch.tensor([[2, 5], [0, 0], [0, 0], [4, 4]])

    def read() -> tuple[list[torch.Tensor], torch.Tensor]:
        start, end = reading(context, chars, question, question_chars)
        return [start, end], reading.loss(start, end, answers)

    def run() -> tuple[list[torch.Tensor], torch.Tensor]:
        output = package(
            context,
            question,
            attention_mask=(context > 0).long(),
            question_attention_mask=(question > 0).long(),
            char_ids=chars,
            question_char_ids=question_chars,
            start_positions=answers[:, 0],
            end_positions=answers[:, 1],
        )
        return [output.start_logits, output.end_logits], output.loss

    return Case(reading, package, names, read, run)


def hcrnn() -> Case:
    config = HcrnnConfig.of_variant("hcrnn3_bi", num_items=12, embedding_size=5, hidden_size=4, num_topics=3)
    reading, package = reading_class("hcrnn", "Hcrnn")(12, 5, 4, 3), HcrnnForNextItem(config)
    of_cell = {
        "M": "memory",
        "A": "topic_item",
        "R": "topic_hidden",
        "v": "topic_vector",
        "D": "drift",
        "b_d": "drift_bias",
    }
    of_cell |= {"U_g": "write_context", "U_z": "update_context"}
    for letter, gate in (("g", "write"), ("z", "update"), ("r", "reset"), ("h", "candidate")):
        of_cell |= {f"W_{letter}": gate, f"b_{letter}": f"{gate}_bias"}
    names = {ours: f"hcrnn.cell.{theirs}" for ours, theirs in of_cell.items()}
    for ours, theirs in (("W_1", "query"), ("W_mu", "mean"), ("W_s", "deviation")):
        names |= {f"{ours}.{kind}": f"hcrnn.topics.{theirs}.{kind}" for kind in ("weight", "bias")}
    of_readout = {
        "W_e": "local.state",
        "W_d": "local.last",
        "v_e": "local.score",
        "G_1": "context",
        "G_2": "last_context",
    }
    names |= {f"{ours}.weight": f"hcrnn.readout.{theirs}.weight" for ours, theirs in of_readout.items()}
    names |= {"W_emb.weight": "hcrnn.items.weight", "B.weight": "head.bilinear.weight"}
    items, labels = texts(13)[0], torch.tensor([3, 12, 1, 7])
    items[0, 3] = items[0, 1]  # an item that comes again

    def run() -> tuple[list[torch.Tensor], torch.Tensor]:
        output = package(items, labels=labels)
        return [output.logits, output.kl], output.loss

    return Case(reading, package, names, lambda: (list(reading(items)), reading.loss(items, labels)), run)


@pytest.mark.parametrize("make", [contextualizer, lama, bidaf, hcrnn], ids=lambda make: make.__name__)
def test_the_reading_version_is_the_model_of_the_package(make: Callable[[], Case]) -> None:
    torch.manual_seed(0)
    case = make()
    reading, package = case.reading.double().eval(), case.package.double().eval()
    ours = dict(reading.named_parameters()) | dict(reading.named_buffers())
    theirs = dict(package.named_parameters()) | dict(package.named_buffers())
    assert case.names.keys() == ours.keys()
    assert sorted(case.names.values()) == sorted(theirs)
    with torch.no_grad():
        for name, value in ours.items():
            value.copy_(theirs[case.names[name]].reshape(value.shape))

    (logits, loss), (expected_logits, expected_loss) = case.read(), case.run()

    assert len(logits) == len(expected_logits)
    for found, expected in zip(logits, expected_logits, strict=True):
        is_padding = expected == torch.finfo(expected.dtype).min
        assert torch.equal(found == -torch.inf, is_padding)
        torch.testing.assert_close(found[~is_padding], expected[~is_padding], rtol=0, atol=1e-10)
    torch.testing.assert_close(loss, expected_loss, rtol=0, atol=1e-10)
    loss.backward()
    expected_loss.backward()
    for name, parameter in reading.named_parameters():
        expected_gradient = theirs[case.names[name]].grad
        assert (parameter.grad is None) == (expected_gradient is None), name
        if expected_gradient is not None:
            assert parameter.grad is not None
            expected = expected_gradient.reshape(parameter.shape)
            torch.testing.assert_close(
                parameter.grad, expected, rtol=0, atol=1e-10, msg=lambda text, name=name: f"{name}: {text}"
            )


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_reading_version_is_one_short_file_that_needs_torch_alone(path: Any) -> None:
    text = path.read_text(encoding="utf-8")
    assert 100 <= len(text.splitlines()) <= 200
    modules = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            modules |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            modules.add(str(node.module))
    assert {module.partition(".")[0] for module in modules} == {"torch"}
