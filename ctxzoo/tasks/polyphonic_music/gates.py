"""What a model of music has learned of its gates: their means and their correlation, before training and after."""

from __future__ import annotations

import copy
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import lightning
import torch
from transformers import PreTrainedModel

from ctxzoo.hub.folder_files import WEIGHTS, compute_sha256
from ctxzoo.hub.task_card import TaskCard
from ctxzoo.models.layers_beta_lstm_gates import GateStatistics
from ctxzoo.models.ops_beta_lstm_gates import CELLS
from ctxzoo.models.ops_execution import in_evaluation_mode
from ctxzoo.results.result import RESULTS_DIR, write_result_file
from ctxzoo.runs.experiment import Experiment, ModelArgs
from ctxzoo.runs.run import Run
from ctxzoo.runs.train import ExperimentRun
from ctxzoo.tasks.polyphonic_music.card import CARD
from ctxzoo.tasks.polyphonic_music.data import PolyphonicMusicDataModule
from ctxzoo.tasks.polyphonic_music.task import PolyphonicMusicTask
from ctxzoo.training.scoring import load_task, score_splits
from ctxzoo.training.task import select_model_inputs

GATES = ("input_gate", "forget_gate")
AVERAGED = ("correlation", *GATES)  # of `GateStatistics` and of `LayerGates`
SQUARED = "_squared"


@dataclass(frozen=True)
class LayerGates:
    """The gates of a layer whose gates are drawn, the mean over all steps of a split.

    Attributes:
        correlation: (H,) correlation of the sampled input and forget gate, for each of H units, estimated from draws.
        input_gate, forget_gate: (H,) mean of the input gate and of the forget gate over all time steps, for each of H
            units.
        input_gate_deviation, forget_gate_deviation: (H,) standard deviation of the expected gate over time steps, for
            each of H units: how strongly it depends on the input; 0: not at all.
        dead_fraction: Fraction, 0 to 1, of the distributions' shape parameters that are so small that almost no
            gradient reaches them.
    """

    correlation: torch.Tensor
    input_gate: torch.Tensor
    forget_gate: torch.Tensor
    input_gate_deviation: torch.Tensor
    forget_gate_deviation: torch.Tensor
    dead_fraction: float

    def metrics(self) -> dict[str, float]:
        """Return by name the means of a layer's gates over its units, and how much the correlation varies over them."""
        return {
            "correlation": float(self.correlation.mean()),
            "correlation_sd": float(self.correlation.std()),
            "positive_units": 100 * float((self.correlation > 0).double().mean()),
            "input_gate": float(self.input_gate.mean()),
            "forget_gate": float(self.forget_gate.mean()),
            "input_gate_deviation": float(self.input_gate_deviation.mean()),
            "forget_gate_deviation": float(self.forget_gate_deviation.mean()),
            "dead_fraction": 100 * self.dead_fraction,
        }


def gates_of_split(
    model: PreTrainedModel,
    data: PolyphonicMusicDataModule,
    split: str = "test",
    *,
    samples: int = 50,
    generator: torch.Generator | None = None,
) -> list[LayerGates]:
    """Run a recurrent model over all pieces of a split and return statistics of each layer's gates.

    Args:
        model: Beta-LSTM with a head for polyphonic music, unidirectional.
        data: DataModule after its `setup`.
        split: Name of the split, such as "test".
        samples: Number of draws at each time step from which the correlation of the gates is estimated; default 50.
        generator: Random number generator for the draws, on the CPU; None: one with a fixed seed for each batch.

    Raises:
        ValueError: no such split; a cell whose gates are not drawn.
    """
    encoder: Any = model.base_model
    sums: list[dict[str, torch.Tensor]] = []
    dead, steps = [], 0.0
    with in_evaluation_mode(model):
        for batch in data.split_dataloader(split):
            inputs = {name: value for name, value in select_model_inputs(batch).items() if name != "labels"}
            x, mask = encoder.embeddings(None, inputs["attention_mask"], inputs["inputs_embeds"])
            layers = encoder.rnn.encode(x, mask=mask).statistics(samples, generator)
            if any(layer_gates.correlation is None for layer_gates in layers):
                raise ValueError(f"cell {encoder.config.cell!r} draws no gates, so that none are correlated")
            weight = float(mask.sum())
            of_batch = [_sum_gate_statistics(layer_gates) for layer_gates in layers]
            sums = of_batch if not sums else [_add_values(*pair) for pair in zip(sums, of_batch, strict=True)]
            dead.append([layer_gates.dead_fraction * weight for layer_gates in layers])
            steps += weight
    return [
        _build_layer_gates({name: total / steps for name, total in layer.items()}, dead_fraction=sum(of_layer) / steps)
        for layer, of_layer in zip(sums, zip(*dead, strict=True), strict=True)
    ]


def _sum_gate_statistics(statistics: GateStatistics) -> dict[str, torch.Tensor]:
    """Sum the statistics and squares of the gates over the steps of a batch, (H,) in float64; padding adds 0."""
    values = {name: getattr(statistics, name).double() for name in AVERAGED}
    values |= {f"{name}{SQUARED}": values[name].square() for name in GATES}
    return {name: value.sum(dim=(0, 1)) for name, value in values.items()}


