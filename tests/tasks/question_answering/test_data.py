from __future__ import annotations

import datasets
import numpy as np
import pytest
import torch

from ctxzoo.models.ops_answer import AnswerSpans
from ctxzoo.tasks.question_answering.data import HELD_OUT_FRACTION, SquadDataModule
from ctxzoo.tasks.question_answering.sample import build_squad_features
from tests.support.tiny_squad import question, tiny_data, write_squad

pytestmark = pytest.mark.usefixtures("own_cache")


def ready(folder, **options) -> SquadDataModule:
    data = tiny_data(folder, **options)
    data.prepare_data()
    data.setup()
    return data


def ids(data: SquadDataModule, split: str) -> list[str]:
    """Ids of a split in the order in which its loader gives them."""
    loader = {"train": data.train_dataloader, "validation": data.val_dataloader, "test": data.test_dataloader}[split]()
    texts = data.texts(split)
    return [texts[row]["id"] for batch in loader for row in batch["row"].tolist()]


def test_with_a_test_split_every_split_is_read_as_it_is(tmp_path):
    data = ready(tmp_path)
    for split in ("train", "validation", "test"):
        found = ids(data, split)
        assert sorted(found) == sorted(data.texts(split)["id"])
        assert len(found) == {"train": 40, "validation": 16, "test": 16}[split]


def test_without_a_test_split_contexts_of_the_training_split_are_held_out(tmp_path):
    data = ready(tmp_path, train=120, test=0)
    files = data.texts("test")["id"][:]
    assert sorted(ids(data, "test")) == sorted(files)
    assert len(files) == 16
    train, held_out = ids(data, "train"), ids(data, "validation")
    assert len(train) + len(held_out) == 120
    assert set(train).isdisjoint(held_out)
    contexts = {row["id"]: row["context"] for row in data.texts("train")}
    assert {contexts[key] for key in train}.isdisjoint({contexts[key] for key in held_out})
    shared = len({contexts[key] for key in held_out})
    assert shared == max(1, round(len(set(contexts.values())) * HELD_OUT_FRACTION))


def test_the_held_out_share_follows_the_seed_alone(tmp_path):
    def held_out(seed: int) -> list[int]:
        return ready(tmp_path, train=120, test=0, seed=seed).rows("validation").tolist()

    assert held_out(1) == held_out(1)
    assert len({tuple(held_out(seed)) for seed in range(5)}) > 1


def test_long_training_rows_are_left_out_but_evaluated(tmp_path):
    long = question("long", " ".join(["word"] * 401))
    short = [question(str(number), f"a b {number}", answer="b") for number in range(3)]
    folder = write_squad(tmp_path / "s", {"train": [long, *short], "validation": [long], "test": [long]})
    data = SquadDataModule(str(folder), cache_dir=str(tmp_path / "c"), min_word_count=1)
    data.setup()
    assert sorted(ids(data, "train")) == ["0", "1", "2"]
    assert ids(data, "validation") == ids(data, "test") == ["long"]
    assert int(next(iter(data.val_dataloader()))["attention_mask"].sum()) == 402


def with_sources(
    folder, sources: list[str], *, splits=("train", "validation", "test"), context: str = "a b"
) -> SquadDataModule:
    items = [{**question(str(number), f"{context} {number}"), "source": one} for number, one in enumerate(sources)]
    features = datasets.Features(**build_squad_features(), source=datasets.Value("string"))
    rows = datasets.Dataset.from_list(items, features=features)
    (folder / "s").mkdir(parents=True)
    for name in splits:
        rows.to_parquet(str(folder / "s" / f"{name}.parquet"))
    return SquadDataModule(str(folder / "s"), cache_dir=str(folder / "c"), min_word_count=1)


def test_train_source_keeps_the_training_rows_of_one_source(tmp_path):
    data = with_sources(tmp_path, ["wiki", "news", "wiki"])
    data.train_source = "wiki"
    data.setup()
    assert sorted(ids(data, "train")) == ["0", "2"]
    assert sorted(ids(data, "validation")) == ["0", "1", "2"]


