"""Answer a question with the exported model, without ctxzoo: `python example.py "a question" "a context"`."""

import json
import sys
from pathlib import Path

import numpy as np

from ctxzoo.models.ops_bidaf_words import compute_word_features

FOLDER = Path(__file__).parent
SUBWORDS = 16  # most of a word


def main(question: str, context: str) -> None:
    """Print the answer of `ctxzoo predict` and its score."""
    import onnxruntime
    from tokenizers import Tokenizer

    config, settings = (
        json.loads((FOLDER / name).read_text("utf-8")) for name in ("config.json", "tokenizer_config.json")
    )
    tokenizer = Tokenizer.from_file(str(FOLDER / "tokenizer.json"))
    tokenizer.encode_special_tokens = True  # "[UNK]" in a text is text
    cut = {
        prefix: tokenizer.encode(text, add_special_tokens=False).offsets
        for prefix, text in (("", context), ("question_", question))
    }
    texts = {"": context, "question_": question}
    words = {prefix: [texts[prefix][begin:end] for begin, end in spans] for prefix, spans in cut.items()}
    characters, width = settings.get("char_vocab"), settings.get("max_word_length", 16)
    inputs = {}
    for prefix, other in (("", "question_"), ("question_", "")):
        ids = [1]  # the extra token
        for word in words[prefix]:
            plain = '"' if word in ("``", "''") else word
            forms = (plain, plain.lower(), plain.capitalize(), plain.upper())
            ids.append(next((index for form in forms if (index := tokenizer.token_to_id(form)) is not None), 1))
        inputs[prefix + "input_ids"] = np.array([ids], np.int64)
        inputs[prefix + "attention_mask"] = np.ones((1, len(ids)), np.int64)
        if characters:
            rows = [[characters.get(one, 1) for one in word[:width]] for word in words[prefix]]
            rows = [[1] * width, *(row + [0] * (width - len(row)) for row in rows)]
            inputs[prefix + "char_ids"] = np.array([rows], np.int64)
        if config["word_features"]:
            features = compute_word_features(words[prefix], words[other])
            inputs[prefix + "word_features"] = np.array([[[0.0] * len(features[0]), *features]], np.float32)
        if (FOLDER / "encoder_tokenizer.json").exists():
            encoder = Tokenizer.from_file(str(FOLDER / "encoder_tokenizer.json"))
            subwords = np.zeros((1, len(ids), SUBWORDS), np.int64)
            for place, (word, (begin, _)) in enumerate(zip(words[prefix], cut[prefix], strict=True), start=1):
                blank = " " if place > 1 and texts[prefix][begin - 1].isspace() else ""
                found = encoder.encode(blank + word, add_special_tokens=False).ids[:SUBWORDS]
                subwords[0, place, : len(found)] = np.array(found) + 1
            inputs[prefix + "subword_ids"] = subwords
    model = onnxruntime.InferenceSession(FOLDER / "model.onnx")
    start, end = (scores[0] - np.logaddexp.reduce(scores[0]) for scores in model.run(None, inputs))

    sums = np.triu(start[1:, None] + end[None, 1:])  # of the words i to j, as logarithms
    places = np.arange(len(sums))
    too_long = (places[None] < places[:, None]) | (places[None] >= places[:, None] + config["max_answer_length"])
    sums = np.where(too_long, -np.inf, sums)
    first, last = np.unravel_index(sums.argmax(), sums.shape)
    answer = context[cut[""][first][0] : cut[""][last][1]]
    refusal = 1 / (1 + np.exp(sums.max() - start[0] - end[0]))
    if config["squad_version"] == "2.0" and refusal > (config["no_answer_threshold"] or 0.5):
        answer = ""
    print(json.dumps({"answer": answer, "score": float(np.exp(sums.max()))}))


if __name__ == "__main__":
    main(*(sys.argv[1:] or ["Who wrote it?", "The letter was written by Ada Lovelace in 1843."]))
