"""What models that read the words of texts have in common."""

from torch import nn

from .configuration_text import TextConfig
from .layers_random_embedding import RandomEmbedding
from .layers_text_input import TextInput
from .modeling_base import ZooPreTrainedModel


class TextPreTrainedModel(ZooPreTrainedModel):
    """Base of models whose base model reads words through a `TextInput` named `embeddings`."""

    config: TextConfig
    main_input_name = "input_ids"

    def text_input(self, dropout: float, word_dropout: float = 0.0) -> TextInput:
        """A new one, as the config says."""
        config = self.config
        words = RandomEmbedding(
            config.vocab_size,
            config.word_dim,
            trainable=not config.freeze_embeddings,
            bound=config.embedding_bound,
            seed=config.embedding_seed,
        )
        return TextInput(words, config.position_dim, dropout, word_dropout)

    def get_input_embeddings(self) -> nn.Module:
        words: nn.Module = self.base_model.embeddings.words
        return words

    def set_input_embeddings(self, value: nn.Embedding) -> None:
        self.base_model.embeddings.replace_words(value)
