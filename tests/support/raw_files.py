"""Raw files of the catalogue's sources, made again of built rows: the same content in the form of the source."""

from __future__ import annotations

import csv
import hashlib
import html
import io
import json
import tarfile
import zipfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.io import savemat

from ctxzoo.catalogue.entries_words import PENN_FILES, WORD_PAIR_SETS
from ctxzoo.catalogue.entry import Entry, RawFile
from ctxzoo.catalogue.events import EVENTS_FILE, FOLDS, HEAD, NAMES_FILE, TIMES_FILE
from ctxzoo.catalogue.music import MUSIC_SETS
from ctxzoo.catalogue.questions import COURSE_DEV, COURSE_TEST, SAMPLE, SHIFTS, V1_DEV, V2_DEV
from ctxzoo.catalogue.read_samples import CATEGORIES, STARS
from ctxzoo.catalogue.regression import NUMBER_TABLES
from ctxzoo.catalogue.votes import CONGRESSES, PARTIES
from tests.support.file_server import FileServer

Row = dict[str, Any]
Rows = list[Row]
# Splits of a dataset by name; a function that reads them, so that one source may need several datasets.
Read = Callable[[str], dict[str, Rows]]


def served(entry: Entry, raw: Mapping[str, bytes], server: FileServer) -> Entry:
    """Return the entry with its files at a server, which holds them; a file whose sha256 is known has its own."""

    def at_server(file: RawFile) -> RawFile:
        server.files[f"{entry.name}/{file.name}"] = raw[file.name]
        sha256 = None if file.sha256 is None else hashlib.sha256(raw[file.name]).hexdigest()
        return replace(file, url=f"{server.url}/{entry.name}/{file.name}", sha256=sha256)

    return replace(entry, files=tuple(map(at_server, entry.files)))


def raw_files(name: str, read: Read) -> dict[str, bytes]:
    """Return the raw files of a dataset, name -> content, of the rows that `read` gives."""
    return MAKERS[name](read)


def _lines(lines: Iterable[str], encoding: str = "utf-8") -> bytes:
    return "".join(f"{line}\n" for line in lines).encode(encoding)


def _polarity(read: Read) -> dict[str, bytes]:
    splits = read("cornell-movie-review-data/rotten_tomatoes")
    rows = [row for name in ("train", "validation", "test") for row in splits[name]]
    return {
        f"rt-polarity.{name}": _lines(f"{row['text']} " for row in rows if row["label"] == label)
        for name, label in (("neg", 0), ("pos", 1))
    }


def _by_label(dataset: str, files: Mapping[str, int], encoding: str = "utf-8") -> Callable[[Read], dict[str, bytes]]:
    def make(read: Read) -> dict[str, bytes]:
        rows = read(dataset)["train"]
        # An empty line and blanks at the ends, as in the sources.
        return {
            file: _lines(["", *(f"{row['text']} " for row in rows if row["label"] == label)], encoding)
            for file, label in files.items()
        }

    return make


def _sst2(read: Read) -> dict[str, bytes]:
    splits = read("SetFit/sst2")
    return {
        f"stsa.binary.{part}": _lines(f"{row['label']} {row['text']}" for row in splits[name])
        for part, name in (("train", "train"), ("dev", "validation"), ("test", "test"))
    }


def _reuters(read: Read) -> dict[str, bytes]:
    names = ("acq", "crude", "earn", "grain", "interest", "money-fx", "ship", "trade")
    return {
        f"r8-{split}-all-terms.txt": _lines(
            ["Class\tExample", *(f"{names[row['label']]}\t{row['text']} " for row in rows)]
        )
        for split, rows in read("ctxzoo-data/reuters8").items()
    }


def _imdb(read: Read) -> dict[str, bytes]:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz", compresslevel=1) as archive:
        _add(archive, "aclImdb/README", b"Large Movie Review Dataset v1.0")
        for split, rows in read("stanfordnlp/imdb").items():
            # Not in the order of the numbers, as in the archive.
            for number, row in reversed(list(enumerate(rows))):
                label = ("neg", "pos")[row["label"]]
                _add(archive, f"aclImdb/{split}/{label}/{number}_{1 + 9 * row['label']}.txt", row["text"].encode())
        _add(archive, "aclImdb/train/unsup/0_0.txt", b"not labelled")
    return {"aclImdb_v1.tar.gz": buffer.getvalue()}


