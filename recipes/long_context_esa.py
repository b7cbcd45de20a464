"""What attention in linear time can look up, by length, and what only attention to pairs can learn: generated tasks.

    python recipes/long_context_esa.py                                  all: n = 64, 128 and 256
    python recipes/long_context_esa.py --probes recall --lengths 512    one of them, longer
    python recipes/long_context_esa.py --dataset sample --tiny          does it run? (seconds)
    python recipes/long_context_esa.py --resume                         what is finished is kept

copy: tokens, a mark, and the tokens again, which are to be told. recall: keys, each beside its value, and then keys
whose values are to be told (associative recall); a quarter as many keys as steps. Both train a causal model of two
layers, softmax attention (dot) beside the feature maps of esa. marked_product: 16 signs, two of them marked; whether
their product is 1. One layer, one head, no network. All sequences are drawn anew; training and test draw with different
seeds.
"""

from __future__ import annotations

import ctxzoo.openmp  # noqa: F401  before torch is loaded

import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Any, ClassVar, Literal

import torch
from rich.console import Console
from rich.table import Table
from torch import nn
from torch.nn import functional as F

from ctxzoo.models import ARCHITECTURES
from ctxzoo.models.layers_encoder import MultiHeadAttention
from ctxzoo.results.environment import git_commit
from ctxzoo.results.result import RESULTS_DIR, RunResult, write_result_file
from ctxzoo.runs.experiment import DataArgs, Experiment, ModelArgs, OptimizerArgs, RunArgs
from ctxzoo.runs.recipe import run_recipe
from ctxzoo.runs.run import Run, execute
from ctxzoo.training.arguments import POSITIVE, SEED, SIZE, Args, Range, number_field

RECIPE = "long_context_esa"
WORDS = 16  # keys, and as many values
IGNORED = -100
TEST_SEED = 10**6
PROBES = ("copy", "recall", "marked_product")

# Attention -> the architecture, and fields of its config.
LOOKUPS: Mapping[str, tuple[str, dict[str, Any]]] = MappingProxyType(
    {
        "dot": ("kernel_encoder", {"attention": "dot"}),
        **{name: ("linear_encoder", {"feature_map": name}) for name in ("favor", "learned", "elu")},
    }
)
PAIRS: Mapping[str, tuple[str, dict[str, Any]]] = MappingProxyType(
    {
        "dot": ("kernel_encoder", {"attention": "dot"}),
        **{name: ("higher_order_encoder", {"order_type": name}) for name in ("trilinear", "volume", "factorised")},
    }
)


def draw_copy_sequences(count: int, length: int, generator: torch.Generator) -> tuple[torch.Tensor, torch.Tensor]:
    """Draw sequences for the copy task: words, a mark, and the same words again.

    Returns ids and labels (count, length); labels are the (length - 1) / 2 repeated words, and `IGNORED` elsewhere.
    """
    half = (length - 1) // 2
    words = torch.randint(2, 2 + WORDS, (count, half), generator=generator)
    ids = torch.cat((words, torch.ones(count, 1, dtype=torch.int64), words), dim=1)
    labels = torch.full_like(ids, IGNORED)
    labels[:, half + 1 :] = words
    return ids, labels


def draw_recall_sequences(count: int, length: int, generator: torch.Generator) -> tuple[torch.Tensor, torch.Tensor]:
    """Draw sequences for associative recall: keys with values, some of which are asked for later.

    Returns steps (count, length, 2), a key and its value each, and labels (count, length), `IGNORED` where none is
    asked.

    There are length / 4 keys; the first half of a sequence gives each of them twice, with a value of its own from 1 on.
    The other steps ask for keys, with 0 for the value; the labels are the values less 1.
    """
    num_keys = length // 4
    of_key = torch.randint(0, WORDS, (count, num_keys), generator=generator)
    keys = torch.rand(count, 2 * num_keys, generator=generator).argsort(dim=1) % num_keys
    asked_keys = torch.randint(0, num_keys, (count, length - 2 * num_keys), generator=generator)
    pairs = torch.stack((keys, of_key.gather(1, keys) + 1), dim=2)
    questions = torch.stack((asked_keys, torch.zeros_like(asked_keys)), dim=2)
    labels = torch.full((count, length), IGNORED)
    labels[:, 2 * num_keys :] = of_key.gather(1, asked_keys)
    return torch.cat((pairs, questions), dim=1), labels


