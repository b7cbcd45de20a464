from __future__ import annotations

import hashlib
import json
import re
from collections import Counter, defaultdict
from itertools import pairwise

import pytest
import torch

from ctxzoo.data.formats import SPLITS
from ctxzoo.tasks.question_answering.reader import check_squad
from ctxzoo.tasks.question_answering.sample import Paragraph, generate_paragraphs, sample_squad
from ctxzoo.tasks.question_answering.sample_templates import NAME_KINDS, NUMBERS, RELATIONS

SIZES = {"train": 6000, "validation": 400, "test": 400}
FROZEN = "f4e3af78ce3bc16160b2bb9b51800f5a32d3fa08e4181f59d48365396ad62ab4"


@pytest.fixture(scope="module")
def paragraphs() -> dict[str, list[Paragraph]]:
    return {split: generate_paragraphs(0, split, count) for split, count in SIZES.items()}


@pytest.fixture(scope="module")
def every(paragraphs) -> list[Paragraph]:
    return [paragraph for split in paragraphs.values() for paragraph in split]


def _sha256(corpus) -> str:
    return hashlib.sha256(json.dumps({name: split.to_dict() for name, split in corpus.items()}).encode()).hexdigest()


def test_the_corpus_is_frozen():
    """Same bytes on every machine: results on the sample can be compared. A change of the templates is a new corpus."""
    assert _sha256(sample_squad()) == FROZEN


def test_seed_and_sizes():
    small = sample_squad(seed=3, train=20, validation=7, test=1)
    assert {name: len(split) for name, split in small.items()} == {"train": 20, "validation": 7, "test": 1}
    assert _sha256(small) == _sha256(sample_squad(seed=3, train=20, validation=7, test=1))
    assert _sha256(small) != _sha256(sample_squad(seed=4, train=20, validation=7, test=1))
    larger = sample_squad(seed=3, train=60, validation=9, test=5)
    assert all(larger[name].select(range(len(small[name]))).to_dict() == small[name].to_dict() for name in SPLITS)
    for arguments in ({"seed": -1}, {"train": 0}, {"test": -2}):
        with pytest.raises(ValueError, match=str(next(iter(arguments.values())))):
            sample_squad(**{"train": 5, "validation": 5, "test": 5, **arguments})


def test_rows_pass_the_reader_and_ids_differ_everywhere():
    corpus = sample_squad()
    assert check_squad(corpus, squad_version="2.0").squad_version == "2.0"
    ids = [identifier for split in corpus.values() for identifier in split["id"]]
    assert len(set(ids)) == len(ids)
    row = corpus["train"][0]
    assert row["id"] == hashlib.sha1(f"{row['context']}\n{row['question']}".encode()).hexdigest()[:24]


def test_facts_stand_where_they_say_and_only_there(every):
    for paragraph in every:
        for fact in paragraph.facts:
            assert paragraph.context[fact.start :].startswith(fact.value)
            assert len(re.findall(rf"(?<![\w,]){re.escape(fact.value)}(?!\w)", paragraph.context)) == 1, fact.value
            assert 1 <= len(fact.value.split()) <= 5


def test_paragraphs_are_of_the_promised_shape(every):
    for paragraph in every:
        assert 30 <= len(paragraph.context.split()) <= 60
        assert len({fact.entity for fact in paragraph.facts}) >= 3
        assert re.fullmatch(r"([A-Z0-9][^.?]*\. )*[A-Z0-9][^.?]*\.", paragraph.context), paragraph.context
    counts = Counter(len(paragraph.questions) for paragraph in every)
    assert sum(counts[n] for n in (3, 4, 5, 6)) >= len(every) - len(SPLITS)  # the last one of a split may be cut
    pronouns = [re.search(r"\b(it|she|he)\b", paragraph.context, re.IGNORECASE) for paragraph in every]
    assert sum(match is not None for match in pronouns) > 0.6 * len(every)


def test_answers_follow_from_the_fact_table(every):
    """Answerable exactly when the paragraph states this relation of this entity, and then with its value."""
    for paragraph in every:
        table = {(fact.entity, fact.relation): fact for fact in paragraph.facts}
        assert len(table) == len(paragraph.facts)
        asked = [(question.entity, question.relation) for question in paragraph.questions]
        assert len(set(asked)) == len(asked)
        for question in paragraph.questions:
            assert question.fact == table.get((question.entity, question.relation))
            assert question.entity.name in question.text
            if question.fact is None:  # the relation is there, for somebody else
                assert any(fact.relation == question.relation for fact in paragraph.facts)


def test_unanswerable_questions_are_of_both_kinds(every):
    total = absent = lacking = 0
    for paragraph in every:
        present = {fact.entity for fact in paragraph.facts}
        for question in paragraph.questions:
            total += 1
            absent += question.fact is None and question.entity not in present
            lacking += question.fact is None and question.entity in present
            if question.entity not in present:
                assert question.entity.name not in paragraph.context
    assert 0.3 < (absent + lacking) / total < 0.38
    assert absent > 0.1 * total
    assert lacking > 0.1 * total


