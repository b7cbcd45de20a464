"""Predict votes with the exported model, without ctxzoo: `python example.py "what the bill says"`."""

import json
import sys
from pathlib import Path

import numpy as np

from ctxzoo.models.ops_vote_text import remove_outcomes, split_into_words

FOLDER = Path(__file__).parent


def main(text: str, bill: str = "") -> None:
    """Print the probability of a yea of each legislator, the answer of `ctxzoo predict`."""
    import onnxruntime

    config = json.loads((FOLDER / "config.json").read_text("utf-8"))
    bills = config.get("bill_names") or [str(number) for number in range(config["num_bills"])]
    people = config.get("legislator_names") or [str(number) for number in range(config["num_legislators"])]
    places = {word: place for place, word in enumerate(config.get("words") or [])}
    bag = np.zeros((1, config["vocab_size"]), np.float32)
    for word in split_into_words(remove_outcomes(text) if config.get("cut_outcomes") else text):
        if word in places:
            bag[0, places[word]] += 1
    inputs = {
        "bag_of_words": bag,
        "bill_ids": np.array([bills.index(bill) if bill in bills else -1], np.int64),
        "votes": np.full((1, len(people)), np.nan, np.float32),
    }
    model = onnxruntime.InferenceSession(FOLDER / "model.onnx")
    logits = model.run(None, inputs)[0][0]
    yeas = 1 / (1 + np.exp(-logits))
    print(json.dumps({"yea": dict(zip(people, yeas.tolist(), strict=True))}))


if __name__ == "__main__":
    main(*(sys.argv[1:] or ["a bill to lower taxes"]))
