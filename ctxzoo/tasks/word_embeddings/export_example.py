"""Fill in a masked word with the exported model, without ctxzoo: `python example.py "the [MASK] of a text"`."""

import json
import sys
from pathlib import Path

import numpy as np

FOLDER = Path(__file__).parent


def main(text: str) -> None:
    """Print the most probable words for the mask, the answer of `ctxzoo predict`."""
    import onnxruntime
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(FOLDER / "tokenizer.json"))
    ids = [index for index in tokenizer.encode(text, add_special_tokens=False).ids if index]  # 0: unknown
    inputs = {"input_ids": np.array([ids], np.int64), "attention_mask": np.ones((1, len(ids)), np.int64)}
    model = onnxruntime.InferenceSession(FOLDER / "model.onnx")
    scores = model.run(None, inputs)[0][0, ids.index(1)]  # 1: [MASK]
    probabilities = np.exp(scores - scores.max()) / np.exp(scores - scores.max()).sum()
    best = np.argsort(-probabilities, kind="stable")[:5]
    print(json.dumps([{"word": tokenizer.id_to_token(index), "score": float(probabilities[index])} for index in best]))


if __name__ == "__main__":
    main(*(sys.argv[1:] or ["the [MASK] of the united states"]))
