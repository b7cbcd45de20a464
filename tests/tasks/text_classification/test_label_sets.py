"""Several labels a text: how they are read, scored, and fitted by a linear part, against scikit-learn."""

from __future__ import annotations

from typing import Any

import datasets
import numpy as np
import pytest
import torch
from scipy import sparse
from sklearn.metrics import accuracy_score, f1_score, precision_recall_fscore_support
from sklearn.svm import LinearSVC

from ctxzoo.data.formats import TextFormatError
from ctxzoo.data.own_splits import choose_rarest_labels, draw_stratified_group_split
from ctxzoo.data.reading_notes import collect_reading_notes
from ctxzoo.metrics.label_scores import LabelPairs, LabelSetScores, choose_unsure_threshold, tabulate_pairs
from ctxzoo.models.ops_words import text_classification_loss
from ctxzoo.tasks.text_classification.label_sets import find_separator, parse_class_weights
from ctxzoo.tasks.text_classification.naive_bayes import compute_log_count_ratios
from ctxzoo.tasks.text_classification.reader import TextSplits, check_texts
from ctxzoo.tasks.text_classification.splitting import draw_rows_of_every_label, get_labels
from ctxzoo.tasks.text_classification.wide_start import compute_tfidf, fit_wide_part

SETS = [["b", "a"], [], ["c"], ["a", "a"]]
MARKS = [[1, 1, 0], [0, 0, 0], [0, 0, 1], [1, 0, 0]]


def read(label: list[Any] | None = None, **options: Any) -> TextSplits:
    """Return checked texts with these labels, or columns of labels given by their names."""
    columns = {name: options.pop(name) for name in list(options) if name in ("a", "b", "c")}
    labels = columns if label is None else {"label": label}
    rows = datasets.Dataset.from_dict({"text": [f"t{n}" for n in range(len(next(iter(labels.values()))))], **labels})
    return check_texts({"train": rows}, **options)


@pytest.mark.parametrize(
    "checked",
    [
        lambda: read(SETS),
        lambda: read(["b;a", "", " c ; ", "a;a"], label_separator=";"),
        lambda: read(
            a=["1", "0", "0", "1"], b=[True, False, False, False], c=[0.0, 0.0, 1.0, 0.0], label_columns=["a", "b", "c"]
        ),
    ],
)
def test_lists_cells_and_columns_are_the_same_labels(checked: Any) -> None:
    with collect_reading_notes() as notes:
        splits = checked()
    assert splits.has_several_labels
    assert splits.label_names == ["a", "b", "c"]
    np.testing.assert_array_equal(get_labels(splits.splits["train"]), MARKS)
    assert notes.counts()["texts without any label, read as such"] == 1


def test_a_separator_is_read_only_where_it_is_set_and_said_where_it_looks_like_one() -> None:
    with collect_reading_notes() as notes:
        splits = read(["a;b", "b;c", "a"])
    assert splits.label_names == ["a", "a;b", "b;c"]
    assert "labels such as 'a;b' are each read as one label" in notes.format_lines()[0]
    assert "--label_separator ';'" in notes.format_lines()[0]
    assert find_separator(["Action, war", "Sport", "Weather, rain"]) is None
    with collect_reading_notes() as notes:
        read(["['a', 'b']", "['b']"])
    assert "or as lists in .jsonl" in notes.format_lines()[0]


def test_whole_numbers_have_the_order_of_numbers_and_rows_read_again_are_the_same() -> None:
    splits = read([[10, 9], [2], []])
    assert splits.label_names == ["2", "9", "10"]
    again = check_texts(splits.splits)
    assert again.label_names == splits.label_names
    assert again.fingerprint == splits.fingerprint


