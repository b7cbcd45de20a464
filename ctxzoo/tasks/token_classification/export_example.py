"""Tag a text with the exported model, without ctxzoo: `python example.py "a text"`."""

import json
import sys
from pathlib import Path

import numpy as np

from ctxzoo.models.tokenization_features import list_word_features

FOLDER = Path(__file__).parent
SUBWORDS = 16  # most of a word


def main(text: str) -> None:
    """Print word, tag and probability, as `ctxzoo predict` does."""
    import onnxruntime
    from tokenizers import Tokenizer

    config, settings = (
        json.loads((FOLDER / name).read_text("utf-8")) for name in ("config.json", "tokenizer_config.json")
    )
    tokenizer = Tokenizer.from_file(str(FOLDER / "tokenizer.json"))
    tokenizer.encode_special_tokens = True  # "[PAD]" in a text is text
    encoding = tokenizer.encode(text, add_special_tokens=False)
    words = [text[begin:end] for begin, end in encoding.offsets]
    unknown = tokenizer.token_to_id("[UNK]")
    ids = [index or unknown for index in encoding.ids]
    inputs = {"input_ids": np.array([ids], np.int64), "attention_mask": np.ones((1, len(ids)), np.int64)}
    if settings.get("features"):
        numbers = {name: number for number, name in enumerate(settings["features"], start=1)}
        inputs["feature_ids"] = np.array(
            [[[numbers.get(name, 0) for name in list_word_features(word)] for word in words]], np.int64
        )
    if (FOLDER / "encoder_tokenizer.json").exists():
        encoder = Tokenizer.from_file(str(FOLDER / "encoder_tokenizer.json"))
        inputs["subword_ids"] = np.zeros((1, len(ids), SUBWORDS), np.int64)
        for place, word in enumerate(words):  # a text is read as a list of words, with blanks between them
            found = encoder.encode((" " if place else "") + word, add_special_tokens=False).ids[:SUBWORDS]
            inputs["subword_ids"][0, place, : len(found)] = np.array(found) + 1
    model = onnxruntime.InferenceSession(FOLDER / "model.onnx")
    logits = model.run(None, inputs)[0][0]

    names = list(config["id2label"].values())
    for word, scores in zip(words, logits, strict=True):
        probabilities = np.exp(scores - scores.max()) / np.exp(scores - scores.max()).sum()
        print(f"{word}\t{names[probabilities.argmax()]}\t{probabilities.max():.4f}")


if __name__ == "__main__":
    main(*(sys.argv[1:] or ["The old man the boat ."]))
