from __future__ import annotations

from pathlib import Path

import datasets
import numpy as np
import pytest
import torch

from ctxzoo.data.formats import TextFormatError
from ctxzoo.tasks.polyphonic_music.data import PolyphonicMusicDataModule, build_model_inputs
from ctxzoo.tasks.polyphonic_music.experiments import MUSIC_DATASETS, get_dataset_arguments
from ctxzoo.tasks.polyphonic_music.rolls import notes_of_roll, roll_of_notes

PIECES = [[[3], [3, 40], []], [[5]], [[1], [2]], [[7, 8], [9], [10], [11]]]


@pytest.fixture
def folder(tmp_path: Path) -> str:
    for split in ("train", "validation", "test"):
        datasets.Dataset.from_dict({"notes": PIECES}).to_parquet(tmp_path / f"{split}.parquet")
    return str(tmp_path)


def made(dataset: str, **options) -> PolyphonicMusicDataModule:
    data = PolyphonicMusicDataModule(dataset, **options)
    data.setup()
    return data


def test_a_step_is_predicted_from_the_one_before():
    batch = build_model_inputs([roll_of_notes(PIECES[0]), roll_of_notes(PIECES[3])])
    assert {name: (tuple(value.shape), value.dtype) for name, value in batch.items()} == {
        "inputs_embeds": ((2, 3, 88), torch.float32),
        "attention_mask": ((2, 3), torch.int64),
        "labels": ((2, 3, 88), torch.float32),
    }
    assert batch["attention_mask"].tolist() == [[1, 1, 0], [1, 1, 1]]
    for row, piece in enumerate((PIECES[0], PIECES[3])):
        real = len(piece) - 1
        assert notes_of_roll(batch["inputs_embeds"][row, :real].bool().numpy()) == piece[:-1]
        assert notes_of_roll(batch["labels"][row, :real].bool().numpy()) == piece[1:]
    assert not batch["inputs_embeds"][0, 2:].any()
    assert not batch["labels"][0, 2:].any()


def test_batches_hold_every_piece_with_something_to_predict_once(folder: str) -> None:
    data = made(folder, batch_size=2, eval_batch_size=2)
    assert data.splits == ("train", "validation", "test")
    assert data.model_sizes() == {"input_size": 88, "num_labels": 88}
    for loader in (data.train_dataloader(), data.val_dataloader(), data.split_dataloader("test")):
        batches = list(loader)
        rows = torch.cat([batch["row"] for batch in batches]).tolist()
        assert sorted(rows) == [0, 2, 3]  # piece 1 has one step
        for batch in batches:
            for row, inputs, mask in zip(batch["row"], batch["inputs_embeds"], batch["attention_mask"], strict=True):
                assert notes_of_roll(inputs[mask.bool()].bool().numpy()) == PIECES[int(row)][:-1]


def test_pieces_of_one_step_alone_are_refused(tmp_path: Path) -> None:
    datasets.Dataset.from_dict({"notes": [[[1]], [[2]]]}).to_parquet(tmp_path / "train.parquet")
    data = made(str(tmp_path))
    with pytest.raises(TextFormatError, match="split 'train': every piece has one step, so that nothing is to predict"):
        data.train_dataloader()
    with pytest.raises(ValueError, match=r"gives no 'test' rows; it gives \['train'\]"):
        data.split_dataloader("test")


def test_an_epoch_goes_on_where_it_stopped():
    whole = made("sample", batch_size=3, seed=5).train_dataloader()
    rows = [batch["row"].tolist() for batch in whole]
    first = made("sample", batch_size=3, seed=5).train_dataloader()
    seen = iter(first)
    begun = [next(seen)["row"].tolist() for _ in range(4)]
    second = made("sample", batch_size=3, seed=5).train_dataloader()
    second.load_state_dict(first.state_dict())
    assert begun + [batch["row"].tolist() for batch in second] == rows
    assert rows != [batch["row"].tolist() for batch in made("sample", batch_size=3, seed=6).train_dataloader()]


def test_names_of_sets():
    assert get_dataset_arguments("nottingham") == {
        "dataset": "ctxzoo-data/polyphonic_music",
        "config_name": "nottingham",
    }
    assert get_dataset_arguments("someone/songs", "folk") == {"dataset": "someone/songs", "config_name": "folk"}
    assert get_dataset_arguments("sample")["dataset"] == "sample"


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "pieces", "steps"),
    [
        ("jsb_chorales", (229, 76, 77), (13807, 4602, 4725)),
        ("nottingham", (694, 173, 170), (176561, 45513, 44463)),
        ("muse_data", (524, 135, 124), (245202, 82755, 64339)),
        ("piano_midi", (87, 12, 25), (75911, 8540, 19036)),
    ],
)
def test_the_four_sets(name: str, pieces: tuple[int, ...], steps: tuple[int, ...]) -> None:
    data = made(**MUSIC_DATASETS[name])
    rolls = [data.pieces(split) for split in ("train", "validation", "test")]
    assert tuple(map(len, rolls)) == pieces
    assert tuple(int(np.sum(one.lengths())) for one in rolls) == steps
