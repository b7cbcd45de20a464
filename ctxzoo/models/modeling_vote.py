"""What models that predict votes have in common: bags of words of texts, the trust mask, and predictions by name."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import ClassVar

import torch

from .configuration_vote import VoteConfig
from .layers_vote import TrustNetwork
from .modeling_base import ZooPreTrainedModel
from .ops_execution import in_evaluation_mode
from .ops_inputs import look_up_rows, number_names
from .ops_vote import NEW_BILL, find_common_voters
from .ops_vote_text import remove_outcomes, split_into_words


class VotePreTrainedModel(ZooPreTrainedModel):
    """The base of heads that give the logit of a yea for each legislator and bill.

    Attributes:
        reads_new_bills: Whether the model can predict votes on bills that were not in its training.
    """

    config: VoteConfig
    main_input_name = "bag_of_words"
    zoo_task: ClassVar[str | None] = "vote-prediction"

    @property
    def reads_new_bills(self) -> bool:
        """Whether votes on bills that training did not see can be predicted: not by default."""
        return False

    def text_parameters(self) -> Iterable[torch.nn.Parameter]:
        """Return the parameters of the text encoder, which may be trained at a rate of their own; here none."""
        return ()

    def set_observed_votes(self, votes: torch.Tensor) -> None:
        """Set the votes of the training in a new model, (D, U): 1 yea, 0 nay, NaN none; some models ignore them.

        Two legislators who never voted on the same bill are kept apart in a trust network.

        Raises:
            ValueError: another shape.
        """
        config = self.config
        if tuple(votes.shape) != (config.num_bills, config.num_legislators):
            raise ValueError(
                f"expected votes of the shape {(config.num_bills, config.num_legislators)}, got {tuple(votes.shape)}"
            )
        for module in self.modules():
            if isinstance(module, TrustNetwork):
                module.set_mask(find_common_voters(~votes.isnan()))  # (U, U)

    def bags_of_words(self, texts: Sequence[str]) -> torch.Tensor:
        """Return how often each word of the config occurs in texts, (B, V) float32; other words are ignored.

        What a text tells of how a vote ended is cut out first, where the config says `cut_outcomes`.

        Raises:
            ValueError: a config without words.
        """
        if self.config.words is None:
            raise ValueError("the config has no words, so that no text can be read; give bag_of_words to the model")
        places = {word: place for place, word in enumerate(self.config.words)}
        counts = torch.zeros(len(texts), self.config.vocab_size)  # (B, V)
        for row, text in enumerate(texts):
            said = remove_outcomes(text) if self.config.cut_outcomes else text
            for word, count in Counter(split_into_words(said)).items():
                if word in places:
                    counts[row, places[word]] = count
        return counts

    def predict_votes(
        self, text: str | None = None, bill: str | int = NEW_BILL, known: Mapping[str, int] | None = None
    ) -> list[tuple[str, float]]:
        """Return (name, probability of a yea) of each legislator.

        The model is in evaluation mode while it reads.

        Args:
            text: Text of the bill. A model that reads new bills needs it for training bills too.
            bill: Name of a training bill, where 10 and "10" are the same; -1: a new bill. Bills of a configuration
                without names are called "0" to `num_bills` - 1.
            known: Known votes on the bill, name of a legislator to 1 yea or 0 nay, or booleans; default: none.
                Autoencoders of votes and models with a trust network read them.

        Raises:
            ValueError: An unknown name; a vote that is neither; a new bill and a model that knows those of its training
                alone; no text where the model reads texts; a config without words.
        """
        config = self.config
        is_new = not isinstance(bill, str) and bill == NEW_BILL
        row = NEW_BILL if is_new else look_up_rows([bill], number_names(config.get_bill_names()), "bill")[0]
        if is_new and not self.reads_new_bills:
            raise ValueError(
                f"this {type(self).__name__} knows the bills of its training alone and reads no text of a new one; "
                "train one that does, such as NIPEN with amortized_bills"
            )
        if self.reads_new_bills and text is None:
            which = "a new bill" if is_new else f"the bill {bill!r}"
            raise ValueError(
                f"what this {type(self).__name__} says of {which} follows from its text, and there is none; give it "
                "(--text, or --texts with a table of texts)"
            )
        names = [config.get_legislator_name(legislator) for legislator in range(config.num_legislators)]
        votes = torch.full((1, len(names)), torch.nan)  # (1, U), none is known
        if known:
            rows = look_up_rows(list(known), number_names(names), "legislator")
            votes[0, rows] = torch.tensor([float(v) for v in known.values()])
        with in_evaluation_mode(self):
            logits = self(
                bag_of_words=self.bags_of_words([text or ""]).to(self.device, self.dtype),
                bill_ids=torch.tensor([row], device=self.device),
                votes=votes.to(self.device, self.dtype),
                return_dict=True,
            ).logits[0]
        return list(zip(names, logits.float().sigmoid().tolist(), strict=True))
