"""Predict a number with the exported model, without ctxzoo: `python example.py 1.5 0.2 3`."""

import json
import sys
from pathlib import Path

import numpy as np

FOLDER = Path(__file__).parent


def main(*numbers: str) -> None:
    """Print the answer of `ctxzoo predict` for the features of one row."""
    import onnxruntime

    config = json.loads((FOLDER / "config.json").read_text("utf-8"))
    row = [float(number) for number in numbers] or [0.0] * config["input_size"]
    model = onnxruntime.InferenceSession(FOLDER / "model.onnx")
    inputs = {"rows": np.array([row], np.float32)}
    print(json.dumps({config["target_name"]: float(model.run(None, inputs)[0][0])}))


if __name__ == "__main__":
    main(*sys.argv[1:])
