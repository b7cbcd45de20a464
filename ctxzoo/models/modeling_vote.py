"""What models that predict votes have in common: bags of words of texts, the trust mask, and predictions by name."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import ClassVar

import torch

from .configuration_vote import VoteConfig
from .layers_vote_trust import TrustNetwork
from .modeling_base import ZooPreTrainedModel
from .ops_names import rows_of_names
from .ops_vote import NEW_BILL, together, without_outcomes, words_of


class VotePreTrainedModel(ZooPreTrainedModel):
    """The base of heads that give the logit of a yea for each legislator and bill.

    Attributes:
        reads_new_bills: whether the model has something to say of a bill that was not in its training.
    """

    config: VoteConfig
    main_input_name = "bag_of_words"
    zoo_task: ClassVar[str | None] = "vote-prediction"

    @property
    def reads_new_bills(self) -> bool:
        return False

    def text_parameters(self) -> Iterable[torch.nn.Parameter]:
        """Return the parameters of what reads texts, which may be trained at a rate of their own; here none."""
        return ()

    def set_observed(self, votes: torch.Tensor) -> None:
        """Tell a new model the votes of the training, (D, U): 1 yea, 0 nay, NaN none; some have no use for them.

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
                module.set_mask(together(~votes.isnan()))

    def bags_of_words(self, texts: Sequence[str]) -> torch.Tensor:
        """Return the counts (B, V) of the words of texts, float32; other words than those of the config count for none.

        What a text tells of how a vote ended is cut out first, where the config says `cut_outcomes`.

        Raises:
            ValueError: a config without words.
        """
        if self.config.words is None:
            raise ValueError("the config has no words, so that no text can be read; give bag_of_words to the model")
        places = {word: place for place, word in enumerate(self.config.words)}
        counts = torch.zeros(len(texts), self.config.vocab_size)
        for row, text in enumerate(texts):
            said = without_outcomes(text) if self.config.cut_outcomes else text
            for word, count in Counter(words_of(said)).items():
                if word in places:
                    counts[row, places[word]] = count
        return counts

    @torch.no_grad()
    def predict_votes(self, text: str, bill: str | int = NEW_BILL) -> list[tuple[str, float]]:
        """Return (name, probability of a yea) of each legislator, where no vote on the bill is known.

        The model is in evaluation mode while it reads.

        Args:
            text: of the bill.
            bill: The name of one of the training, where 10 and "10" are one name; -1: it is new. Bills of a config
                without names are called "0" to `num_bills` - 1.

        Raises:
            ValueError: an unknown name; a new bill and a model that knows those of its training alone; a config without
                words.
        """
        is_new = not isinstance(bill, str) and bill == NEW_BILL
        row = NEW_BILL if is_new else rows_of_names([bill], self.config.names_of_bills(), "bill")[0]
        if is_new and not self.reads_new_bills:
            raise ValueError(
                f"this {type(self).__name__} knows the bills of its training alone and reads no text of a new one; "
                "train one that does, such as NIPEN with amortized_bills"
            )
        was_training = self.training
        self.eval()
        try:
            bags = self.bags_of_words([text]).to(self.device, self.dtype)
            ids = torch.tensor([row], device=self.device)
            logits = self(bag_of_words=bags, bill_ids=ids, return_dict=True).logits[0]
        finally:
            self.train(was_training)
        return [(self.config.name_of(u), p) for u, p in enumerate(logits.float().sigmoid().tolist())]