def test_a_left_out_source_is_a_split_of_its_own_and_nothing_of_it_is_trained_on(tmp_path):
    data = with_sources(tmp_path, ["wiki", "news", "wiki", "talk"])
    data.left_out_source = "wiki"
    data.setup()
    assert sorted(ids(data, "train")) == ["1", "3"]
    assert sorted(ids(data, "validation")) == ["0", "1", "2", "3"]
    rows = [row for batch in data.split_dataloader("left_out") for row in batch["row"].tolist()]
    assert sorted(data.texts("left_out")[row]["id"] for row in rows) == ["0", "2"]


def test_a_validation_held_out_of_training_has_no_row_of_the_left_out_source(tmp_path):
    data = with_sources(tmp_path, ["wiki", "news"] * 30, splits=("train", "validation"))
    data.left_out_source = "wiki"
    data.setup()
    found = {row for split in ("train", "validation") for row in data.rows(split).tolist()}
    assert found == set(range(1, 60, 2))
    assert len(data.rows("test")) == 60


@pytest.mark.parametrize("option", ["train_source", "left_out_source"])
def test_an_unknown_source_is_refused_with_the_known_ones(tmp_path, option):
    data = with_sources(tmp_path, ["wiki", "news"])
    setattr(data, option, "wikk")
    with pytest.raises(ValueError, match=rf"{option}='wikk' is none of \['news', 'wiki'\]"):
        data.setup()


@pytest.mark.parametrize("option", ["train_source", "left_out_source"])
def test_a_source_without_such_a_column_is_refused(tmp_path, option):
    with pytest.raises(ValueError, match=rf"{option}='wiki'.*no column 'source'"):
        ready(tmp_path, **{option: "wiki"})


def test_without_a_left_out_source_there_is_no_such_split(tmp_path):
    with pytest.raises(ValueError, match="no split 'left_out'"):
        ready(tmp_path).split_dataloader("left_out")


def test_no_training_row_within_the_limits_is_refused(tmp_path):
    long = question("long", " ".join(["word"] * 401))
    folder = write_squad(tmp_path / "s", {"train": [long], "test": [long]})
    with pytest.raises(ValueError, match=r"no training question of .* is within the limits"):
        SquadDataModule(str(folder), cache_dir=str(tmp_path / "c"), min_word_count=1).setup()


def test_a_split_that_is_not_there_is_named(tmp_path):
    data = ready(tmp_path)
    with pytest.raises(ValueError, match=r"no split 'dev'; it has \['test', 'train', 'validation'\]"):
        data.split_dataloader("dev")
    only = ready(tmp_path / "only", validation=0)
    assert only.val_dataloader() == []  # so that Lightning trains without
    with pytest.raises(ValueError, match=r"no split 'validation'; it has \['test', 'train'\]"):
        only.split_dataloader("validation")


def test_a_dataset_without_a_train_split_needs_a_tokenizer(tmp_path):
    full = ready(tmp_path)
    with pytest.raises(ValueError, match="no train split to build a vocabulary from; add one"):
        ready(tmp_path / "test only", train=0, validation=0)
    data = ready(tmp_path / "test only", train=0, validation=0, tokenizer=full.tokenizer)
    rows = [row for batch in data.split_dataloader("test") for row in batch["row"].tolist()]
    assert sorted(rows) == list(range(16))
    assert "trained_positions" not in data.model_sizes()


