"""Steps to keep: the last block computes those alone, and they are what they would be among all others."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from ctxzoo.models import ARCHITECTURES
from ctxzoo.models.configuration_time_encoder import TimeEncoderConfig
from ctxzoo.models.modeling_kernel_encoder import KernelEncoderForRegression
from ctxzoo.models.modeling_text_encoder import TextEncoderStepsPreTrainedModel
from ctxzoo.models.modeling_time_encoder import TimeEncoderForNextEvent, TimeEncoderModel

KERNEL, LINEAR, HIGHER = "kernel_encoder", "linear_encoder", "higher_order_encoder"
ATTENTIONS: dict[str, tuple[str, dict[str, Any]]] = {
    "dot": (KERNEL, {"attention": "dot"}),
    "rbf": (KERNEL, {"attention": "rbf", "p_norm": 1.5}),
    "direct": (KERNEL, {"attention": "ikan", "kernel": "direct", "num_features": 8}),
    "ika": (KERNEL, {"attention": "ika", "num_features": 8}),
    "mikan": (KERNEL, {"attention": "mikan", "num_features": 8}),
    "esa": (LINEAR, {"num_features": 8}),
    "contextual": (HIGHER, {}),
    "factorised": (HIGHER, {"order_type": "factorised"}),
}
SIZES = {"hidden_size": 16, "num_heads": 2, "num_layers": 2, "input_size": 3, "vocab_size": 0}
PLACES = torch.tensor([5, 0, 5, 3])


class OneNumber(TextEncoderStepsPreTrainedModel):
    """A number for each row, of any of the encoders."""

    def __init__(self, config: Any) -> None:
        super().__init__(config)
        self.readout = nn.Linear(config.hidden_size, 1)
        self.post_init()

    def compute_logits(self, steps: torch.Tensor) -> torch.Tensor:
        numbers: torch.Tensor = self.readout(steps)
        return numbers


def regression(attention: str, **fields: object) -> Any:
    torch.manual_seed(0)
    name, own = ATTENTIONS[attention]
    architecture = ARCHITECTURES[name]
    config = architecture.config_class(**{**SIZES, "position": "none", **own, **fields})
    if name == KERNEL:
        return KernelEncoderForRegression(config).double().eval()
    head = type("Head", (OneNumber,), {"encoder_class": architecture.model_classes["AutoModel"]})
    return head(config).double().eval()


def batch() -> dict[str, torch.Tensor]:
    torch.manual_seed(1)
    mask = torch.ones(2, 7, dtype=torch.int64)
    mask[1, 4:] = 0  # step 5 of the second sequence is kept, and is padding
    return {"inputs_embeds": torch.randn(2, 7, 3, dtype=torch.float64), "attention_mask": mask}


@pytest.mark.parametrize("attention", ATTENTIONS)
@pytest.mark.parametrize("causal", [False, True])
def test_kept_steps_are_what_they_are_among_all(attention: str, causal: bool) -> None:
    model = regression(attention, causal=causal)
    inputs = batch()
    everything = model(**inputs).logits
    kept = model(**inputs, logits_to_keep=PLACES).logits
    assert kept.shape == (2, 4, 1)
    torch.testing.assert_close(kept, everything[:, PLACES], rtol=1e-10, atol=1e-12)
    last = model(**inputs, logits_to_keep=2).logits
    torch.testing.assert_close(last, everything[:, -2:], rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("attention", ATTENTIONS)
def test_the_gradient_is_that_of_the_kept_steps(attention: str) -> None:
    model = regression(attention).train()
    inputs = batch()
    gradients = []
    for kept in (False, True):
        model.zero_grad()
        torch.manual_seed(2)  # of what is drawn in training
        logits = model(**inputs, logits_to_keep=PLACES if kept else 0).logits
        (logits if kept else logits[:, PLACES]).square().sum().backward()
        gradients.append({name: None if p.grad is None else p.grad.clone() for name, p in model.named_parameters()})
    for name, expected in gradients[0].items():
        if expected is not None:
            torch.testing.assert_close(gradients[1][name], expected, rtol=1e-8, atol=1e-12, msg=name)


@pytest.mark.parametrize("attention", ATTENTIONS)
def test_the_last_block_computes_no_others(attention: str) -> None:
    model = regression(attention)
    lengths = []
    for block in model.encoder.blocks:
        block.inner.register_forward_hook(lambda _module, inputs, _output: lengths.append(inputs[0].size(1)))
    model(**batch(), logits_to_keep=PLACES)
    assert lengths == [7, 4]


@pytest.mark.parametrize("requested", [{"output_attentions": True}, {"output_hidden_states": True}])
def test_what_else_is_requested_is_that_of_all_steps(requested: dict[str, bool]) -> None:
    model = regression("ika")
    expected, found = model(**batch(), **requested), model(**batch(), **requested, logits_to_keep=PLACES)
    torch.testing.assert_close(found.logits, expected.logits[:, PLACES], rtol=1e-12, atol=1e-14)
    for what in ("attentions", "hidden_states"):
        for one, other in zip(getattr(expected, what) or (), getattr(found, what) or (), strict=True):
            assert torch.equal(one, other)


def test_no_mean_of_all_steps_is_made_of_kept_ones() -> None:
    model = regression("dot").encoder
    assert model(**batch()).pooler_output is not None
    assert model(**batch(), steps_to_keep=PLACES).pooler_output is None


def test_events_with_times_keep_steps() -> None:
    torch.manual_seed(0)
    config = TimeEncoderConfig(vocab_size=9, hidden_size=16, num_heads=2, position="lste", causal=False, num_layers=1)
    model = TimeEncoderModel(config).eval()
    inputs = {
        "input_ids": torch.randint(1, 9, (2, 7)),
        "timestamps": torch.arange(14, dtype=torch.float64).view(2, 7),
    }
    expected = model(**inputs).last_hidden_state[:, PLACES]
    torch.testing.assert_close(model(**inputs, steps_to_keep=PLACES).last_hidden_state, expected)


@pytest.mark.parametrize(
    ("kept", "message"),
    [
        (8, "the last 8 of 7: expected 1 to 7"),
        (-1, "the last -1 of 7"),
        (torch.tensor([[1, 2]]), r"\(1, 2\) of torch.int64: expected places"),
        (torch.tensor([True, False]), "of torch.bool"),
        (torch.tensor([0.5]), "of torch.float32"),
        (torch.tensor([2, 7]), "places 2 to 7: expected 0 to 6"),
        (torch.tensor([3, -1]), "places -1 to 3: expected 0 to 6"),
    ],
)
def test_what_cannot_be_kept_is_refused(kept: int | torch.Tensor, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        regression("dot")(**batch(), logits_to_keep=kept)


def test_labels_beside_kept_steps_are_refused() -> None:
    with pytest.raises(ValueError, match="labels are compared with the scores of all steps"):
        regression("dot")(**batch(), labels=torch.zeros(2, 7, 1).double(), logits_to_keep=PLACES)


@pytest.mark.parametrize("attention", ["dot", "esa"])
def test_generate_scores_the_last_word_of_a_prompt_alone(attention: str) -> None:
    torch.manual_seed(0)
    name, own = ATTENTIONS[attention]
    architecture = ARCHITECTURES[name]
    config = architecture.config_class(vocab_size=30, hidden_size=16, num_heads=2, causal=True, use_cache=True, **own)
    model: Any = architecture.model_classes["AutoModelForCausalLM"](config).eval()
    prompt = torch.randint(4, 30, (2, 6))
    scored = []
    model.lm_head.register_forward_hook(lambda _module, inputs, _output: scored.append(inputs[0].size(1)))
    found = model.generate(prompt, max_new_tokens=4, do_sample=False, eos_token_id=None)
    assert scored == [1, 1, 1, 1]
    expected = prompt
    for _ in range(4):
        following = model(expected, use_cache=False).logits[:, -1].argmax(dim=-1, keepdim=True)
        expected = torch.cat([expected, following], dim=1)
    assert torch.equal(found, expected)


def test_next_events_scores_the_last_step_alone() -> None:
    torch.manual_seed(0)
    config = TimeEncoderConfig(vocab_size=9, hidden_size=16, num_heads=2, causal=True, position="lste")
    model = TimeEncoderForNextEvent(config).eval()
    history, times = [3, 5, 2], [1.0, 2.0, 4.0]
    inputs = {"input_ids": torch.tensor([history]), "timestamps": torch.tensor([times], dtype=torch.float64)}
    probabilities = model(**inputs).logits[0, -1].softmax(dim=0).detach()
    for name, probability in model.next_events(history, times, k=3):
        event = next(number for number in range(1, 9) if config.get_row_name(number) == name)
        assert probability == pytest.approx(float(probabilities[event]), rel=1e-5)