def test_values_of_the_same_kind_stand_beside_the_answer(every):
    with_rival = total = 0
    for paragraph in every:
        kinds = Counter(fact.relation.kind for fact in paragraph.facts)
        for question in paragraph.questions:
            if question.fact is not None:
                total += 1
                with_rival += kinds[question.relation.kind] > 1
    assert with_rival > 0.8 * total


def test_questions_use_other_words_than_statements():
    function_words = re.compile(
        r"\b(an?|the|is|was|were|of|in|on|at|to|for|from|with|by|its?|has|have|had|does|did|do|what|which|who|when|where|"
        r"how|many|much)\b"
    )

    def content_words(templates: tuple[str, ...]) -> set[str]:
        text = re.sub(r"\{.\}", "", " ".join(templates)).lower()
        return set(re.findall(r"[a-z]+", function_words.sub("", text)))

    for relation in RELATIONS:
        units = {NUMBERS[relation.kind][3]} if relation.kind in NUMBERS else set()
        asked = content_words(relation.questions)
        assert not asked & (content_words(relation.statements) | units), relation
        assert all(template.count("{v}") == 1 for template in relation.statements)


def _names(paragraphs: list[Paragraph]) -> set[str]:
    names = {fact.value for paragraph in paragraphs for fact in paragraph.facts if fact.relation.kind in NAME_KINDS}
    return names | {
        item.entity.name.removeprefix("the ")
        for paragraph in paragraphs
        for item in (*paragraph.facts, *paragraph.questions)
    }


def test_splits_share_words_of_names_but_no_name(paragraphs):
    names = {split: _names(items) for split, items in paragraphs.items()}
    for one, other in (("train", "validation"), ("train", "test"), ("validation", "test")):
        assert not names[one] & names[other]
    known = {word for name in names["train"] for word in name.split()}
    for split in ("validation", "test"):
        seen = sum(set(name.split()) <= known for name in names[split]) / len(names[split])
        assert 0.6 < seen < 0.95


def test_a_name_has_different_values_in_different_paragraphs(paragraphs):
    """Learning answers by heart does not pay."""
    values = defaultdict(list)
    for paragraph in paragraphs["train"]:
        for fact in paragraph.facts:
            values[fact.entity, fact.relation].append(fact.value)
    repeated = [found for found in values.values() if len(found) > 1]
    assert sum(len(set(found)) > 1 for found in repeated) > 0.8 * len(repeated) > 0


def _answerability_gain(train: list[tuple[str, bool]], test: list[tuple[str, bool]]) -> float:
    """How much better than the majority class a logistic regression on the question's words and word pairs does."""

    def terms(text: str) -> list[str]:
        words = re.findall(r"\w+", text.lower())
        return words + [" ".join(pair) for pair in pairwise(words)]

    counts = Counter(term for text, _ in train for term in terms(text))
    frequent = [term for term, count in counts.items() if count > 1]
    index = {term: number for number, term in enumerate(frequent)}

    def tensors(rows: list[tuple[str, bool]]) -> tuple[torch.Tensor, torch.Tensor]:
        features = torch.zeros(len(rows), len(index) + 1)
        features[:, -1] = 1
        for row, (text, _) in enumerate(rows):
            features[row, [index[term] for term in terms(text) if term in index]] = 1
        return features, torch.tensor([float(label) for _, label in rows])

    features, labels = tensors(train)
    weights = torch.zeros(features.size(1), requires_grad=True)
    optimizer = torch.optim.Adam([weights], lr=0.05)
    for _ in range(100):
        optimizer.zero_grad()
        loss = torch.nn.functional.binary_cross_entropy_with_logits(features @ weights, labels)
        (loss + 1e-3 * weights.square().sum()).backward()
        optimizer.step()
    features, labels = tensors(test)
    accuracy = ((features @ weights > 0) == (labels > 0.5)).float().mean().item()
    share = labels.mean().item()
    return accuracy - max(share, 1 - share)


def _labelled(items: list[Paragraph]) -> list[tuple[str, bool]]:
    return [(question.text, question.fact is not None) for paragraph in items for question in paragraph.questions]


def test_the_question_alone_does_not_tell_whether_it_has_an_answer(paragraphs):
    train = _labelled(paragraphs["train"])
    test = _labelled(generate_paragraphs(1, "validation", 1500))
    assert _answerability_gain(train, test) < 0.03
    planted = [
        [(text if label else text.replace("the", "this"), label) for text, label in rows] for rows in (train, test)
    ]
    assert _answerability_gain(*planted) > 0.05  # the probe does find a cue where there is one