def test_sizes_and_vocabulary_belong_together(tmp_path):
    data = ready(tmp_path, min_word_count=2)
    sizes = data.model_sizes()
    assert sizes["vocab_size"] == len(data.tokenizer)
    assert sizes["train_word_embeddings"] is True
    assert sizes["word_embedding_size"] == 8
    assert data.build_vector_table() is None
    # Padding makes batches longer than that.
    longest = max(
        int(batch[name].sum(dim=1).max())
        for batch in data.train_dataloader()
        for name in ("attention_mask", "question_attention_mask")
    )
    assert sizes["trained_positions"] == longest < 401
    largest = {"input_ids": 0, "char_ids": 0}
    for batch in data.train_dataloader():
        for name in largest:
            largest[name] = max(largest[name], int(batch[name].max()), int(batch[f"question_{name}"].max()))
    assert largest["input_ids"] < sizes["vocab_size"]
    # Every training character is known, so the highest id of the table occurs.
    assert largest["char_ids"] == sizes["char_vocab_size"] - 1


def test_pretrained_vectors_stand_at_their_words_rows(tmp_path):
    ready(tmp_path)  # writes the files
    (tmp_path / "vectors.txt").write_text("the 1 2 3\nzzz 4 5 6\n, 7 8 9\n", encoding="utf-8")
    data = ready(tmp_path, word_vectors=str(tmp_path / "vectors.txt"))
    table = data.build_vector_table()
    assert table.shape == (5, 3)
    assert table[:2].tolist() == [[0] * 3] * 2
    assert table[data.tokenizer.look_up_word_id("the")].tolist() == [1, 2, 3]
    assert table[data.tokenizer.look_up_word_id("The")].tolist() == [1, 2, 3]
    assert data.model_sizes()["train_word_embeddings"] is False
    assert data.get_vectors_name() == "vectors"


def test_answers_are_the_callers_characters_and_the_score_decides(tmp_path):
    data = ready(tmp_path)
    texts, prepared = data.texts("validation"), data.get_prepared_split("validation")
    answered = np.flatnonzero(prepared.spans[:, 0] >= 0)[:3]
    spans = torch.tensor(prepared.spans[answered].astype(np.int64)) + 1
    log_p = torch.log(torch.tensor([0.5, 0.2, 0.6])), torch.log(torch.tensor([0.1, 0.6, 0.6]))
    decoded = AnswerSpans(spans[:, 0], spans[:, 1], *log_p)
    predictions, references = data.format_answers("validation", torch.tensor(answered), decoded, may_refuse=True)
    for row, prediction, reference in zip(answered.tolist(), predictions, references, strict=True):
        assert prediction["id"] == reference["id"] == texts[row]["id"]
        assert prediction["prediction_text"] == texts[row]["answers"]["text"][0] == reference["answers"]["text"][0]
    scores = [prediction["no_answer_probability"] for prediction in predictions]
    assert scores == pytest.approx([1 / 6, 0.75, 0.5], abs=1e-6)
    sure, _ = data.format_answers("validation", torch.tensor(answered), decoded, may_refuse=False)
    assert [prediction["no_answer_probability"] for prediction in sure] == [0.0, 0.0, 0.0]


def test_a_row_without_a_span_predicts_no_text(tmp_path):
    data = ready(tmp_path)
    zero = torch.zeros(1, dtype=torch.long)
    nothing = AnswerSpans(zero, zero, torch.tensor([-torch.inf]), torch.tensor([0.0]))
    predictions, _ = data.format_answers("test", zero, nothing, may_refuse=True)
    assert predictions[0]["prediction_text"] == ""
    assert predictions[0]["no_answer_probability"] == 1.0


def test_workers_give_the_same_batches(tmp_path):
    alone, helped = ready(tmp_path), ready(tmp_path, num_workers=2)
    for mine, theirs in zip(alone.train_dataloader(), helped.train_dataloader(), strict=True):
        assert mine.keys() == theirs.keys()
        assert all(torch.equal(mine[name], theirs[name]) for name in mine)


def test_setup_is_done_once(tmp_path):
    data = ready(tmp_path)
    tokenizer, rows = data.tokenizer, data.rows("train")
    data.setup("fit")
    assert data.tokenizer is tokenizer
    assert data.rows("train") is rows