def _build_layer_gates(means: dict[str, torch.Tensor], dead_fraction: float) -> LayerGates:
    """Build the statistics of one layer's gates from the means of the gates and of their squares; the latter are taken
    out of `means`.
    """
    deviations = {
        f"{name}_deviation": (means.pop(f"{name}{SQUARED}") - means[name].square()).clamp(min=0).sqrt()
        for name in GATES
    }
    return LayerGates(**means, **deviations, dead_fraction=dead_fraction)


def _add_values(first: dict[str, torch.Tensor], second: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Return the sums of the tensors that have the same name in two dicts."""
    return {name: value + second[name] for name, value in first.items()}


def rebuild_initial_model(model: PreTrainedModel, seed: int) -> PreTrainedModel:
    """Return a new model with the weights that the model had before its training with this seed.

    Args:
        model: Trained model, whose configuration is used.
        seed: Seed of the training run, to which torch's global seed is set.
    """
    lightning.seed_everything(seed, verbose=False)
    start: PreTrainedModel = PolyphonicMusicTask.auto_class.from_config(model.config)
    return start


def set_gates_to_half(model: PreTrainedModel) -> PreTrainedModel:
    """Return a copy of a model in which every gate is 0.5 at every step.

    The Gamma variables of its gates have one shape, so that the ratios of their means are a half.

    Args:
        model: Beta-LSTM for polyphonic music whose cell is one of the Beta cells.

    Raises:
        ValueError: another cell.
    """
    config: Any = model.config
    cell = CELLS[config.cell]
    if not cell.has_gamma_gates:
        raise ValueError(f"cell {config.cell!r} has no Gamma variables; expected one of the Beta cells")
    even = copy.deepcopy(model)
    encoder: Any = even.base_model
    with torch.no_grad():
        for parameter in encoder.rnn.parameters():
            parameter[: cell.blocks * config.hidden_size] = 0  # the rows of the gates come first
    return even


@dataclass(frozen=True, kw_only=True)
class GatesModel(ModelArgs):
    """The model whose gates are read.

    Args:
        samples: Number of draws at each time step from which the correlation of the gates is estimated.
        weights: First 16 hexadecimal digits of the SHA-256 hash of the model's weights.
    """

    samples: int
    weights: str


@dataclass(frozen=True, kw_only=True)
class GatesRun(Run):
    """The gates of a trained model, and of the same model before its training, on a split.

    The results file has for each layer what `LayerGates.metrics` gives, as ``test/layer1/correlation`` after training
    and ``test/layer1/start/correlation`` before; and of a Beta cell the scores as it is, ``test/nll``, and with gates
    of a half, ``test/even_gates/nll``.

    Attributes:
        recipe, commit, results_dir: Name of the recipe, commit of the code, and folder of results files.
        trained: Finished training run, whose checkpoint, data and split are used.
        samples: Number of draws at each time step from which the correlation of the gates is estimated.
    """

    card: ClassVar[TaskCard] = CARD
    reads: ClassVar[tuple[str, ...]] = ("config_name", "samples", "weights")

    recipe: str
    commit: str
    trained: ExperimentRun
    samples: int
    results_dir: str = RESULTS_DIR

    @property
    def weights_file(self) -> Path:
        """The file of the trained weights.

        Raises:
            FileNotFoundError: there is none.
        """
        trained = self.trained
        file = trained.checkpoint / WEIGHTS
        if not file.is_file():
            recipe = trained.experiment.recipe
            raise FileNotFoundError(f"no checkpoint in {trained.checkpoint}; train it with recipes/{recipe}.py")
        return file

    @property
    def experiment(self) -> Experiment:
        """The experiment of the training, for the checkpoint's present weights; raises as `weights_file` does."""
        trained = self.trained.experiment
        model = GatesModel(
            architecture=trained.model.architecture,
            variant=trained.model.variant,
            row=trained.model.row,
            samples=self.samples,
            weights=compute_sha256(self.weights_file)[:16],
        )
        places = trained.run.copy_with({"results_dir": self.results_dir})
        return replace(trained, recipe=self.recipe, commit=self.commit, model=model, run=places)

    def work(self, *, resume: bool) -> None:
        """Measure the gates of the trained model and of its initial weights, and write the result file."""
        started, split, seed = time.perf_counter(), self.split, self.experiment.seed
        data = self.trained.build_data()
        data.setup()
        after = PolyphonicMusicTask.auto_class.from_pretrained(str(self.trained.checkpoint))
        before = rebuild_initial_model(after, seed)
        generator = torch.Generator().manual_seed(seed)
        metrics: dict[str, float] = {}
        for model, prefix in ((after, ""), (before, "start/")):
            layers = gates_of_split(model, data, split, samples=self.samples, generator=generator)
            for number, layer in enumerate(layers, start=1):
                values = layer.metrics().items()
                metrics |= {f"{split}/layer{number}/{prefix}{name}": value for name, value in values}
        if CELLS[after.config.cell].has_gamma_gates:
            for model, prefix in ((after, ""), (set_gates_to_half(after), "even_gates/")):
                task = load_task(PolyphonicMusicTask, model)
                scores = score_splits(task, data, (split,), precision="32-true", accelerator="cpu", progress=False)
                metrics |= {f"{split}/{prefix}{name}": value for name, value in scores[split].items()}
        numbers = sum(parameter.numel() for parameter in after.parameters())
        result = self.build_result(
            metrics=metrics,
            parameters={"trainable": numbers, "total": numbers},
            fingerprint=data.fingerprint,
            seconds=time.perf_counter() - started,
        )
        write_result_file(result, self.results_file)
