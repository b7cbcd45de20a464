"""Language models for Lightning: the likelihood of every word given all before it, of a split and of each line."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.distributed
from torch.nn import functional as F
from torchmetrics import MeanMetric
from transformers import AutoModelForCausalLM, PreTrainedModel

from ctxzoo.data.bucketing import get_rank_and_world_size
from ctxzoo.data.text_columns import ColumnNames
from ctxzoo.tasks.language_modelling.data import LanguageModellingDataModule
from ctxzoo.training.optimizers import OptimizerArgs
from ctxzoo.training.scoring import build_scoring_trainer, load_task, load_tokenizer, score_splits
from ctxzoo.training.task import Scores, ZooTask

State = tuple[tuple[torch.Tensor, ...], ...]  # tensors of each layer, (B, ...) each
CARRIED = "carried_state"  # in a Lightning checkpoint, of the streams of all processes


class LanguageModellingScores(Scores):
    """Perplexity and what it is made of, over all tokens of a split, the end marks among them.

    `nll`: nats of a token, the mean over all tokens and not a mean of windows' means. `perplexity`: exp(nll).
    `unknown_words`: percentage of the tokens that are of words outside the vocabulary, all of them one word for the
    model: the more there are, the easier is the text.
    """

    def __init__(self) -> None:
        super().__init__()
        # Other strategies leave tokens with NaN out of the mean. This one knows no weights, so it gets every token's.
        self.nll = MeanMetric(nan_strategy="disable")
        self.unknown = MeanMetric(nan_strategy="disable")

    def update(self, losses: torch.Tensor, unknown: torch.Tensor) -> None:
        """Add the losses of tokens, in nats, and a tensor of the same shape that says which words are unknown."""
        self.nll.update(losses)
        self.unknown.update(unknown.float())

    def compute(self) -> dict[str, float]:
        """Return the scores, by name, over all that was added."""
        nll = self.nll.compute().double()
        return {
            "perplexity": float(nll.exp()),
            "nll": float(nll),
            "unknown_words": 100.0 * float(self.unknown.compute()),
        }


def compute_token_losses(logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """Return the loss (B, n) of each target word in nats, from logits (B, n, V) and target ids (B, n)."""
    logits = logits if logits.dtype == torch.float64 else logits.float()
    # Flat, since along another dimension than the last a softmax takes five times as long on a CPU.
    return F.cross_entropy(logits.flatten(0, 1), targets.flatten(), reduction="none").view_as(targets)


class LanguageModellingTask(ZooTask):
    """Trains and scores a model that predicts the next word, of streams that are read window by window.

    A batch is one of `LanguageModellingDataModule`. The model starts a window from the state that it had behind the
    last one, without gradients through it (truncated backpropagation through time), and from its own first state where
    the streams begin. The state of the training is part of its checkpoints: a resumed run goes on as one that was not
    interrupted. The loss is in nats a token, the mean over a window, plus with a prior `kl_lambda` times the divergence
    of all, divided by the tokens. Scores: those of `LanguageModellingScores`, without any divergence.

    Args:
        model_config, pretrained, model, optimizer_args: Start of the model (config dict, checkpoint to load, or a ready
            model), and keyword arguments of the optimizer, as in `ZooTask`.

    Raises:
        ValueError: see `ZooTask`; a window in the middle of streams without the state behind the one before.
        NonFiniteLossError: see `ZooTask`; names the lines at which the windows begin.
    """

    auto_class = AutoModelForCausalLM
    monitor = "validation/perplexity"
    lower_is_better = ZooTask.lower_is_better | {"perplexity"}
    default_optimizer = OptimizerArgs(learning_rate=2e-3)

    def __init__(
        self,
        model_config: dict[str, Any] | None = None,
        pretrained: str | None = None,
        *,
        model: Any = None,
        **optimizer_args: Any,
    ) -> None:
        super().__init__(model_config, pretrained, model=model, **optimizer_args)
        self._carried: dict[str, State] = {}  # "training" or "scoring" to the state behind its last window

    def build_scores(self) -> LanguageModellingScores:
        """Return empty scores of language models."""
        return LanguageModellingScores()

    def compute_training_loss(self, batch: dict[str, torch.Tensor]) -> torch.Tensor:
        """Return the mean cross-entropy of the next tokens, plus the model's weighted KL divergence if it has one."""
        output = self._run_model(batch, "training")
        loss = compute_token_losses(output.logits, batch["targets"]).mean()
        weight, divergence = getattr(self.model.config, "kl_lambda", 0.0), output.get("kl")
        if not weight or divergence is None:
            return loss
        weighed: torch.Tensor = weight * divergence.sum() / batch["targets"].numel()
        return loss + weighed

    def describe_examples(self, rows: list[int]) -> str:
        """Describe rows of a batch for an error message."""
        return f"lines of the training split at which the windows begin: {rows}"

    def update_scores(self, scores: LanguageModellingScores, batch: dict[str, torch.Tensor], split: str) -> None:
        """Add the losses of a window's tokens to the scores."""
        output = self._run_model(batch, "scoring")
        scores.update(compute_token_losses(output.logits, batch["targets"]), batch["unknown"])

    def compute_scores(self, scores: LanguageModellingScores) -> dict[str, float]:
        """Return loss and perplexity by name."""
        return scores.compute()

    def predict_step(self, batch: dict[str, torch.Tensor], batch_idx: int) -> dict[str, torch.Tensor]:
        """Return the loss of each token in nats, `nll`, and the row of its line, `lines`, both (B, n)."""
        output = self._run_model(batch, "scoring")
        return {"lines": batch["lines"], "nll": compute_token_losses(output.logits, batch["targets"])}

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        state = self._carried.get("training")
        checkpoint[CARRIED] = state and tuple(tuple(map(_all_gather_streams, layer)) for layer in state)

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        state = checkpoint.get(CARRIED)
        if state is not None:
            rank, processes = get_rank_and_world_size()
            self._carried["training"] = tuple(tuple(one.chunk(processes)[rank] for one in layer) for layer in state)

    def _run_model(self, batch: dict[str, torch.Tensor], state_name: str) -> Any:
        """Return the model's output for a window, and keep its recurrent state for the next window of this name."""
        words = batch["input_ids"]
        state = None
        if not bool(batch["begins"].all()):
            if state_name not in self._carried:
                raise ValueError("a window in the middle of its streams came first; read them from where they begin")
            state = tuple(tuple(one.to(words.device) for one in layer) for layer in self._carried[state_name])
        output = self.model(input_ids=words, state=state, use_cache=True)
        self._carried[state_name] = tuple(tuple(one.detach() for one in layer) for layer in output.state)
        return output


