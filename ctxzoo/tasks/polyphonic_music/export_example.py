"""Continue a piece with the exported model, without ctxzoo: `python example.py "[[39, 43], [41]]" 8 .3`."""

import json
import sys
from pathlib import Path

import numpy as np

FOLDER = Path(__file__).parent
KEYS = 88


def main(notes: str, steps: str = "8", threshold: str = "0.5") -> None:
    """Print the keys of the steps that follow, as `ctxzoo predict --threshold` adds them."""
    import onnxruntime

    roll = np.zeros((len(json.loads(notes)), KEYS), np.float32)
    for step, keys in enumerate(json.loads(notes)):
        roll[step, keys] = 1
    begin = len(roll)
    model = onnxruntime.InferenceSession(FOLDER / "model.onnx")
    for _ in range(int(steps)):
        inputs = {"inputs_embeds": roll[None], "attention_mask": np.ones((1, len(roll)), np.int64)}
        logits = model.run(None, inputs)[0][0, -1]
        roll = np.concatenate([roll, (1 / (1 + np.exp(-logits)) >= float(threshold))[None].astype(np.float32)])
    print(json.dumps([np.flatnonzero(step).tolist() for step in roll[begin:]]))


if __name__ == "__main__":
    main(*(sys.argv[1:] or ["[[39, 43, 46], [39, 43, 46], [41, 44, 48]]"]))
