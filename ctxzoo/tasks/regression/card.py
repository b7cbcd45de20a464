"""Regression: its metrics, limits and programs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from ctxzoo.hub.card_facts import make_sample_facts
from ctxzoo.hub.card_parts import Snippets, format_repo_id_line
from ctxzoo.hub.task_card import Metric, TaskCard
from ctxzoo.models.configuration_base import ZooConfig
from ctxzoo.models.ops_execution import in_evaluation_mode
from ctxzoo.results.figures import new_figure, save_figure
from ctxzoo.results.result import RunResult

DIGITS = 3  # of what the programs of a card print

WITH_PACKAGE = f"""\
from ctxzoo.tasks.regression import predict_rows

print([round(value, {DIGITS}) for value in predict_rows(repo, rows)])"""

WITHOUT_PACKAGE = f"""\
import torch
from transformers import AutoConfig
from transformers.dynamic_module_utils import get_class_from_dynamic_module

# It runs code of the repository: read it first, and name its commit as `revision` in both calls.
config = AutoConfig.from_pretrained(repo, trust_remote_code=True)
head = next(where for name, where in config.auto_map.items() if name.endswith("ForRegression"))
model = get_class_from_dynamic_module(head, repo).from_pretrained(repo)
predicted = model.predict(torch.tensor(rows, dtype=torch.float64))[:, 0]
print([round(value, {DIGITS}) for value in predicted.tolist()])"""


class RegressionCard(TaskCard):
    name = "regression"
    pipeline_at = "ctxzoo.tasks.regression.prediction:RegressionPipeline"
    title = "regression"
    predictions = "numbers"
    intended = "Predicting the number of rows like those that it was trained on, and comparing kernels of attention."
    not_intended = (
        "Values of features outside the range of the training rows; and limits that must not be crossed: its intervals "
        "hold for most rows, not for each."
    )
    metrics: ClassVar = {
        "rmse": Metric("rmse", "RMSE"),
        "mae": Metric("mae", "MAE"),
        "r2": Metric("r_squared", "R2"),
        "coverage_90": Metric("coverage", "targets within the 90 % interval (%)", is_score=False),
        "half_width_90": Metric("half_width", "half width of the 90 % interval", is_score=False),
    }
    headline = ("rmse", "r2")
    results_note = (
        "In the unit of the target, over the rows of the split. All rows of the data are read as one sequence, the "
        "targets of the training rows alone are learned."
    )
    curves = ("rmse",)
    drawn: ClassVar = {"rmse": "RMSE"}
    sample = make_sample_facts("rows of three numbers, with a wave over one of them")
    example_keys = ("rows", "predicted")

    def list_identity_rows(self, config: ZooConfig) -> list[list[str]]:
        """Return the rows of the first table of a model card, from the config."""
        return [
            ["task", f"the number {config.target_name!r} of each row from {config.input_size} others"],
            [
                "input",
                "`inputs_embeds` (1, rows, features), scaled as the config says; unscaled by `predict`",
            ],
        ]

    def describe_data(self, result: RunResult) -> Iterable[str]:
        """Yield a line on the random split of all rows, if the result is of one."""
        if result.fold is not None:
            yield f"random split {result.fold} of all rows."

    def describe_limits(self, config: ZooConfig, metrics: Mapping[str, float]) -> Iterable[str]:
        """Return sentences of a model card on the limits of the model."""
        yield "What it predicts for a row depends on the rows beside it, and on those of the training, which it keeps."
        errors = getattr(config, "interval_errors", None)
        if errors is None:
            yield "It says one number, and not how sure it is."
        else:
            yield (
                "Its intervals (`ctxzoo predict --interval 90`, `model.get_half_width(90)`) are those of split "
                f"conformal prediction, from the errors on {len(errors):,} validation rows: as wide for every row, "
                "they hold for rows like those, on average over all of them, and a little too rarely, since these rows "
                "chose the best epoch."
            )
        yield (
            "Of tables of numbers gradient boosting or a Gaussian process is often better and trains in seconds; "
            "`ctxzoo train regression` fits one beside it and says which is better."
        )
        yield "Beyond the range of its training rows nothing holds it."

    def build_snippets(self, example: Mapping[str, Any], repo_id: str) -> Snippets:
        """Return the example programs of a model card."""
        return Snippets(
            example=f"{format_repo_id_line(repo_id)}\nrows = {example['rows']}",
            with_package=f"{WITH_PACKAGE}\n# {example['predicted']}",
            without_package=WITHOUT_PACKAGE,
        )

    def make_builtin_example(self, model: Any, tokenizer: Any) -> dict[str, Any]:
        """Return one row, the means of the features."""
        means = model.scaling.offsets_and_scales[0, :-1].tolist()
        return {"rows": [[round(value, DIGITS) for value in means]]}

    def pick_split_example(self, data: Any, split: str) -> dict[str, Any]:
        """Return the first two rows of a split."""
        return {"rows": data.features[data.row_indices(split)[:2]].tolist()}

    def predict(self, model: Any, tokenizer: Any, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """Return what is predicted for `rows`, rounded, and the names of the features and of the target."""
        import torch

        found = model.predict(torch.tensor(inputs["rows"], dtype=torch.float64))[:, 0]
        names = model.config.feature_names or [f"x{place}" for place in range(model.config.input_size)]
        predicted = [round(value, DIGITS) for value in found.tolist()]
        return {"predicted": predicted, "features": names, "target": model.config.target_name}

    def format_example(self, example: Mapping[str, Any]) -> list[str]:
        """Return a line for each row: its features and the predicted target."""
        lines = []
        for row, value in zip(example["rows"], example["predicted"], strict=True):
            features = (f"{name}={number}" for name, number in zip(example["features"], row, strict=True))
            lines.append(f"{', '.join(features)}: {example['target']} {value}")
        return lines

    def draw_figures(self, task: Any, data: Any, example: Mapping[str, Any], folder: Path) -> None:
        """Draw predictions.png: what is predicted for the last split against what was."""
        split = next(name for name in ("test", "validation", "train") if name in data.splits)
        batch = next(iter(data.split_dataloader(split)))
        with in_evaluation_mode(task.model):
            predicted, targets = task._get_predictions_and_targets(
                {name: x.to(task.model.device) for name, x in batch.items()}
            )
        figure = new_figure(4.5, 4.5)
        axes = figure.subplots()
        x, y = targets.cpu().numpy(), predicted.cpu().numpy()
        ends = [float(np.min([x.min(), y.min()])), float(np.max([x.max(), y.max()]))]
        axes.plot(ends, ends, linewidth=0.8, color="grey")
        axes.scatter(x, y, s=9)
        axes.set_xlabel(f"{data.load_checked_data().target_name} of {split} rows", parse_math=False)
        axes.set_ylabel("predicted")
        save_figure(figure, folder / "predictions.png")

    def describe_config(self, config: ZooConfig) -> Iterable[str]:
        """Return what `ctxzoo info` prints of a config beside its fields."""
        yield f"features: {config.input_size}; training rows that it keeps: {config.num_context_rows:,}"


CARD = RegressionCard()
