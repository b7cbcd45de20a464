"""Continue a line with the exported model, without ctxzoo: `python example.py "the beginning" 10`."""

import json
import sys
from pathlib import Path

import numpy as np

FOLDER = Path(__file__).parent


def main(text: str, words: str = "20") -> None:
    """Print the text and the likeliest words behind it, each after those before, until the line ends."""
    import onnxruntime
    from tokenizers import Tokenizer

    settings = json.loads((FOLDER / "tokenizer_config.json").read_text("utf-8"))
    tokenizer = Tokenizer.from_file(str(FOLDER / "tokenizer.json"))
    tokenizer.encode_special_tokens = True  # "[PAD]" in a text is text
    index_of = tokenizer.get_vocab()
    pad, unknown, end = (index_of[settings[name]] for name in ("pad_token", "unk_token", "eos_token"))
    ids = [end, *(index or unknown for index in tokenizer.encode(text, add_special_tokens=False).ids)]
    start = len(ids)
    model = onnxruntime.InferenceSession(FOLDER / "model.onnx")
    while len(ids) < start + int(words) and (ids[-1] != end or len(ids) == start):
        inputs = {"input_ids": np.array([ids], np.int64), "attention_mask": np.ones((1, len(ids)), np.int64)}
        scores = model.run(None, inputs)[0][0, -1]
        scores[[pad, unknown]] = -np.inf
        ids.append(int(scores.argmax()))
    words_of = {index: word for word, index in index_of.items()}
    print(" ".join([text, *(words_of[index] for index in ids[start:] if index != end)]))


if __name__ == "__main__":
    main(*(sys.argv[1:] or ["the"]))
