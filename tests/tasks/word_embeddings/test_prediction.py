"""Words for masks, of texts of any length."""

from __future__ import annotations

from pathlib import Path

from ctxzoo.hub.saved_model import read_saved_model
from ctxzoo.tasks.word_embeddings.card import CARD
from ctxzoo.tasks.word_embeddings.corpus import LONGEST_SENTENCE
from ctxzoo.tasks.word_embeddings.prediction import fill_masks
from tests.support.tiny_word_embedding import write_tiny


def test_of_a_text_of_one_line_the_words_around_the_mask_are_read(tmp_path: Path) -> None:
    filler = CARD.load_pipeline(read_saved_model(str(write_tiny(tmp_path / "tiny"))), device="cpu")
    read: list[int] = []
    filler.model.register_forward_hook(lambda module, inputs, output: read.append(output.logits.size(1)))
    words = sorted(word for word in filler.tokenizer.get_vocab() if word.isalpha())
    sides = [" ".join(words[(3 * n + side) % len(words)] for n in range(5_000)) for side in range(2)]
    near = [" ".join(sides[0].split()[-20:]), " ".join(sides[1].split()[:20])]
    assert fill_masks(filler, [" [MASK] ".join(sides)]) == fill_masks(filler, [" [MASK] ".join(near)])
    assert read == [2 * LONGEST_SENTENCE + 1, 41]