@pytest.mark.parametrize(
    ("checked", "message"),
    [
        (lambda: read([["a"], None]), r"row 1: no list of labels in column 'label'; write \[\] for a text without"),
        (lambda: read([["a"], ["b", ""]]), r"row 1: the labels in column 'label' are \['b', ''\]; expected a list of"),
        (lambda: read([["a"], ["a"]]), "the only label is 'a'; expected two or more"),
        (lambda: read([[], []]), "no text has a label; expected two or more"),
        (
            lambda: read(a=["1", "2"], b=["0", "1"], label_columns=["a", "b"]),
            "row 1: '2' in label column 'a'; expected",
        ),
        (lambda: read(a=["1", "0"], b=["0", "0"]), "for the label, but 0 and 1 in a, b; name those that are labels of"),
        (lambda: read(a=["1"], label_columns=["a", "x"]), r"no column 'x' for a label; it has \['text', 'a'\]"),
        (lambda: read(a=["1"], label_columns=["a", "a"]), "label columns .* one twice"),
        (lambda: read(["a"], label_separator=";", label_columns=["a"]), "beside label_column=None and .*give either"),
        (lambda: read([0.5, 1.5], label_separator=";"), "type double, which ';' does not separate"),
        (lambda: read(SETS, several_labels=False), "the model gives each one; expected one label"),
        (lambda: read(SETS, known_labels=["a", "b"]), "row 2: label 'c', which the model does not have; 1 of 4 rows"),
    ],
)
def test_bad_labels(checked: Any, message: str) -> None:
    with pytest.raises(TextFormatError, match=message):
        checked()


def test_a_model_of_several_labels_reads_one_and_says_so() -> None:
    with collect_reading_notes(skip_bad=True) as notes:
        splits = read(["a", "x", "b"], known_labels=["b", "a"], several_labels=True)
    np.testing.assert_array_equal(get_labels(splits.splits["train"]), [[0, 1], [1, 0]])
    assert "texts have one label each here" in "".join(notes.format_lines())
    assert len(notes.left_out) == 1


def test_the_rarest_label_of_each_text_is_in_every_part() -> None:
    random = np.random.default_rng(0)
    labels = (random.random((400, 4)) < [0.5, 0.3, 0.1, 0.05]).astype(np.int8)
    rarest = choose_rarest_labels(labels)
    assert set(rarest[labels[:, 3] == 1]) == {3}
    assert set(rarest[labels.sum(axis=1) == 0]) == {4}
    parts = draw_stratified_group_split(np.arange(400), rarest, {"validation": 0.1, "test": 0.1}, seed=0)
    for part in parts.values():
        np.testing.assert_allclose(labels[part, 3].mean(), labels[:, 3].mean(), atol=0.02)
    assert labels[draw_rows_of_every_label(labels, 10, seed=0)].any(axis=0).all()


def test_scores_are_those_of_scikit_learn() -> None:
    generator = torch.Generator().manual_seed(0)
    labels = (torch.rand(60, 5, generator=generator) < torch.tensor([0.5, 0.3, 0.1, 0.0, 0.0])).to(torch.int8)
    probabilities = (0.4 * torch.rand(60, 5, generator=generator) + 0.5 * labels).clamp(max=1) * torch.tensor(
        [1, 1, 1, 0.5, 0]
    )
    scores = LabelSetScores(5, threshold=0.123)
    scores.update(probabilities[:20], labels[:20])
    scores.update(probabilities[20:], labels[20:])
    for threshold in (0.01, 0.123, 0.5, 0.77):
        given, true = (probabilities.double() >= threshold).numpy(), labels.numpy()
        occurring = np.flatnonzero(given.any(axis=0) | true.any(axis=0))
        expected = {
            "micro_f1": 100 * f1_score(true, given, average="micro"),
            "macro_f1": 100 * f1_score(true, given, average="macro", labels=occurring, zero_division=0.0),
            "exact_match": 100 * accuracy_score(true, given),
        }
        assert scores.compute_at(threshold) == pytest.approx(expected)
    best = max(scores.compute_at_thresholds()["micro_f1"].tolist())
    assert scores.compute_at(scores.choose_threshold())["micro_f1"] >= best - 0.5
    empty = LabelSetScores(2)
    empty.update(torch.tensor([[0.1, 0.2]]), torch.tensor([[0, 0]]))
    assert empty.compute() == {"micro_f1": 0.0, "macro_f1": 0.0, "exact_match": 100.0}