def _all_gather_streams(state: torch.Tensor) -> torch.Tensor:
    """Return the state (B, ...) of the streams of all processes, (P × B, ...)."""
    _, processes = get_rank_and_world_size()
    if processes == 1:
        return state
    states = [torch.empty_like(state) for _ in range(processes)]
    torch.distributed.all_gather(states, state.contiguous())
    return torch.cat(states)


@dataclass(frozen=True)
class LineScore:
    """The score of one line.

    Attributes:
        row: Row of the line in its split, from 0.
        tokens: Number of tokens of the line, the end mark included.
        nll: Negative log-likelihood of the line given all lines before it, in nats, summed over its tokens.
    """

    row: int
    tokens: int
    nll: float


def evaluate(
    checkpoint: str | Path | PreTrainedModel,
    dataset: str,
    split: str = "test",
    *,
    tokenizer: Any = None,
    data_dir: str | None = None,
    text_column: ColumnNames = None,
    batch_size: int = 256,
    precision: str = "32-true",
    accelerator: str = "auto",
    progress: bool = True,
) -> dict[str, float]:
    """Return a language model's scores on a split by name; for a checkpoint those that its training reported.

    Args:
        checkpoint: Checkpoint to score, a folder or Hub id, or a loaded model.
        dataset: Data to score on: a Hub id, folder or file, or "sample" (generated text).
        split: Name of the split, such as "test".
        tokenizer: Tokenizer for a model passed as an object; default: the one saved in the checkpoint.
        data_dir, text_column: Folder of datasets, and name of the text column, as in `LanguageModellingDataModule`.
        batch_size: Tokens in a window that the model reads at once, which does not affect the scores.
        precision, accelerator: Precision and kind of device, as Lightning's Trainer takes them, such as "32-true" and
            "cpu".
        progress: Whether a progress bar is shown.

    Returns:
        `perplexity`, `nll`, in nats of a token, and `unknown_words`, in percent; see `LanguageModellingScores`.

    Raises:
        OSError: there is no such checkpoint or dataset.
        ValueError: no such split; a checkpoint of another problem; a model without its tokenizer.
    """
    task = load_task(LanguageModellingTask, checkpoint)
    data = LanguageModellingDataModule(
        dataset,
        data_dir=data_dir,
        text_column=text_column,
        eval_batch_size=batch_size,
        tokenizer=load_tokenizer(checkpoint, tokenizer),
        divide=False,
    )
    data.setup()
    return score_splits(task, data, (split,), precision=precision, accelerator=accelerator, progress=progress)[split]


def line_scores(
    model: PreTrainedModel, data: LanguageModellingDataModule, split: str = "test", *, accelerator: str = "auto"
) -> list[LineScore]:
    """Return the score of each line of a split, by row, for paired tests of two models.

    Args:
        model: Causal language model, with its final weights.
        data: DataModule after its `setup`.
        split: Name of the split, such as "test".
        accelerator: Kind of device, as Lightning's Trainer takes it, such as "auto", "cpu" or "gpu".

    Raises:
        ValueError: no such split; a model of another problem.
    """
    task: Any = load_task(LanguageModellingTask, model)
    device = model.device
    trainer = build_scoring_trainer(data, precision="32-true", accelerator=accelerator, progress=False)
    batches: Any = trainer.predict(task, dataloaders=data.split_dataloader(split))
    model.to(device)  # Lightning leaves it on the CPU
    lines, nats = (np.concatenate([batch[name][0].cpu().numpy() for batch in batches]) for name in ("lines", "nll"))
    sums, tokens = np.bincount(lines, nats), np.bincount(lines)
    return [LineScore(row, *both) for row, both in enumerate(zip(tokens.tolist(), sums.tolist(), strict=True))]