def draw_marked_products(count: int, generator: torch.Generator) -> tuple[torch.Tensor, torch.Tensor]:
    """Draw sequences whose class is the product of two marked tokens, among 16 tokens of -1 or 1.

    Returns steps (count, 17, 3), the first of which asks for the class, and the classes (count,), 0 or 1.

    The class is 1 where the product of the two marked tokens is.
    """
    signs = 2 * torch.randint(0, 2, (count, 16), generator=generator) - 1
    marked = torch.rand(count, 16, generator=generator).argsort(dim=1) < 2
    asking = torch.tensor([0.0, 0.0, 1.0]).expand(count, 1, 3)
    steps = torch.stack((signs.float(), marked.float(), torch.zeros(count, 16)), dim=2)
    return torch.cat((asking, steps), dim=1), (torch.where(marked, signs, 1).prod(dim=1) > 0).long()


class Recaller(nn.Module):
    """A causal encoder of keys and their values: steps (B, n, 2) to scores of the values (B, n, `WORDS`)."""

    def __init__(self, num_keys: int, architecture: str, fields: Mapping[str, Any]) -> None:
        """Build embeddings of keys and values, a causal encoder, and the readout; `fields` are the encoder's."""
        super().__init__()
        definition, width = ARCHITECTURES[architecture], fields["hidden_size"]
        self.keys = nn.Embedding(num_keys, width)
        self.values = nn.Embedding(1 + WORDS, width)
        encoder: Any = definition.model_classes["AutoModel"]
        self.encoder = encoder(definition.config_class(input_size=width, **fields))
        self.readout = nn.Linear(width, WORDS)

    def forward(self, steps: torch.Tensor) -> torch.Tensor:
        """Return the scores of the values (B, n, `WORDS`) for steps (B, n, 2)."""
        read = self.keys(steps[..., 0]) + self.values(steps[..., 1])
        scores: torch.Tensor = self.readout(self.encoder(inputs_embeds=read).last_hidden_state)
        return scores


class OneLayer(nn.Module):
    """One layer of one head without a network, and a linear readout where the sequence asks: (B, n, 3) to (B, 2)."""

    def __init__(self, architecture: str, fields: Mapping[str, Any], width: int) -> None:
        """Build one head of an architecture's attention between a linear embedding and a readout."""
        super().__init__()
        definition = ARCHITECTURES[architecture]
        encoder: Any = definition.model_classes["AutoModel"]
        config = definition.config_class(hidden_size=width, num_heads=1, **fields)
        self.embed = nn.Linear(3, width)
        self.heads = MultiHeadAttention(width, 1, encoder.make_attention(config, 0), 0.2)
        self.readout = nn.Linear(width, 2)
        for layer in (self.heads.query, self.heads.key, self.heads.value):
            nn.init.normal_(layer.weight, std=width**-0.5)

    def forward(self, steps: torch.Tensor) -> torch.Tensor:
        """Return the scores of both classes (B, 2) for steps (B, n, 3)."""
        mask = torch.ones(steps.shape[:2], dtype=torch.bool)
        scores: torch.Tensor = self.readout(self.heads(self.embed(steps), mask, False)[0][:, 0])
        return scores


@dataclass(frozen=True, kw_only=True)
class ProbeData(DataArgs):
    """What is drawn.

    Args:
        probe: Name of the synthetic task, one of `PROBES`: copy, recall, marked_product.
        length: Length of the sequences in steps; always 17 for marked_product.
        steps: Number of training steps, each on newly generated sequences.
        test_size: Number of generated test sequences.
    """

    probe: str
    length: int
    steps: int
    test_size: int

    @property
    def file_name_part(self) -> str:
        """The task and the length, as they stand in names of results files."""
        return f"{self.probe}-n{self.length}"


