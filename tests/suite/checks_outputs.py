"""What a model returns on request, and in which form."""

from __future__ import annotations

import torch
from transformers.utils import ModelOutput

from tests.suite.subjects import Subject, named_tensors

FLAGS = {"output_attentions": "attentions", "output_hidden_states": "hidden_states"}


class OutputChecks:
    def test_attentions_and_hidden_states_on_request(self, subject: Subject) -> None:
        model, batch = subject.model(), subject.batch(labels=True)
        plain = model(**batch)
        assert plain.get("attentions") is None
        assert plain.get("hidden_states") is None
        has = {"attentions": subject.case.has_attentions, "hidden_states": subject.case.has_hidden_states}
        for flag, name in FLAGS.items():
            asked = model(**batch, **{flag: True})
            extra = asked.get(name)
            if not has[name]:
                assert extra is None
                continue
            assert isinstance(extra, tuple)
            assert extra
            for x in extra:
                assert len(x) == len(batch[model.main_input_name])
                assert x.isfinite().all()
            if name == "attentions":
                assert all((x >= 0).all() and (x <= 1 + 1e-6).all() for x in extra)
            for key, x in plain.items():
                assert torch.equal(asked[key], x), f"{flag} changes {key}"

    def test_config_asks_like_the_argument(self, subject: Subject) -> None:
        model, batch = subject.model(), subject.batch()
        asked = named_tensors(model(**batch, output_attentions=True, output_hidden_states=True))
        model.config.output_attentions = True
        model.config.output_hidden_states = True
        by_config = named_tensors(model(**batch))
        assert by_config.keys() == asked.keys()
        assert all(torch.equal(by_config[name], x) for name, x in asked.items())
        refused = model(**batch, output_attentions=False, output_hidden_states=False)
        assert refused.get("attentions") is None
        assert refused.get("hidden_states") is None

    def test_tuple_holds_what_the_output_holds(self, subject: Subject) -> None:
        model, batch = subject.model(), subject.batch(labels=True)
        output = model(**batch)
        assert isinstance(output, ModelOutput)
        as_argument = model(**batch, return_dict=False)
        model.config.return_dict = False
        for values in (as_argument, model(**batch)):
            assert type(values) is tuple
            assert len(values) == len(output.to_tuple())
            assert all(torch.equal(x, y) for x, y in zip(values, output.to_tuple(), strict=True))

    def test_loss_comes_with_labels_only(self, subject: Subject) -> None:
        model = subject.model()
        assert model(**subject.batch()).get("loss") is None
        output = model(**subject.batch(labels=True))
        assert (output.get("loss") is not None) == subject.has_loss
        if subject.has_loss:
            assert output.loss.shape == ()
            assert output.loss.isfinite()