def _add(archive: tarfile.TarFile, name: str, content: bytes) -> None:
    member = tarfile.TarInfo(name)
    member.size = len(content)
    archive.addfile(member, io.BytesIO(content))


def _zip(members: Mapping[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def _csv(columns: Iterable[str], rows: Iterable[Iterable[Any]]) -> bytes:
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    return buffer.getvalue().encode()


def _yelp(read: Read) -> dict[str, bytes]:
    rows = [row for split in read("Yelp/yelp_review_full").values() for row in split]
    plain = [(row["text"].replace('\\"', '"').replace("\\n", "\n"), row["label"]) for row in rows]
    first: list[dict[str, str]] = []
    others: list[tuple[str, int]] = []
    for row, (text, label) in zip(rows, plain, strict=True):
        if text.strip().replace("\n", "\\n").replace('"', '\\"') == row["text"] and len(first) > len(others) / 4:
            others.append((text, label))
        else:
            first.append({"label": STARS[row["label"]], "sentence": f"Text: {row['text']}\n"})
    part = len(others) // 3
    of_course = [
        _csv(("text", "label1", "label2"), ((text, "Business", f"Review Stars: {label + 1}.0") for text, label in some))
        for some in (others[:part], others[part : 2 * part])
    ]
    last = _csv(("business_id", "stars", "text"), (("x", label + 1, text) for text, label in others[2 * part :]))
    return {
        "train.json": json.dumps(first).encode(),
        "dev.csv": of_course[0],
        "test.csv": of_course[1],
        "yelp.csv.zip": _zip({"yelp.csv": last}),
    }


def _news(read: Read) -> dict[str, bytes]:
    rows = [row for split in read("ctxzoo-data/news_aggregator").values() for row in split]
    few = ("Reuters", "Huffington Post", "Businessweek", "Contactmusic.com", "Daily Mail")
    ours = [row for row in rows if row["publisher"] in few]
    named = [row for row in ours if row["publisher"] != "Daily Mail"]

    def cell(title: str) -> str:
        quoted = title.replace('"', '""')
        return f'"{quoted}"' if quoted != title else title

    files = {}
    for index, part in enumerate(("train", "valid", "test")):
        files[f"{part}.txt"] = _lines(f"{CATEGORIES[row['label']]}\t{cell(row['title'])}" for row in ours[index::3])
        files[f"publishers-{part}.txt"] = _lines(
            f"{number}\t{cell(row['title'])}\thttp://x\t{row['publisher']}\t{CATEGORIES[row['label']]}\ts\th\t1"
            for number, row in enumerate(named[index::3])
        )
    others = [row for row in rows if row["publisher"] not in few]
    files["uci-news-aggregator.csv"] = _csv(
        ("ID", "TITLE", "URL", "PUBLISHER", "CATEGORY", "STORY", "HOSTNAME", "TIMESTAMP"),
        (
            (number, row["title"], "u", row["publisher"], CATEGORIES[row["label"]], "s", "h", 1)
            for number, row in enumerate(others)
        ),
    )
    return files


def _universal(read: Read, *sources: tuple[str, str]) -> bytes:
    maps: dict[str, dict[str, str]] = {}
    for dataset, name in sources:
        for rows in read(dataset).values():
            for row in rows:
                maps.setdefault(name, {}).update(zip(row["pos_tags"], row["upos"], strict=True))
    return _zip(
        {f"universal_tagset/{name}.map": _lines(f"{a}\t{b}" for a, b in tags.items()) for name, tags in maps.items()}
    )


def _treebank(read: Read) -> dict[str, bytes]:
    trees: dict[str, list[str]] = {f"wsj_{number:04d}": [] for number in range(1, 200)}
    for rows in read("ctxzoo-data/ptb_sample").values():
        for row in rows:
            leaves = "\n    ".join(f"({tag} {word})" for tag, word in zip(row["pos_tags"], row["tokens"], strict=True))
            trees[row["file"]].append(f"( (S (NP-SBJ (-NONE- *T*-1))\n    {leaves}) )\n")
    members = {f"treebank/combined/{file}.mrg": "\n".join(found).encode() for file, found in trees.items()}
    return {
        "treebank.zip": _zip(members),
        "universal_tagset.zip": _universal(read, ("ctxzoo-data/ptb_sample", "en-ptb")),
    }


def _brown(read: Read) -> dict[str, bytes]:
    (rows,) = read("ctxzoo-data/brown_pos").values()
    categories = {row["file"]: row["category"] for row in rows}
    texts: dict[str, list[str]] = {file: [] for file in categories}
    for row in rows:
        words = (f"{word}/{tag.lower()}" for word, tag in zip(row["tokens"], row["pos_tags"], strict=True))
        texts[row["file"]] += ["", f"\t{' '.join(words)} "]
    members = {f"brown/{file}": _lines(lines) for file, lines in texts.items()}
    members["brown/cats.txt"] = _lines(f"{file} {category}" for file, category in categories.items())
    return {"brown.zip": _zip(members), "universal_tagset.zip": _universal(read, ("ctxzoo-data/brown_pos", "en-brown"))}


def _conll(read: Read) -> dict[str, bytes]:
    members = {}
    for split, rows in read("ctxzoo-data/conll2000_pos").items():
        lines: list[str] = []
        for row in rows:
            lines += map(" ".join, zip(row["tokens"], row["pos_tags"], row["chunk_tags"], strict=True))
            lines.append("")
        members[f"conll2000/{split}.txt"] = _lines(lines)
    universal = _universal(read, ("ctxzoo-data/conll2000_pos", "en-ptb"))
    return {"conll2000.zip": _zip(members), "universal_tagset.zip": universal}


def _ewt(read: Read) -> dict[str, bytes]:
    splits = read("ctxzoo-data/ud_english_ewt")
    files = {}
    for part, split in (("train", "train"), ("dev", "validation"), ("test", "test")):
        lines: list[str] = []
        for row in splits[split]:
            lines += [f"# sent_id = {row['sent_id']}", f"# text = {' '.join(row['tokens'])}"]
            lines.append("1-2\t" + "\t".join(["both"] + ["_"] * 8))
            for number, (word, upos, xpos) in enumerate(zip(row["tokens"], row["upos"], row["xpos"], strict=True), 1):
                lines.append(f"{number}\t{word}\t_\t{upos}\t{xpos}\t_\t_\t_\t_\t_")
            lines += ["1.1\t" + "\t".join(["empty"] + ["_"] * 8), ""]
        files[f"en_ewt-ud-{part}.conllu"] = _lines(lines)
    return files


def _pairs(read: Read) -> dict[str, bytes]:
    rows = read("ctxzoo-data/word_similarity")["test"]
    return {
        file: _lines(f"{row['word1']}\t{row['word2']}\t{row['score']!r}" for row in rows if row["dataset"] == name)
        for name, file in WORD_PAIR_SETS.items()
    }


def _analogies(read: Read) -> dict[str, bytes]:
    rows = read("ctxzoo-data/word_analogy")["test"]
    columns = ("category", "a", "b", "c", "d")
    table = ((number, *(row[column] for column in columns)) for number, row in enumerate(rows))
    return {"google-analogies.csv": _csv(("", "type", "word1", "word2", "word3", "target"), table)}


def _wikipedia(read: Read) -> dict[str, bytes]:
    articles: dict[int, tuple[str, list[str]]] = {}
    for rows in read("ctxzoo-data/wikipedia_en_2015").values():
        for row in rows:
            articles.setdefault(row["curid"], (row["title"], []))[1].append(row["text"])
    # Article 13 is in no split, so that every file holds an article.
    docs: list[list[str]] = [[_doc(13, "AfghanistanHistory", "left out")] for _ in range(400)]
    for index, (number, (title, texts)) in enumerate(sorted(articles.items())):
        docs[index % 400].append(_doc(number, title, "\n".join(texts)))
    names = [f"{folder}-wiki_{number:02d}" for folder in ("AA", "AB", "AC", "AD") for number in range(100)]
    return {name: "".join(found).encode() for name, found in zip(names, docs, strict=True)}


def _doc(number: int, title: str, text: str) -> str:
    url = f"http://en.wikipedia.org/wiki?curid={number}"
    # Blanks at the ends of lines are what tags left there.
    lines = [(html.escape(line, quote=False), line != line.strip()) for line in text.split("\n")]
    body = "\n".join(f"<br>{line}<br>" if tagged else line for line, tagged in lines)
    above = html.escape(title, quote=False)
    return f'<doc id="{number}" url="{url}" title="{html.escape(title)}">\n{above}\n\n{body}\n</doc>\n'


def squad_json(rows: Rows, *, identifier: str = "id", answers: bool = True) -> bytes:
    """Return rows in SQuAD's form: an article for each run of a title, a paragraph for each run of a context."""
    data: list[dict[str, Any]] = []
    for row in rows:
        if not data or data[-1]["title"] != row["title"]:
            data.append({"title": row["title"], "paragraphs": []})
        paragraphs = data[-1]["paragraphs"]
        if not paragraphs or paragraphs[-1]["context"] != row["context"]:
            paragraphs.append({"context": row["context"], "qas": []})
        given = zip(row["answers"]["text"], row["answers"]["answer_start"], strict=True) if answers else ()
        answer_list = [{"text": text, "answer_start": start} for text, start in given]
        paragraphs[-1]["qas"].append({"id": row[identifier], "question": row["question"], "answers": answer_list})
    return json.dumps({"version": "v2.0", "data": data}).encode()


def _shifts(read: Read) -> dict[str, bytes]:
    splits = read("ctxzoo-data/squadshifts")
    return {file: squad_json(splits[f"{name}/test"]) for name, file in SHIFTS.items()}


def _sample(read: Read) -> dict[str, bytes]:
    paragraphs: list[dict[str, Any]] = []
    for row in read("ctxzoo-data/squad_v1_train_sample")["train"]:
        if not paragraphs or paragraphs[-1]["context"] != row["context"]:
            paragraphs.append({"context": row["context"], "qas": []})
        paragraphs[-1]["qas"].append({"question": row["question"], "answer": row["answers"]["text"][0]})
    paragraphs[-1]["qas"].append(paragraphs[-1]["qas"][0])  # a question that repeats
    return {SAMPLE: json.dumps(paragraphs, indent=4).encode()}


def _course(read: Read) -> dict[str, bytes]:
    splits = read("ctxzoo-data/squad_v2_cs224n")
    theirs = [*splits["test"], *splits["test_unlabelled"]]
    return {
        V2_DEV: squad_json(read("rajpurkar/squad_v2")["validation"]),
        COURSE_DEV: squad_json(splits["validation"], identifier="uuid"),
        COURSE_TEST: squad_json(theirs, identifier="uuid", answers=False),
    }


def _mini(read: Read) -> dict[str, bytes]:
    return {
        V1_DEV: squad_json(read("rajpurkar/squad")["validation"]),
        **_course(read),
        **_sample(read),
        **_shifts(read),
    }


def _music(read: Read) -> dict[str, bytes]:
    splits = read("ctxzoo-data/polyphonic_music")
    parts = {"traindata": "train", "validdata": "validation", "testdata": "test"}
    found = {}
    for name, file in MUSIC_SETS.items():
        content = {}
        for variable, split in parts.items():
            rows = splits[f"{name}/{split}"]
            cells = np.empty((1, len(rows)), dtype=object)
            for piece, row in enumerate(rows):
                cells[0, piece] = np.zeros((row["num_steps"], 88), np.uint8)
                for step, keys in enumerate(row["notes"]):
                    cells[0, piece][step, keys] = 1
            content[variable] = cells
        buffer = io.BytesIO()
        savemat(buffer, content)
        found[file] = buffer.getvalue()
    return found


def _penn(read: Read) -> dict[str, bytes]:
    splits = read("ctxzoo-data/ptb_text")
    return {file: _lines(f" {row['sentence']} " for row in splits[split]) for split, (file, _) in PENN_FILES.items()}


def _hcrnn(name: str, prefix: str, files_of: Mapping[str, str]) -> Callable[[Read], dict[str, bytes]]:
    """Make the authors' files of events; where sessions were divided anew, a file has those of its `authors_split`."""

    def make(read: Read) -> dict[str, bytes]:
        splits = read(name)
        items = splits["items/train"]
        key = "item_key" if "item_key" in items[0] else "movie_id"
        keys = {row["item_id"]: str(row[key]) for row in items}
        found = {f"{prefix}item2idx.txt": "".join(f"{text}\t{item}\n" for item, text in keys.items()).encode()}
        if key == "movie_id":
            films = (f"{row['movie_id']}::{row['title']}::{'|'.join(row['genres'])}\n" for row in items)
            found[f"{prefix}item2genre.txt"] = "".join(films).encode("latin-1")
        rows = [(split, row) for split in ("train", "validation", "test") for row in splits[f"sessions/{split}"]]
        for file, split in files_of.items():
            lines = ["\tItemId\tTime\tSessionId\titem_idx\tsess_idx"]
            for of, row in sorted(rows, key=lambda pair: pair[1]["session_id"]):
                if row.get("authors_split", of) != (file if "authors_split" in row else split):
                    continue
                for item, time in zip(row["items"], row["timestamps"], strict=True):
                    lines.append(f"{len(lines)}\t{keys[item]}\t{time}.0\t{row['user']}\t{item}\t{row['session_id']}")
            found[f"{prefix}{file}.txt"] = "\n".join([*lines, ""]).encode()
        return found

    return make


def _movielens(read: Read) -> dict[str, bytes]:
    splits = read("ctxzoo-data/movielens_100k")
    ratings = [
        f"{row['user_id']}\t{item}\t{rating:g}\t{time}\n"
        for split in ("test", "train", "validation")
        for row in splits[f"sessions/{split}"]
        for item, rating, time in zip(row["items"], row["ratings"], row["timestamps"], strict=True)
    ]
    films = []
    for row in splits["items/train"]:
        flags = [str(int(genre in row["genres"])) for genre in GENRES]
        films.append("|".join([str(row["item_id"]), row["title"], row["release_date"], "", "", *flags]))
    people = [f"{row['user_id']}|{row['age']}|{row['gender']}|{row['occupation']}|0" for row in splits["users/train"]]
    return {
        "u.data": "".join(ratings).encode(),
        "u.genre": "".join(f"{genre}|{number}\n" for number, genre in enumerate(GENRES)).encode() + b"\n",
        "u.item": "".join(f"{film}\n" for film in films).encode("latin-1"),
        "u.user": "".join(f"{person}\n" for person in people).encode(),
    }


def _badges(read: Read) -> dict[str, bytes]:
    """Make five folds that overlap and together hold every user; blanks at the ends of lines, as in the source."""
    splits = read("ctxzoo-data/stackoverflow_badges")
    users = [row for split in ("test", "train", "validation") for row in splits[f"sequences/{split}"]]
    found = {}
    for fold in FOLDS:
        some = [row for number, row in enumerate(users) if fold - 1 in (number % len(FOLDS), number // 7 % len(FOLDS))]
        for file, column in ((EVENTS_FILE, "events"), (TIMES_FILE, "timestamps")):
            found[file.format(fold)] = _lines(f"{' '.join(map(str, row[column]))} " for row in some)
    names = (f"{row['event_id']}, {row['badge']}" for row in reversed(splits["events/train"]))
    return {**found, NAMES_FILE: _lines([HEAD, *names])}


def _senate(read: Read) -> dict[str, bytes]:
    splits = read("ctxzoo-data/roll_call")
    bills, people = splits["bills/train"], splits["legislators/train"]
    found = {}
    cast: dict[int, list[str]] = {}
    for split in ("train", "validation", "test"):
        for row in splits[f"votes/{split}"]:
            bill = bills[row["bill_id"]]
            line = f"{bill['rollnumber']},{people[row['legislator_id']]['icpsr']},{1 if row['vote'] else 6}"
            cast.setdefault(bill["congress"], []).append(line)
    names = ("rollnumber", "date", "bill_number", "vote_question", "vote_desc", "dtl_desc", "vote_result")
    names += ("yea_count", "nay_count", "nominate_mid_1", "nominate_spread_1")
    for congress in CONGRESSES:
        found[f"S{congress}_votes.csv"] = _lines(
            ["rollnumber,icpsr,cast_code", *cast[congress], "1,99911,1", "1,1366,9"]
        )
        text = io.StringIO(newline="")
        writer = csv.writer(text)
        writer.writerow(names)
        writer.writerows([row[name] for name in names] for row in bills if row["congress"] == congress)
        found[f"S{congress}_rollcalls.csv"] = text.getvalue().encode()
        text = io.StringIO(newline="")
        writer = csv.writer(text)
        heads = ("chamber", "icpsr", "bioguide_id", "bioname", "party_code", "state_abbrev", "born", "nominate_dim1")
        writer.writerow((*heads, "nominate_dim2", "nominate_number_of_votes"))
        codes = {name: code for code, name in PARTIES.items()}
        for row in people:
            if congress in (row["first_congress"], row["last_congress"]):
                told = [row["icpsr"], row["bioguide_id"], row["name"], codes[row["party"]], row["state"], row["born"]]
                votes = row["num_votes"] if congress == row["first_congress"] else 0.0
                writer.writerow(["Senate", *told, row["nominate_dim1"], row["nominate_dim2"], votes])
        writer.writerow(["President", 99911, "", "Someone", 100, "USA", "", "", "", ""])
        found[f"S{congress}_members.csv"] = text.getvalue().encode()
    return found


def _number_tables(read: Read) -> dict[str, bytes]:
    splits = read("ctxzoo-data/ika_regression")
    found = {}
    for name, table in NUMBER_TABLES.items():
        rows = [row for split in ("test", "train", "validation") for row in splits[f"{name}/{split}"]]
        # Blanks around numbers, and columns before and after, as in the sources.
        lines = [
            ("other", *(f"{value!r} " for value in row["x"][: len(table.features)]), repr(row["y"]), "-01", "-9.99")
            for row in sorted(rows, key=lambda row: row["row"])
        ]
        found[table.file] = _csv(("Date", *table.features, table.target, "Trend"), lines)
    return found


GENRES = (
    *("unknown", "Action", "Adventure", "Animation", "Children's", "Comedy", "Crime", "Documentary", "Drama"),
    *("Fantasy", "Film-Noir", "Horror", "Musical", "Mystery", "Romance", "Sci-Fi", "Thriller", "War", "Western"),
)


MAKERS: dict[str, Callable[[Read], dict[str, bytes]]] = {
    "cornell-movie-review-data/rotten_tomatoes": _polarity,
    "SetFit/CR": _by_label("SetFit/CR", {"custrev.neg": 0, "custrev.pos": 1}),
    "SetFit/subj": _by_label("SetFit/subj", {"subj.subjective": 1, "subj.objective": 0}, "cp1252"),
    "ctxzoo-data/mpqa": _by_label("ctxzoo-data/mpqa", {"mpqa.neg": 0, "mpqa.pos": 1}),
    "SetFit/sst2": _sst2,
    "ctxzoo-data/reuters8": _reuters,
    "stanfordnlp/imdb": _imdb,
    "Yelp/yelp_review_full": _yelp,
    "ctxzoo-data/news_aggregator": _news,
    "ctxzoo-data/ptb_sample": _treebank,
    "ctxzoo-data/ptb_text": _penn,
    "ctxzoo-data/ud_english_ewt": _ewt,
    "ctxzoo-data/polyphonic_music": _music,
    "ctxzoo-data/citeulike_hcrnn": _hcrnn(
        "ctxzoo-data/citeulike_hcrnn", "citeulike-", {"train": "train", "valid": "validation", "test": "test"}
    ),
    "ctxzoo-data/movielens_1m_hcrnn": _hcrnn(
        "ctxzoo-data/movielens_1m_hcrnn", "movielens-", {"valid": "valid", "test": "test"}
    ),
    "ctxzoo-data/lastfm_hcrnn": _hcrnn("ctxzoo-data/lastfm_hcrnn", "lastfm-", {"valid": "valid", "test": "test"}),
    "ctxzoo-data/movielens_100k": _movielens,
    "ctxzoo-data/roll_call": _senate,
    "ctxzoo-data/ika_regression": _number_tables,
    "ctxzoo-data/stackoverflow_badges": _badges,
    "ctxzoo-data/brown_pos": _brown,
    "ctxzoo-data/conll2000_pos": _conll,
    "ctxzoo-data/word_similarity": _pairs,
    "ctxzoo-data/word_analogy": _analogies,
    "ctxzoo-data/wikipedia_en_2015": _wikipedia,
    "ctxzoo-data/squad_v1_mini": _mini,
    "ctxzoo-data/squad_v2_mini": _mini,
    "ctxzoo-data/squad_v1_train_sample": _sample,
    "ctxzoo-data/squad_v2_cs224n": _course,
    "ctxzoo-data/squadshifts": _shifts,
}