@dataclass(frozen=True, kw_only=True)
class ProbeModel(ModelArgs):
    """What is trained; the variant is the attention, a name of `LOOKUPS` or `PAIRS`.

    Args:
        width: Width of the model, the dimension of a step's representation.
    """

    width: int


@dataclass(frozen=True)
class ProbeRun(Run):
    """One training on one probe.

    Attributes:
        experiment: Experiment that gives task, model, seed and training steps; of the optimizer, only the learning rate
            counts.
    """

    reads: ClassVar[tuple[str, ...]] = (
        *("probe", "length", "steps", "batch_size", "test_size"),
        *("width", "learning_rate"),
    )

    experiment: Experiment

    def work(self, *, resume: bool) -> None:
        """Train a model on newly drawn sequences, score it on test sequences, and write the results file."""
        started, settings, seed = time.perf_counter(), self.settings, self.experiment.seed
        probe, learning_rate = settings["probe"], settings["learning_rate"]
        torch.manual_seed(seed)
        model = self.build_model().train()
        optimizer = torch.optim.AdamW(model.parameters(), lr=learning_rate, weight_decay=0.0)
        generator = torch.Generator().manual_seed(seed)
        for step in range(settings["steps"]):
            for group in optimizer.param_groups:
                group["lr"] = learning_rate * min(1.0, (step + 1) / 100)
            scores, labels = self.score_drawn_sequences(model, settings["batch_size"], generator)
            optimizer.zero_grad()
            F.cross_entropy(scores, labels).backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
        accuracy = self.compute_test_accuracy(model.eval(), torch.Generator().manual_seed(TEST_SEED + seed))
        numbers = sum(parameter.numel() for parameter in model.parameters())
        result = self.build_result(
            metrics={"test/accuracy": accuracy},
            parameters={"trainable": numbers, "total": numbers},
            fingerprint=f"{probe}, drawn with seed {seed}",
            seconds=time.perf_counter() - started,
        )
        write_result_file(result, self.results_file)

    def build_model(self) -> nn.Module:
        """Return the untrained model for the run's generated task."""
        settings = self.settings
        probe, width = settings["probe"], settings["width"]
        if probe == "marked_product":
            return OneLayer(*PAIRS[self.variant], width)
        fields = {"hidden_size": width, "num_heads": 4, "num_layers": 2, "position": "rotary", "causal": True}
        architecture, variant_fields = LOOKUPS[self.variant]
        fields.update(variant_fields)
        if probe == "recall":
            return Recaller(settings["length"] // 4, architecture, fields)
        definition = ARCHITECTURES[architecture]
        build: Any = definition.model_classes["AutoModelForCausalLM"]
        model: nn.Module = build(definition.config_class(vocab_size=2 + WORDS, word_dim=width, **fields))
        return model

    def score_drawn_sequences(
        self, model: nn.Module, count: int, generator: torch.Generator
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Draw `count` sequences; return the scores (N, classes) at the N steps that count, and their classes (N,)."""
        probe, length = self.settings["probe"], self.settings["length"]
        if probe == "marked_product":
            steps, labels = draw_marked_products(count, generator)
            return model(steps), labels
        if probe == "recall":
            steps, labels = draw_recall_sequences(count, length, generator)
            is_scored = labels != IGNORED
            return model(steps)[is_scored], labels[is_scored]
        ids, labels = draw_copy_sequences(count, length, generator)
        following = labels[:, 1:]
        is_scored = following != IGNORED
        return model(ids).logits[:, :-1][is_scored], following[is_scored]

    @torch.no_grad()
    def compute_test_accuracy(self, model: nn.Module, generator: torch.Generator) -> float:
        """Return the percentage of right predictions in newly drawn test sequences."""
        right = total = 0
        size = self.settings["test_size"]
        for begin in range(0, size, 100):
            scores, labels = self.score_drawn_sequences(model, min(100, size - begin), generator)
            right += int((scores.argmax(dim=-1) == labels).sum())
            total += len(labels)
        return 100 * right / total


@dataclass(frozen=True, kw_only=True)
class Settings(Args):
    """What is trained.

    Args:
        dataset: Name of the data; only "sample", since everything is generated.
        probes: Names of the synthetic tasks: copy, recall, marked_product.
        attentions: Names of attentions to compare; none: those that suit each task.
        lengths: Lengths of the sequences for copy and recall, in steps, 8 or more.
        seeds: Seeds of all random draws; each gives a run of its own.
        steps: Number of training steps.
        batch_size: Number of sequences in a batch.
        learning_rate: Peak learning rate of the optimizer, above 0.
        width: Width of the model, the dimension of a step's representation.
        test_size: Number of generated test sequences.
        tiny: Whether only a few training steps are run, to check that everything works.
        resume: Whether finished runs with the same settings are kept.
        output_dir: Folder of lock files.
        results_dir: Folder of results files, one JSON file for each run.
    """

    dataset: Literal["sample"] = "sample"
    probes: tuple[str, ...] = PROBES
    attentions: tuple[str, ...] = ()
    lengths: tuple[int, ...] = number_field((64, 128, 256), Range(8))
    seeds: tuple[int, ...] = number_field((0,), SEED)
    steps: int = number_field(1000, SIZE)
    batch_size: int = number_field(32, SIZE)
    learning_rate: float = number_field(3e-3, POSITIVE)
    width: int = number_field(64, SIZE)
    test_size: int = number_field(500, SIZE)
    tiny: bool = False
    resume: bool = False
    output_dir: str = "runs"
    results_dir: str = RESULTS_DIR


def build_experiment(settings: Settings, probe: str, length: int, variant: str) -> Experiment:
    """Return the experiment with one attention on a generated task of some sequence length."""
    architecture, _ = (PAIRS if probe == "marked_product" else LOOKUPS)[variant]
    return Experiment(
        problem="lookup",
        recipe=RECIPE,
        data=ProbeData(
            probe=probe,
            length=length,
            steps=settings.steps,
            batch_size=settings.batch_size,
            test_size=settings.test_size,
        ),
        model=ProbeModel(architecture=architecture, variant=variant, width=settings.width),
        optimizer=OptimizerArgs(learning_rate=settings.learning_rate),
        run=RunArgs(output_dir=settings.output_dir, results_dir=settings.results_dir),
    )


def main(settings: Settings) -> None:
    """Train and score every attention on every generated task, and print a table."""
    for probe in settings.probes:
        if probe not in PROBES:
            raise ValueError(f"probes: {probe!r} is not one of {', '.join(PROBES)}")
    attentions = {*LOOKUPS, *PAIRS}
    for name in settings.attentions:
        if name not in attentions:
            raise ValueError(f"attentions: {name!r} is not one of {', '.join(sorted(attentions))}")
    if settings.tiny:
        settings = settings.copy_with({"steps": 3, "batch_size": 4, "test_size": 8, "lengths": (12,)})
    commit = git_commit()
    results: dict[tuple[str, int, str], list[RunResult]] = {}
    work = partial(execute, resume=settings.resume)
    for probe in settings.probes:
        pairs = probe == "marked_product"
        for length in [17] if pairs else settings.lengths:
            for variant in PAIRS if pairs else LOOKUPS:
                if settings.attentions and variant not in settings.attentions:
                    continue
                experiment = build_experiment(settings, probe, length, variant).copy_with(commit=commit)
                results[probe, length, variant] = [
                    work(ProbeRun(experiment.copy_with(seed=seed))) for seed in settings.seeds
                ]
    table = Table("probe", "n", "attention", "accuracy", "seconds", title="generated tasks: test accuracy (%)")
    for (probe, length, variant), runs in results.items():
        accuracies = " ".join(f"{run.metrics['test/accuracy']:.1f}" for run in runs)
        table.add_row(probe, str(length), variant, accuracies, f"{runs[0].wall_seconds:.0f}")
    Console().print(table)


if __name__ == "__main__":
    run_recipe(Settings, main, __doc__)
