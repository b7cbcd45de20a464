"""Label a text with the exported model, without ctxzoo: `python example.py "a text"`."""

import json
import sys
from itertools import takewhile
from pathlib import Path

import numpy as np

from ctxzoo.models.ops_ngrams import NgramIds

FOLDER = Path(__file__).parent
SUBWORDS = 16  # most of a word


def main(text: str) -> None:
    """Print the answer of `ctxzoo predict` for a text."""
    import onnxruntime
    from tokenizers import Tokenizer

    config, settings = (
        json.loads((FOLDER / name).read_text("utf-8")) for name in ("config.json", "tokenizer_config.json")
    )
    tokenizer = Tokenizer.from_file(str(FOLDER / "tokenizer.json"))
    tokenizer.encode_special_tokens = True  # "[PAD]" in a text is text
    encoding = tokenizer.encode(text, add_special_tokens=False)
    known = [place for place, index in enumerate(encoding.ids) if index]  # 0: not in the vocabulary
    kept = known[: settings.get("model_max_length") or None]
    ids = [encoding.ids[place] for place in kept]

    normalized = tokenizer.normalizer.normalize_str(text) if tokenizer.normalizer else text
    words = [word for word, _ in tokenizer.pre_tokenizer.pre_tokenize_str(normalized)]
    words = words[: kept[-1] + 1] if len(kept) < len(known) else words
    sizes = [settings.get(name, 0) for name in ("ngram_buckets", "char_ngram_buckets")]
    if any(sizes):
        order, characters = settings.get("ngram_order", 1), settings.get("char_ngrams")
        ids += NgramIds(tokenizer.get_vocab_size(), sizes[0], order, characters, sizes[1]).encode(words)

    inputs = {"input_ids": np.array([ids], np.int64), "attention_mask": np.ones((1, len(ids)), np.int64)}
    if (FOLDER / "encoder_tokenizer.json").exists():
        encoder = Tokenizer.from_file(str(FOLDER / "encoder_tokenizer.json"))
        subwords = np.zeros((1, len(ids), SUBWORDS), np.int64)
        for place, (begin, end) in enumerate(encoding.offsets[one] for one in kept):
            blank = " " if place and text[begin - 1].isspace() else ""
            found = encoder.encode(blank + text[begin:end], add_special_tokens=False).ids[:SUBWORDS]
            subwords[0, place, : len(found)] = np.array(found) + 1
        inputs["subword_ids"] = subwords
    model = onnxruntime.InferenceSession(FOLDER / "model.onnx")
    logits = model.run(None, inputs)[0][0]

    names = list(config["id2label"].values())
    if config.get("problem_type") == "multi_label_classification":
        probabilities, threshold = 1 / (1 + np.exp(-logits)), config.get("label_threshold") or 0.5
        order = np.argsort(-probabilities, kind="stable")
        given = [names[label] for label in takewhile(lambda label: probabilities[label] >= threshold, order)]
        sure = np.where(probabilities >= threshold, probabilities, 1 - probabilities).min()
        print(json.dumps({"labels": given, "score": float(sure)}))
    else:
        probabilities = np.exp(logits - logits.max()) / np.exp(logits - logits.max()).sum()
        print(json.dumps({"label": names[probabilities.argmax()], "score": float(probabilities.max())}))


if __name__ == "__main__":
    main(*(sys.argv[1:] or ["a gripping, beautifully acted film"]))
