"""SQuAD 2.0 scores from the published rules, slow and plain: a second opinion on ``ctxzoo.metrics.squad_v2``."""

from __future__ import annotations

from typing import Any

ASCII_PUNCTUATION = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"


def reference_words(text: str) -> list[str]:
    """Lower case, drop ASCII punctuation, drop articles that stand alone, split at white space."""
    kept = [character for character in text.lower() if character not in ASCII_PUNCTUATION]
    runs: list[str] = []  # of letters and digits, or of anything else, in turns
    for character in kept:
        if runs and runs[-1][-1].isalnum() == character.isalnum():
            runs[-1] += character
        else:
            runs.append(character)
    return "".join(" " if run in ("a", "an", "the") else run for run in runs).split()


def reference_f1(prediction: str, gold: str) -> float:
    left, right = reference_words(prediction), reference_words(gold)
    if left == [] or right == []:
        return 1.0 if left == right else 0.0
    unmatched = list(right)
    hits = 0
    for word in left:
        if word in unmatched:
            unmatched.remove(word)
            hits += 1
    if hits == 0:
        return 0.0
    precision, recall = hits / len(left), hits / len(right)
    return (2 * precision * recall) / (precision + recall)


def reference_squad_v2(
    predictions: list[dict[str, Any]], references: list[dict[str, Any]], threshold: float = 1.0
) -> dict[str, float]:
    """Scores in percent, keys as in the evaluation script of SQuAD 2.0, with AvNA (percent) and no_answer_auc."""
    table: dict[str, dict[str, Any]] = {}
    for prediction in predictions:
        table[prediction["id"]] = {
            "text": prediction["prediction_text"],
            "probability": prediction["no_answer_probability"],
        }
    for reference in references:
        row = table[reference["id"]]
        texts = reference["answers"]["text"]
        row["answerable"] = len(texts) > 0
        golds = [text for text in texts if reference_words(text)]
        if not golds:
            golds = [""]
        row["exact"] = 0.0
        row["f1"] = 0.0
        for gold in golds:
            if reference_words(gold) == reference_words(row["text"]):
                row["exact"] = 1.0
            row["f1"] = max(row["f1"], reference_f1(row["text"], gold))

    result: dict[str, float] = {}
    groups = {"": list(table.values())}
    groups["HasAns_"] = [row for row in table.values() if row["answerable"]]
    groups["NoAns_"] = [row for row in table.values() if not row["answerable"]]
    for prefix, rows in groups.items():
        if not rows:
            continue
        for name in ("exact", "f1"):
            points = 0.0
            for row in rows:
                if row["probability"] > threshold:
                    points += 0.0 if row["answerable"] else 1.0
                else:
                    points += row[name]
            result[prefix + name] = 100.0 * points / len(rows)
        result[prefix + "total"] = len(rows)

    # Every way to answer the first questions only, most confident first, scored anew from the start.
    order = sorted(table.values(), key=lambda row: row["probability"])
    for name in ("exact", "f1"):
        best, best_threshold = float(len(groups["NoAns_"])), 0.0
        for answered in range(1, len(order) + 1):
            points = float(len(groups["NoAns_"]))
            for row in order[:answered]:
                if row["answerable"]:
                    points += row[name]
                elif row["text"] != "":
                    points -= 1.0
            if points > best:
                best, best_threshold = points, order[answered - 1]["probability"]
        result[f"best_{name}"] = 100.0 * best / len(order)
        result[f"best_{name}_thresh"] = best_threshold

    agreeing = 0
    for row in table.values():
        silent = row["text"] == "" or row["probability"] > threshold
        agreeing += 1 if silent != row["answerable"] else 0
    result["AvNA"] = 100.0 * agreeing / len(table)

    if groups["HasAns_"] and groups["NoAns_"]:
        wins = 0.0
        for unanswerable in groups["NoAns_"]:
            for answerable in groups["HasAns_"]:
                if unanswerable["probability"] > answerable["probability"]:
                    wins += 1.0
                elif unanswerable["probability"] == answerable["probability"]:
                    wins += 0.5
        result["no_answer_auc"] = wins / (len(groups["NoAns_"]) * len(groups["HasAns_"]))
    return result
