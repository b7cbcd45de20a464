"""The whole model of next events: properties 7 to 9 of time_encoding.md, and what it tells a user."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from ctxzoo.models.configuration_time_encoder import TimeEncoderConfig
from ctxzoo.models.modeling_time_encoder import TimeEncoderForNextEvent, TimeEncoderModel

CLOCKS = ("lste", "bochner", "bochner_sampled", "mercer", "time2vec")
SIZES: dict[str, Any] = {
    "vocab_size": 9,
    "word_dim": 8,
    "hidden_size": 8,
    "num_heads": 2,
    "num_layers": 2,
    "num_components": 2,
    "num_frequencies": 3,
    "time_size": 6,
    "num_harmonics": 2,
    "time_unit": 8.0,
    "time_span": 20.0,
    "causal": True,
}


def model(position: str, kind: Any = TimeEncoderForNextEvent, **changes: Any) -> Any:
    torch.manual_seed(0)
    made = kind(TimeEncoderConfig(**{**SIZES, "position": position, **changes})).eval()
    with torch.no_grad():
        for parameter in made.parameters():
            parameter += 0.3 * torch.randn(parameter.shape)
    return made


def batch() -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(1)
    ids = torch.randint(1, 9, (2, 7), generator=generator)
    return ids, torch.randint(0, 30, (2, 7), generator=generator).cumsum(dim=1).double()


@pytest.mark.parametrize("combine", ["kernel", "multiply", "add", "concat"])
@pytest.mark.parametrize("position", CLOCKS)
def test_property_7_a_shift_and_a_common_scale_change_nothing(position: str, combine: str) -> None:
    one, (ids, times) = model(position, time_combine=combine), batch()
    expected = one(ids, timestamps=times).logits
    assert torch.equal(one(ids, timestamps=times + 2.0**30).logits, expected)
    other = model(position, time_combine=combine, time_unit=32.0)
    assert torch.equal(other(ids, timestamps=4 * times).logits, expected)
    assert not torch.allclose(one(ids, timestamps=4 * times).logits, expected, atol=1e-4)


@pytest.mark.parametrize("combine", ["kernel", "multiply"])
def test_property_7_holds_for_times_before_each_event(combine: str) -> None:
    one, (ids, times) = model("lste", time_combine=combine, time_reference="last"), batch()
    shifts = torch.tensor([[2.0**30], [-64.0]], dtype=torch.float64)
    expected = one(ids, timestamps=times).logits
    assert torch.equal(one(ids, timestamps=times + shifts).logits, expected)
    other = model("lste", time_combine=combine, time_reference="last", time_unit=32.0)
    assert torch.equal(other(ids, timestamps=4 * times).logits, expected)
    assert not torch.allclose(one(ids, timestamps=4 * times).logits, expected, atol=1e-4)


@pytest.mark.parametrize("combine", ["kernel", "multiply", "add", "concat"])
@pytest.mark.parametrize("position", CLOCKS)
def test_property_7_holds_for_times_before_the_last_event(position: str, combine: str) -> None:
    fields = {"kind": TimeEncoderModel, "time_combine": combine, "time_reference": "last", "causal": False}
    one, other, (ids, times) = model(position, **fields), model(position, **fields, time_unit=32.0), batch()
    shifts = torch.tensor([[2.0**30], [-64.0]], dtype=torch.float64)
    expected = one(ids, timestamps=times).last_hidden_state
    assert torch.equal(one(ids, timestamps=times + shifts).last_hidden_state, expected)
    assert torch.equal(other(ids, timestamps=4 * times).last_hidden_state, expected)
    assert not torch.allclose(one(ids, timestamps=4 * times).last_hidden_state, expected, atol=1e-4)


def test_property_10_without_weight_on_times_the_model_is_one_without_times() -> None:
    timed, (ids, times) = model("lste"), batch()
    without = model("none")
    _, unexpected = without.load_state_dict(timed.state_dict(), strict=False)
    assert unexpected
    assert all(name.startswith("encoder.time") for name in unexpected)
    with torch.no_grad():
        for weight in timed.encoder.time_weights:
            weight.weight.fill_(-1e4)  # theta is 0
    found, expected = timed(ids, timestamps=times).logits, without(ids).logits
    torch.testing.assert_close(found[..., 1:], expected[..., 1:], rtol=1e-5, atol=1e-5)


def test_no_events_give_an_empty_output() -> None:
    none = torch.zeros(2, 0, dtype=torch.int64)
    for position in CLOCKS:
        assert model(position)(none, timestamps=none).logits.shape == (2, 0, 9)


@pytest.mark.parametrize("reference", ["first", "last"])
def test_property_8_behaviour_at_its_start_is_the_model_without_it_bit_for_bit(reference: str) -> None:
    with_it, without = (
        model("lste", behaviour_conditioned=behaviour, time_reference=reference) for behaviour in (True, False)
    )
    missing, unexpected = with_it.load_state_dict(without.state_dict(), strict=False)
    assert not unexpected
    assert all("behaviour" in name for name in missing)
    torch.nn.init.zeros_(with_it.encoder.time.local_encoding.behaviour.heads.weight)
    torch.nn.init.zeros_(with_it.encoder.time.local_encoding.behaviour.heads.bias)
    ids, times = batch()
    assert torch.equal(with_it(ids, timestamps=times).logits, without(ids, timestamps=times).logits)


@pytest.mark.parametrize("position", CLOCKS)
def test_property_9_a_later_event_or_time_leaves_earlier_outputs_alone_bit_for_bit(position: str) -> None:
    for reference in ("first", "last") if position == "lste" else ("first",):
        one, (ids, times) = model(position, time_reference=reference), batch()
        expected = one(ids, timestamps=times).logits
        other_ids, other_times = ids.clone(), times.clone()
        other_ids[:, 4:] = 9 - other_ids[:, 4:]
        other_times[:, 4:] += torch.tensor([1.0, 70.0, 900.0], dtype=torch.float64)
        found = one(other_ids, timestamps=other_times).logits
        assert torch.equal(found[:, :4], expected[:, :4])
        assert not torch.allclose(found[:, 4:], expected[:, 4:], atol=1e-4)


def test_next_events_are_those_of_the_last_position_by_name() -> None:
    names = list("abcdefgh")
    one, (ids, times) = model("lste", event_names=names), batch()
    history = [names[event - 1] for event in ids[0].tolist()]
    found = one.next_events(history, times[0].tolist(), k=8)
    probabilities = one(ids[:1], timestamps=times[:1]).logits[0, -1].softmax(dim=0)
    assert dict(found) == pytest.approx({name: probabilities[place + 1].item() for place, name in enumerate(names)})
    assert sum(probability for _, probability in found) == pytest.approx(1)
    assert one.next_events(history, times[0].tolist(), k=2) == found[:2]
    for arguments, message in (
        ((["z"], [0.0]), "does not know the event 'z'"),
        (([], []), "expected a list of one event or more"),
        ((["a"], [0.0, 1.0]), "2 timestamps of 1 events"),
        ((["a"], [0.0], 9), "k=9: expected 1 to 8"),
        ((["a", "b"], [5.0, 1.0], 2), "before an earlier event"),
    ):
        with pytest.raises(ValueError, match=message):
            one.next_events(*arguments)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"time_unit": 0.0}, "time_unit must be above 0"),
        ({"position": "bochner", "time_size": 5}, "time_size 5 must be even"),
        ({"position": "bochner", "time_reference": "last"}, "measures the times of a causal model by events"),
        ({"event_names": ["a"]}, "event_names has 1 entries, but there are 8 events"),
        ({"event_names": ["a"] * 8}, "event_names: two have the name 'a'"),
        ({"vocab_size": 0}, "vocab_size must be at least 1, got 0"),
    ],
)
def test_configs_that_cannot_be(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(Exception, match=message):
        TimeEncoderConfig(**{**SIZES, **fields})


def test_the_factors_of_the_kernel_are_those_of_lste_alone() -> None:
    ids, times = batch()
    kernel, power, gaps = model("lste").encoder.time_kernel(ids, times)
    assert torch.allclose((power * gaps).sum(dim=-1), kernel, atol=1e-5)
    with pytest.raises(ValueError, match="has no kernel of times"):
        model("none").encoder.time_kernel(ids, times)


def test_labels_that_are_no_events_are_refused() -> None:
    one, (ids, times) = model("lste"), batch()
    mask = torch.ones_like(ids)
    mask[:, -1] = 0
    labels = ids.masked_fill(mask == 0, 0)  # 0 at padding counts for nothing
    expected = one(ids, timestamps=times, attention_mask=mask, labels=ids.masked_fill(mask == 0, -100)).loss
    assert torch.equal(one(ids, timestamps=times, attention_mask=mask, labels=labels).loss, expected)
    for label, message in ((0, "label 0 is padding"), (one.config.vocab_size, "labels must lie in"), (-1, "lie in")):
        odd = ids.clone()
        odd[0, 1] = label
        with pytest.raises(ValueError, match=message):
            one(ids, timestamps=times, labels=odd)
    with pytest.raises(ValueError, match="label 0 is padding and none of the events 1"):
        one(ids, timestamps=times, labels=labels)  # without the mask that says what is padding


def test_the_next_event_is_scored_by_the_vectors_of_the_events() -> None:
    one = model("none")
    ids = torch.tensor([[3, 4, 5]])
    output = one(ids, labels=ids)
    vectors = one.encoder.embeddings.words.weight
    expected = one.encoder(ids).last_hidden_state @ vectors.T
    torch.testing.assert_close(output.logits[..., 1:], expected[..., 1:])
    probabilities = output.logits.softmax(-1)
    assert not probabilities[..., 0].any()
    torch.testing.assert_close(output.loss, -(probabilities[0, 0, 4].log() + probabilities[0, 1, 5].log()) / 2)


def test_a_head_of_the_next_event_refuses_to_read_ahead() -> None:
    with pytest.raises(ValueError, match="causal=False: a model of what comes next must not read"):
        TimeEncoderForNextEvent(TimeEncoderConfig(**{**SIZES, "causal": False}))
