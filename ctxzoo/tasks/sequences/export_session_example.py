"""Recommend items with the exported model, without ctxzoo: `python example.py first second third`."""

import json
import sys
from pathlib import Path

import numpy as np

FOLDER = Path(__file__).parent


def main(*items: str) -> None:
    """Print name and probability of the ten likeliest next items, the answer of `ctxzoo predict`."""
    import onnxruntime

    config = json.loads((FOLDER / "config.json").read_text("utf-8"))
    names = config.get("item_names") or [str(number) for number in range(1, config["num_items"] + 1)]
    numbers = {name: number for number, name in enumerate(names, start=1)}
    ids = [numbers[item] for item in items or names[:3]][-config["max_history"] :]
    inputs = {"input_ids": np.array([ids], np.int64), "attention_mask": np.ones((1, len(ids)), np.int64)}
    model = onnxruntime.InferenceSession(FOLDER / "model.onnx")
    scores = model.run(None, inputs)[0][0]
    probabilities = np.exp(scores - scores.max()) / np.exp(scores - scores.max()).sum()
    best = np.argsort(-probabilities[1:], kind="stable")[:10]
    print(json.dumps([[names[place], float(probabilities[1 + place])] for place in best]))


if __name__ == "__main__":
    main(*sys.argv[1:])
