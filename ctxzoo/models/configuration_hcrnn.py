"""The configuration of HCRNN."""

from types import MappingProxyType
from typing import Literal

from huggingface_hub.dataclasses import strict

from .configuration_session import SessionConfig


@strict
class HcrnnConfig(SessionConfig):
    """A recurrent network over a session of items with three contexts: global, local and temporary.

    The defaults are the authors' strongest model, HCRNN-3 with bi-channel attention.

    Args:
        num_topics: Number K of topics of the global context, which is also the number of rows of its memory.
        version: Version of the cell, by how the interest drift enters the reset gate: 1, not at all; 2, within it; 3,
            as a gate of its own.
        attention: Final attention over the states: "normal" by the states themselves, "bi" by the local contexts as
            well.
        drift_constraint: How the drift weights are kept from being negative: "clip" after every optimizer step
            (`project_parameters`), or "softplus" of the parameter [ours].
        kl_lambda: Weight in the loss of the divergence of the topics from N(0, I).

    The item vectors and the local context have `embedding_size` numbers, the temporary context `hidden_size`.
    """

    model_type = "ctxzoo_hcrnn"
    # They are no predictions: transformers' Trainer leaves them out of those that metrics are computed from.
    keys_to_ignore_at_inference = ["theta", "kl", "local_context", "drift_gate"]  # noqa: RUF012 (as transformers)
    variants = MappingProxyType(
        {
            "hcrnn1": {"version": 1, "attention": "normal"},
            "hcrnn2": {"version": 2, "attention": "normal"},
            "hcrnn3": {"version": 3, "attention": "normal"},
            "hcrnn3_bi": {"version": 3, "attention": "bi"},
        }
    )

    num_topics: int = 50
    version: Literal[1, 2, 3] = 3
    attention: Literal["normal", "bi"] = "bi"
    drift_constraint: Literal["clip", "softplus"] = "clip"
    kl_lambda: float | int = 1e-3

    def validate_topics(self) -> None:
        """Check the number of topics and the weight of the divergence."""
        self.check_at_least_one("num_topics")
        self.check_not_negative("kl_lambda")
