"""Predict the next event with the exported model, without ctxzoo: `python example.py first@10 second@25.5`."""

import json
import sys
from pathlib import Path

import numpy as np

FOLDER = Path(__file__).parent


def main(*events: str) -> None:
    """Print name and probability of the ten likeliest next events, the answer of `ctxzoo predict`."""
    import onnxruntime

    config = json.loads((FOLDER / "config.json").read_text("utf-8"))
    names = config.get("event_names") or [str(number) for number in range(1, config["vocab_size"])]
    numbers = {name: number for number, name in enumerate(names, start=1)}
    history = [event.rsplit("@", 1) for event in events or (f"{names[0]}@0", f"{names[-1]}@100000")]
    history = history[-config["max_history"] :]
    inputs = {
        "input_ids": np.array([[numbers[name] for name, _ in history]], np.int64),
        "attention_mask": np.ones((1, len(history)), np.int64),
        "timestamps": np.array([[float(time) for _, time in history]], np.float64),
    }
    model = onnxruntime.InferenceSession(FOLDER / "model.onnx")
    scores = model.run(None, inputs)[0][0, -1]
    probabilities = np.exp(scores - scores.max()) / np.exp(scores - scores.max()).sum()
    best = np.argsort(-probabilities[1:], kind="stable")[:10]
    print(json.dumps([[names[place], float(probabilities[1 + place])] for place in best]))


if __name__ == "__main__":
    main(*sys.argv[1:])