def test_scores_of_each_label_are_those_of_scikit_learn() -> None:
    random = np.random.default_rng(0)
    true, predicted = random.integers(0, 4, (2, 50))
    pairs = LabelPairs(5)
    pairs.update(torch.from_numpy(predicted[:30]), torch.from_numpy(true[:30]))
    pairs.update(torch.from_numpy(predicted[30:]), torch.from_numpy(true[30:]))
    table = tabulate_pairs(pairs.compute().numpy(), list("abcde"))
    expected = precision_recall_fscore_support(true, predicted, labels=range(5), zero_division=0.0)
    for name, values in zip(("precision", "recall", "f1", "support"), expected, strict=True):
        np.testing.assert_allclose(table[name], values * (1 if name == "support" else 100))
    confused = {(one, other): number for one, other, number in table["confused"]}
    for (one, other), number in confused.items():
        assert number == ((true == "abcde".index(one)) & (predicted == "abcde".index(other))).sum()
    assert sum(confused.values()) == (true != predicted).sum()


def test_the_unsure_are_those_that_are_wrong_most_often() -> None:
    probabilities = np.array([0.3, 0.4, 0.5, 0.6, 0.9, 0.95])
    is_right = np.array([False, False, True, False, True, True])
    assert choose_unsure_threshold(probabilities, is_right) == pytest.approx(0.75)
    assert choose_unsure_threshold(probabilities, np.ones(6, np.bool_)) is None


def test_the_loss_is_the_binary_cross_entropy() -> None:
    logits = torch.tensor([[2.0, -1.0], [0.5, 3.0]], dtype=torch.float64, requires_grad=True)
    labels = torch.tensor([[1, 0], [0, 1]], dtype=torch.int8)
    loss = text_classification_loss(logits, labels, "multi_label_classification")
    p = 1 / (1 + np.exp(-logits.detach().numpy()))
    y = labels.numpy()
    assert float(loss) == pytest.approx(-(y * np.log(p) + (1 - y) * np.log(1 - p)).mean())
    loss.backward()
    np.testing.assert_allclose(logits.grad, (p - y) / 4)
    for bad, message in ((torch.tensor([0, 1]), r"shape \(2, 2\), 0 or 1 for each"), (2 * labels, "must be 0 or 1")):
        with pytest.raises(ValueError, match=message):
            text_classification_loss(logits, bad, "multi_label_classification")


def test_weights_of_labels() -> None:
    of_row = np.array([0, 0, 0, 1])
    assert parse_class_weights(["balanced"], ["a", "b"], of_row) == pytest.approx([2 / 3, 2.0])
    assert parse_class_weights(["balanced"], list("abc"), np.array(MARKS)) == pytest.approx([1.0, 3.0, 3.0])
    assert parse_class_weights(["b:2.5"], ["a", "b"], of_row) == [1.0, 2.5]
    for bad in ("b", "b:0", "x:1", "b:nan"):
        with pytest.raises(ValueError, match=f"class_weights='{bad}': expected balanced, or .* labels are 'a', 'b'"):
            parse_class_weights([bad], ["a", "b"], of_row)


@pytest.mark.parametrize("weights", [None, np.array([1.0, 5.0, 1.0])])
def test_the_linear_part_has_an_svm_for_each_label(weights: np.ndarray | None) -> None:
    """One value of C, and ids that speak for nothing: margins are a line of those of an SVM with sample weights."""
    random = np.random.default_rng(0)
    labels = (random.random((90, 3)) < [0.5, 0.3, 0.0]).astype(np.int8)
    counts = sparse.csr_matrix((random.random((90, 12)) < 0.3 + 0.4 * labels[:, [0, 1] * 6]) * 1.0)
    start = fit_wide_part(counts, labels, 3, (0,), 0, costs=(1.0,), class_weights=weights)
    features = compute_tfidf(counts, start.inverse_document_frequency.double().numpy(), (0,))
    scores = features @ start.weight.double().numpy() + start.bias.double().numpy()
    assert scores[:, 2].max() < scores[:, :2].mean()  # a label that no text has
    signs = scores[:, :2] > np.median(scores[:, :2], axis=0)
    assert (signs == labels[:, :2]).mean() > 0.7
    scales = np.sqrt(np.abs(compute_log_count_ratios((counts > 0) * 1.0, labels, [1])[0]))
    of_rows = None if weights is None else np.where(labels[:, 1] == 1, 5.0, 1.0)
    svm = LinearSVC(C=1.0, random_state=0).fit(features @ sparse.diags(scales), labels[:, 1], of_rows)
    margins = features @ (svm.coef_[0] * scales) + svm.intercept_[0]
    factor, shift = np.polyfit(margins, scores[:, 1], 1)
    np.testing.assert_allclose(factor * margins + shift, scores[:, 1], atol=1e-3)
