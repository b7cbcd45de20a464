"""What a model card says of an architecture and of a dataset, beyond what a run knows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ctxzoo.catalogue.entries import ENTRIES
from ctxzoo.models import ARCHITECTURES, Architecture


@dataclass(frozen=True)
class ArchitectureFacts:
    """Facts of one architecture.

    Attributes:
        title: its name for readers.
        summary: one paragraph: what it does and how.
        limits: sentences on what it cannot do by construction.
        citation: BibTeX entries of the papers.
        tags: for the Hub's search.
    """

    title: str
    summary: str
    limits: tuple[str, ...]
    citation: str
    tags: tuple[str, ...] = ()


@dataclass(frozen=True)
class DatasetFacts:
    """Facts of one dataset.

    Attributes:
        description: what is in it, in a sentence or two.
        licence: of the texts.
        comparable: what scores on it may be compared with.
        language: two-letter code; None for data that are no texts.
        example: inputs of the task's pipeline, written by us, for cards, which then hold no text of the dataset;
            without them a card shows a test example.
        test_rows: Number of texts of the test split, of a cross-validation of its first fold, each of which is right
            or wrong; None: an interval of the score is not that of so many texts.
    """

    description: str
    licence: str
    comparable: str
    language: str | None = "en"
    example: Mapping[str, str] | None = None
    test_rows: int | None = None


OWN_STUDY = (
    "Scores on this dataset compare models with each other that were trained and tested on the same rows, such as the "
    "other checkpoints of ctxzoo. They stand beside no published {name} score, because training set and test questions "
    "are others."
)

ARCHITECTURE_FACTS = {
    "beta_lstm": ArchitectureFacts(
        title="Beta-LSTM",
        summary=(
            "An LSTM over words or over steps of other sequences, such as the keys that sound in a piece of music. Its "
            "input gate and its forget gate may be drawn in training, as ratios of Gamma variables: a bivariate Beta "
            "distribution, with which the two may rise and fall together or against each other. In evaluation each "
            "gate is its mean. Other cells of the same configuration are an LSTM, the coupled LSTM, G2-LSTM, Noisin, "
            "independent Beta gates and Kumaraswamy gates. The form is that of Song, Jang, Shin and Moon (2020)."
        ),
        limits=(
            "It reads a sequence step by step: time grows with its length, and no two steps are computed side by side.",
            "What it knows of the past is one state of a fixed size.",
        ),
        citation="""\
@inproceedings{song2020bivariate,
  title = {Bivariate Beta-{LSTM}},
  author = {Song, Kyungwoo and Jang, JoonHo and Shin, Seung jae and Moon, Il-Chul},
  booktitle = {Proceedings of the AAAI Conference on Artificial Intelligence},
  year = {2020},
  url = {https://arxiv.org/abs/1905.10521}
}""",
        tags=("beta-lstm", "lstm", "stochastic-gates"),
    ),
    "bidaf": ArchitectureFacts(
        title="BiDAF",
        summary=(
            "An extractive reader: it marks the words of a given text that answer a question. Word vectors of text "
            "and question, as the variant has it with positions, self-attention and a character CNN in front, pass a "
            "highway network and a BiLSTM; attention then flows both ways between text and question, two more BiLSTMs "
            "read the result, and two pointers mark the first and the last word of the answer. In SQuAD 2.0 mode a "
            'token in front of the text stands for "no answer". The form is that of Patel (2022) on Seo et al. (2017).'
        ),
        limits=(
            "It can only copy a span of the given text; it knows nothing of its own and cannot count or reason over "
            "several texts.",
            "Words outside its vocabulary look alike to it, apart from their characters where the variant reads them.",
        ),
        citation="""\
@inproceedings{seo2017bidaf,
  title = {Bidirectional Attention Flow for Machine Comprehension},
  author = {Seo, Minjoon and Kembhavi, Aniruddha and Farhadi, Ali and Hajishirzi, Hannaneh},
  booktitle = {International Conference on Learning Representations},
  year = {2017},
  url = {https://arxiv.org/abs/1611.01603}
}

@techreport{patel2022conditioning,
  title = {Conditioning External and Internal Context Awareness through
           Attention Overload and Character-Level Embeddings},
  author = {Patel},
  institution = {Stanford University, CS224N default project},
  year = {2022}
}""",
        tags=("bidaf", "extractive-qa", "lstm"),
    ),
    "bilstm_tagger": ArchitectureFacts(
        title="BiLSTM tagger",
        summary=(
            "A tagger: it gives each word of a sentence a tag, such as its part of speech. A bidirectional LSTM reads "
            "word vectors, a tanh layer joins its two directions, and a linear layer scores the tags of each word by "
            "itself. It serves to compare word vectors, from which its look-up table starts. The form is that of Ling "
            "et al. (2015) with whole words."
        ),
        limits=(
            "Words outside its vocabulary all look alike to it: it reads no characters.",
            "Tags of neighbours do not constrain each other.",
        ),
        citation="""\
@inproceedings{ling2015finding,
  title = {Finding Function in Form: Compositional Character Models for Open Vocabulary Word Representation},
  author = {Ling, Wang and Luís, Tiago and Marujo, Luís and Astudillo, Ramón Fernandez and Amir, Silvio
            and Dyer, Chris and Black, Alan W. and Trancoso, Isabel},
  booktitle = {Proceedings of EMNLP},
  year = {2015},
  url = {https://arxiv.org/abs/1508.02096}
}""",
        tags=("bilstm", "part-of-speech"),
    ),
    "contextualizer": ArchitectureFacts(
        title="Contextualizer",
        summary=(
            "A classifier of sentences and documents. A context, one vector for each text, is corrected a few times: "
            "every step weighs each feature of each word by second-order attention, that is, by all features of the "
            "word and of the context, and puts the weighted sum of the words in the context's place. The cost is "
            "linear in the length of the text. The form is that of Maupomé and Meurs (2021)."
        ),
        limits=(
            "Words outside its vocabulary are removed before it reads a text; only hashed n-grams, where it has them, "
            "tell of these words.",
            "The order of words reaches it through positions and hashed n-grams alone, where it has them.",
        ),
        citation="""\
@article{maupome2021contextualizer,
  title = {An Iterative Contextualization Algorithm with Second-Order Attention},
  author = {Maupomé, Diego and Meurs, Marie-Jean},
  journal = {arXiv preprint arXiv:2103.02190},
  year = {2021},
  url = {https://arxiv.org/abs/2103.02190}
}""",
        tags=("contextualizer", "second-order-attention"),
    ),
    "hcrnn": ArchitectureFacts(
        title="HCRNN",
        summary=(
            "A recurrent network over a session of items that tells which item comes next. It keeps three contexts: "
            "topics of the whole session (global), a theme that changes slowly and is read from a memory of the topics "
            "(local), and the state of a gated unit (temporary). Where a new item does not fit the theme, a gate lets "
            "the state forget. The form is that of Song, Ji, Park and Moon (2019)."
        ),
        limits=(
            "The topics are those of all that was read, so that a new item changes every step before it: each "
            "prediction reads its session anew, and time grows with the square of a session's length.",
            "It scores every item it knows for each prediction; time and memory grow with their number.",
        ),
        citation="""\
@inproceedings{song2019hierarchical,
  title = {Hierarchical Context Enabled Recurrent Neural Network for Recommendation},
  author = {Song, Kyungwoo and Ji, Mingi and Park, Sungrae and Moon, Il-Chul},
  booktitle = {Proceedings of the AAAI Conference on Artificial Intelligence},
  year = {2019},
  url = {https://arxiv.org/abs/1904.12674}
}""",
        tags=("hcrnn", "recommendation", "session"),
    ),
    "higher_order_encoder": ArchitectureFacts(
        title="Higher-order encoder",
        summary=(
            "An encoder of texts whose attention compares a query with pairs of tokens: with all pairs (Clift et "
            "al. 2020), with a context that the query gathers first, or by products of sums, whose time is linear "
            "in the length."
        ),
        limits=(
            "In a text, words outside its vocabulary all look alike to it: it reads no characters.",
            "Attention to all pairs takes time that grows with the cube of the length; it is refused beyond a bound.",
        ),
        citation="""\
@inproceedings{clift2020logic,
  title = {Logic and the 2-Simplicial Transformer},
  author = {Clift, James and Doryn, Dmitry and Murfet, Daniel and Wallbridge, James},
  booktitle = {International Conference on Learning Representations},
  year = {2020},
  url = {https://arxiv.org/abs/1909.00668}
}""",
        tags=("higher-order-attention", "simplicial-attention", "transformer"),
    ),
    "kernel_encoder": ArchitectureFacts(
        title="Kernel encoder",
        summary=(
            "An encoder of texts or of rows of numbers: blocks of attention and a network, as a transformer has "
            "them. Attention is read as similarity times importance: the similarity of two steps is a kernel, "
            "given or learned, and the importance of a step is a power of its length. Dot products are the RBF "
            "kernel with the square of the length. Learned kernels follow Song, Jung, Kim and Moon (2021)."
        ),
        limits=(
            "In a text, words outside its vocabulary all look alike to it: it reads no characters.",
            "Memory grows with the square of the length where weights are dropped, requested or causal.",
        ),
        citation="""\
@inproceedings{song2021implicit,
  title = {Implicit Kernel Attention},
  author = {Song, Kyungwoo and Jung, Yohan and Kim, Dongjun and Moon, Il-Chul},
  booktitle = {Proceedings of the AAAI Conference on Artificial Intelligence},
  year = {2021},
  url = {https://arxiv.org/abs/2006.06147}
}""",
        tags=("kernel-attention", "transformer", "implicit-kernel"),
    ),
    "lama": ArchitectureFacts(
        title="LAMA",
        summary=(
            "A classifier of documents. A bidirectional GRU reads the words; several heads of attention, each a "
            "bilinear form of rank 1 between a context vector and a word's state, weigh the states; a hidden layer "
            "reads the weighted sums side by side. The cost is linear in the length of the text. The form is that of "
            "Mehta, Rangwala and Ramakrishnan (2019)."
        ),
        limits=(
            "Words outside its vocabulary are removed before it reads a text.",
            "With the paper's normalisation no word counts more than 7.4 times as much as another for a head, so that "
            "its attention over a long text is close to a mean.",
        ),
        citation="""\
@article{mehta2019low,
  title = {Low Rank Factorization for Compact Multi-Head Self-Attention},
  author = {Mehta, Sneha and Rangwala, Huzefa and Ramakrishnan, Naren},
  journal = {arXiv preprint arXiv:1912.00835},
  year = {2019},
  url = {https://arxiv.org/abs/1912.00835}
}""",
        tags=("lama", "multi-head-attention", "low-rank"),
    ),
    "linear_encoder": ArchitectureFacts(
        title="Linear encoder",
        summary=(
            "An encoder of texts whose attention takes time linear in the length: the kernel of two steps is a "
            "product of their features, so that the sums over all steps are formed once. Features are random, as "
            "in Performer (Choromanski et al. 2021), learned, or elu + 1 (Katharopoulos et al. 2020)."
        ),
        limits=(
            "In a text, words outside its vocabulary all look alike to it: it reads no characters.",
            "Random features are no replacement of softmax attention: a model is trained with them.",
        ),
        citation="""\
@inproceedings{choromanski2021rethinking,
  title = {Rethinking Attention with Performers},
  author = {Choromanski, Krzysztof and Likhosherstov, Valerii and Dohan, David and Song, Xingyou and Gane, Andreea
            and Sarlos, Tamas and Hawkins, Peter and Davis, Jared and Mohiuddin, Afroz and Kaiser, Lukasz
            and Belanger, David and Colwell, Lucy and Weller, Adrian},
  booktitle = {International Conference on Learning Representations},
  year = {2021},
  url = {https://arxiv.org/abs/2009.14794}
}""",
        tags=("linear-attention", "performer", "transformer"),
    ),
    "nipen": ArchitectureFacts(
        title="NIPEN",
        summary=(
            "A model of how each legislator votes on a bill. A legislator has an ideal point for each topic; a bill "
            "has a weight for each topic, which an autoencoder ties to its text, and an ideal point for each; a vote "
            "is the agreement weighed by topic, plus a weighted sum of the other legislators' votes on the bill. The "
            "form is that of Song, Lee and Moon (2018)."
        ),
        limits=(
            "It knows the legislators of its training alone.",
            "With a trust network it predicts a vote from the other votes on the bill; where none of them is known, "
            "that part is silent.",
        ),
        citation="""\
@inproceedings{song2018neural,
  title = {Neural Ideal Point Estimation Network},
  author = {Song, Kyungwoo and Lee, Wonsung and Moon, Il-Chul},
  booktitle = {Proceedings of the AAAI Conference on Artificial Intelligence},
  year = {2018}
}""",
        tags=("nipen", "ideal-points", "votes"),
    ),
    "session_baseline": ArchitectureFacts(
        title="Session baselines",
        summary=(
            "Three well-known models of sessions of items behind one configuration, to compare others with: GRU4REC, "
            "the last state of a GRU (Hidasi et al. 2016); NARM, a GRU whose states are weighed by the last one (Li et "
            "al. 2017); STAMP, item vectors weighed by the last item and their mean (Liu et al. 2018). They tell which "
            "item comes next."
        ),
        limits=(
            "What they know of a session is one vector, of a state or of weighed items.",
            "They score every item they know for each prediction; time and memory grow with their number.",
        ),
        citation="""\
@inproceedings{hidasi2016session,
  title = {Session-based Recommendations with Recurrent Neural Networks},
  author = {Hidasi, Bal{\\'a}zs and Karatzoglou, Alexandros and Baltrunas, Linas and Tikk, Domonkos},
  booktitle = {International Conference on Learning Representations},
  year = {2016},
  url = {https://arxiv.org/abs/1511.06939}
}
@inproceedings{li2017neural,
  title = {Neural Attentive Session-based Recommendation},
  author = {Li, Jing and Ren, Pengjie and Chen, Zhumin and Ren, Zhaochun and Lian, Tao and Ma, Jun},
  booktitle = {Proceedings of the 2017 ACM Conference on Information and Knowledge Management},
  year = {2017}
}
@inproceedings{liu2018stamp,
  title = {{STAMP}: Short-Term Attention/Memory Priority Model for Session-based Recommendation},
  author = {Liu, Qiao and Zeng, Yifu and Mokhosi, Refuoe and Zhang, Haibin},
  booktitle = {Proceedings of the 24th ACM SIGKDD International Conference on Knowledge Discovery and Data Mining},
  year = {2018}
}""",
        tags=("gru4rec", "narm", "stamp", "recommendation", "session"),
    ),
    "text_baseline": ArchitectureFacts(
        title="Text baseline",
        summary=(
            "A plain classifier of sentences and documents, to compare others with. Word vectors with positions beside "
            "them become one vector for each text by their mean, by attention with one weight for each word, by "
            "convolutions (Kim 2014), by a bidirectional GRU, alone or with attention over its states (Lin et al. "
            "2017, Mehta et al. 2019), or by a Transformer encoder; a linear layer, or one hidden layer, reads it."
        ),
        limits=(
            "Words outside its vocabulary are removed before it reads a text; only hashed n-grams, where it has them, "
            "tell of these words.",
            "With the mean or attention, the order of words reaches it through positions and hashed n-grams alone.",
        ),
        citation="""\
@inproceedings{kim2014convolutional,
  title = {Convolutional Neural Networks for Sentence Classification},
  author = {Kim, Yoon},
  booktitle = {Proceedings of EMNLP},
  year = {2014},
  url = {https://arxiv.org/abs/1408.5882}
}

@inproceedings{vaswani2017attention,
  title = {Attention Is All You Need},
  author = {Vaswani, Ashish and Shazeer, Noam and Parmar, Niki and Uszkoreit, Jakob and Jones, Llion
            and Gomez, Aidan N. and Kaiser, Lukasz and Polosukhin, Illia},
  booktitle = {Advances in Neural Information Processing Systems},
  year = {2017},
  url = {https://arxiv.org/abs/1706.03762}
}

@inproceedings{lin2017structured,
  title = {A Structured Self-attentive Sentence Embedding},
  author = {Lin, Zhouhan and Feng, Minwei and dos Santos, Cicero Nogueira and Yu, Mo and Xiang, Bing
            and Zhou, Bowen and Bengio, Yoshua},
  booktitle = {International Conference on Learning Representations},
  year = {2017},
  url = {https://arxiv.org/abs/1703.03130}
}

@article{mehta2019low,
  title = {Low Rank Factorization for Compact Multi-Head Self-Attention},
  author = {Mehta, Sneha and Rangwala, Huzefa and Ramakrishnan, Naren},
  journal = {arXiv preprint arXiv:1912.00835},
  year = {2019},
  url = {https://arxiv.org/abs/1912.00835}
}""",
        tags=("baseline",),
    ),
    "time_encoder": ArchitectureFacts(
        title="Time encoder",
        summary=(
            "A model of events at times: blocks of dot-product attention and a network, as a transformer has "
            "them, over the events of a history. Encodings of continuous time tell it when they were: learned "
            "frequencies, Fourier series, time2vec, or LSTE, a locally stationary kernel that also depends on "
            "when in a history a gap was."
        ),
        limits=("Memory grows with the square of the length of a history.",),
        citation="""\
@inproceedings{xu2019self,
  title = {Self-attention with Functional Time Representation Learning},
  author = {Xu, Da and Ruan, Chuanwei and Korpeoglu, Evren and Kumar, Sushant and Achan, Kannan},
  booktitle = {Advances in Neural Information Processing Systems},
  year = {2019},
  url = {https://arxiv.org/abs/1911.12864}
}""",
        tags=("time-encoding", "event-sequences", "transformer"),
    ),
    "vote_baseline": ArchitectureFacts(
        title="Vote baselines",
        summary=(
            "Five well-known models of votes or ratings behind one configuration, to compare others with: a logistic "
            "ideal point (Clinton, Jackman and Rivers 2004), AutoRec (Sedhain et al. 2015), CDAE (Wu et al. 2016), "
            "TrustSVD (Guo, Zhang and Yorke-Smith 2015) and CDL (Wang, Wang and Yeung 2015). They tell how each "
            "legislator votes on a bill."
        ),
        limits=(
            "They know the legislators of their training alone; but for CDL, which reads texts, the bills as well.",
        ),
        citation="""\
@article{clinton2004statistical,
  title = {The Statistical Analysis of Roll Call Data},
  author = {Clinton, Joshua and Jackman, Simon and Rivers, Douglas},
  journal = {American Political Science Review},
  year = {2004}
}
@inproceedings{sedhain2015autorec,
  title = {{AutoRec}: Autoencoders Meet Collaborative Filtering},
  author = {Sedhain, Suvash and Menon, Aditya Krishna and Sanner, Scott and Xie, Lexing},
  booktitle = {Proceedings of the 24th International Conference on World Wide Web},
  year = {2015}
}
@inproceedings{wu2016collaborative,
  title = {Collaborative Denoising Auto-Encoders for Top-N Recommender Systems},
  author = {Wu, Yao and DuBois, Christopher and Zheng, Alice X. and Ester, Martin},
  booktitle = {Proceedings of the Ninth ACM International Conference on Web Search and Data Mining},
  year = {2016}
}
@inproceedings{guo2015trustsvd,
  title = {{TrustSVD}: Collaborative Filtering with Both the Explicit and Implicit Influence of User Trust and of
    Item Ratings},
  author = {Guo, Guibing and Zhang, Jie and Yorke-Smith, Neil},
  booktitle = {Proceedings of the AAAI Conference on Artificial Intelligence},
  year = {2015}
}
@inproceedings{wang2015collaborative,
  title = {Collaborative Deep Learning for Recommender Systems},
  author = {Wang, Hao and Wang, Naiyan and Yeung, Dit-Yan},
  booktitle = {Proceedings of the 21th ACM SIGKDD International Conference on Knowledge Discovery and Data Mining},
  year = {2015}
}""",
        tags=("ideal-points", "votes"),
    ),
    "word_embedding": ArchitectureFacts(
        title="Word embeddings with attention",
        summary=(
            "Word vectors, and the model that they were trained in: it predicts a word from the words around it. In "
            "attention CBOW (Ling et al. 2015) these are weighed by attention that looks up one number for each word "
            "at each position, and one for each position. Plain CBOW, skip-gram, structured skip-gram, CWindow and "
            "CBOW with position vectors are settings of the same architecture."
        ),
        limits=(
            "A word has one vector, whatever it means in a text, and only words of the vocabulary have one.",
            "A place is predicted from the nearest words on both sides, as many as the window has, and from no others.",
        ),
        citation="""\
@inproceedings{ling2015contexts,
  title = {Not All Contexts Are Created Equal: Better Word Representations with Variable Attention},
  author = {Ling, Wang and Tsvetkov, Yulia and Amir, Silvio and Fermandez, Ramon and Dyer, Chris
            and Black, Alan W and Trancoso, Isabel and Lin, Chu-Cheng},
  booktitle = {Proceedings of EMNLP},
  year = {2015},
  url = {https://aclanthology.org/D15-1161}
}

@article{mikolov2013efficient,
  title = {Efficient Estimation of Word Representations in Vector Space},
  author = {Mikolov, Tomas and Chen, Kai and Corrado, Greg and Dean, Jeffrey},
  journal = {arXiv preprint arXiv:1301.3781},
  year = {2013},
  url = {https://arxiv.org/abs/1301.3781}
}""",
        tags=("word-embeddings", "word2vec", "cbow", "attention"),
    ),
}

_FOLDS = (
    "The test texts are one fold of a stratified division of all texts. Published {name} accuracies are means over the "
    "folds of other random divisions: compare the mean over all folds with them, and single folds with each other only."
)


def _of_catalogue(
    name: str,
    *,
    comparable: str,
    language: str | None = "en",
    example: Mapping[str, str] | None = None,
    test_rows: int | None = None,
) -> DatasetFacts:
    """Return the facts of a dataset of the catalogue, which says what it is and under which licence."""
    entry = ENTRIES[name]
    return DatasetFacts(entry.description, entry.licence, comparable, language, example, test_rows)


_PART = (
    "Only a part of the sessions behind published scores on {name} is to be had, and it was divided anew: scores "
    "compare with those of other checkpoints of ctxzoo on these rows, and with no published ones."
)

DATASET_FACTS = {
    "rajpurkar/squad": _of_catalogue(
        "rajpurkar/squad",
        comparable=(
            "Trained on the official training split and scored on the official development split with the rules of the "
            "official script, so published SQuAD 1.1 development scores compare. Dev was not used for choosing the "
            "epoch: 5 % of the training paragraphs were held out for that."
        ),
    ),
    "rajpurkar/squad_v2": _of_catalogue(
        "rajpurkar/squad_v2",
        comparable=(
            "Trained on the official training split and scored on the official development split with the rules of the "
            "official script, so published SQuAD 2.0 development scores compare. Dev was not used for choosing epoch "
            "or threshold: 5 % of the training paragraphs were held out for that. The paper's numbers are on one half "
            "of this development split (the course's), so they compare only roughly."
        ),
    ),
    "ctxzoo-data/squad_v1_mini": _of_catalogue(
        "ctxzoo-data/squad_v1_mini",
        comparable=OWN_STUDY.format(name="SQuAD 1.1"),
        example={
            "question": "Who collected the first books?",
            "context": (
                "The village library opened in 1987 in the old railway station. Its first librarian, Marta Lindqvist, "
                "collected nine hundred books from her neighbours. Today it lends forty thousand a year and is open on "
                "every day but Monday."
            ),
        },
    ),
    "ctxzoo-data/squad_v2_mini": _of_catalogue(
        "ctxzoo-data/squad_v2_mini",
        comparable=OWN_STUDY.format(name="SQuAD 2.0"),
    ),
    "ctxzoo-data/reuters8": _of_catalogue(
        "ctxzoo-data/reuters8",
        comparable=(
            "Scored on the official test split, so published R8 accuracies compare. Validation documents were drawn "
            "from the training split."
        ),
        example={
            "text": "the company said its net profit rose in the first quarter and that it will raise the dividend"
        },
        test_rows=2189,
    ),
    "stanfordnlp/imdb": _of_catalogue(
        "stanfordnlp/imdb",
        comparable=(
            "Scored on the official test split, so published IMDB accuracies compare. Validation reviews were drawn "
            "from the training split. 123 of the 25,000 test reviews stand in the training split too, and the scores "
            "hold them."
        ),
        example={"text": "A slow start, but the last hour is gripping, and the two leads are wonderful."},
        test_rows=25_000,
    ),
    "Yelp/yelp_review_full": _of_catalogue(
        "Yelp/yelp_review_full",
        comparable=OWN_STUDY.format(name="Yelp"),
        example={"text": "Friendly staff, but the soup was cold and we waited an hour for it."},
    ),
    "ctxzoo-data/wikipedia_en_2015": _of_catalogue(
        "ctxzoo-data/wikipedia_en_2015",
        comparable=OWN_STUDY.format(name="Wikipedia"),
        example={"text": "The university was [MASK] in 1850 ."},
    ),
    "ctxzoo-data/news_aggregator": _of_catalogue(
        "ctxzoo-data/news_aggregator",
        comparable=(
            f"{OWN_STUDY.format(name='News Aggregator')} 318 of the 1,918 test headlines are alike one of training, "
            "mostly of the same story, and the scores hold them."
        ),
        example={"text": "Central bank raises interest rates for the second time this year"},
    ),
    "ctxzoo-data/polyphonic_music": _of_catalogue(
        "ctxzoo-data/polyphonic_music",
        comparable=(
            "Trained, chosen and scored on the official splits of Boulanger-Lewandowski et al. (2012), so published "
            "negative log-likelihoods of a step compare where the first step of a piece is not predicted. The "
            "configuration tells which of the four sets it is; sets do not compare with each other."
        ),
        language=None,
    ),
    "ctxzoo-data/citeulike_hcrnn": _of_catalogue(
        "ctxzoo-data/citeulike_hcrnn",
        comparable=(
            "Trained, chosen and scored on the sessions as the authors of HCRNN divided them, every item but the first "
            "of a session ranked among all items: scores of others on these files compare. Ties count against the "
            "model here, and for it in the authors' code. 26 of the 360 test sessions are nearly equal to one of "
            "training: without them the scores of models of twice the authors' width are lower by 3.0 to 3.3 of "
            "recall@20 and 2.3 to 2.7 of MRR@20."
        ),
        language=None,
    ),
    "ctxzoo-data/roll_call": _of_catalogue(
        "ctxzoo-data/roll_call",
        comparable=(
            "Published scores of NIPEN are of both chambers from 1990 on, whose files are not to be had: scores "
            "compare with those of other checkpoints of ctxzoo on these rows, and with no published ones."
        ),
    ),
    "ctxzoo-data/ika_regression": _of_catalogue(
        "ctxzoo-data/ika_regression",
        comparable=(
            "Rows were divided at random here, and the epoch was chosen on validation rows where the settings do not "
            "say otherwise, so scores compare with those of other checkpoints of ctxzoo on the same rows. The "
            "configuration tells which of the four sets it is; sets do not compare with each other. In co2 the mean "
            "without its season is predicted from the mean itself, not from a date."
        ),
        language=None,
    ),
    "ctxzoo-data/movielens_1m_hcrnn": _of_catalogue(
        "ctxzoo-data/movielens_1m_hcrnn", comparable=_PART.format(name="MovieLens-1M"), language=None
    ),
    "ctxzoo-data/lastfm_hcrnn": _of_catalogue(
        "ctxzoo-data/lastfm_hcrnn", comparable=_PART.format(name="Last.fm"), language=None
    ),
    "ctxzoo-data/movielens_100k": _of_catalogue(
        "ctxzoo-data/movielens_100k",
        comparable=(
            "People were divided into train, validation and test here; there is no division that all papers share, so "
            "scores compare with those of other checkpoints of ctxzoo on these rows."
        ),
        language=None,
    ),
    "ctxzoo-data/stackoverflow_badges": _of_catalogue(
        "ctxzoo-data/stackoverflow_badges",
        comparable=(
            "Published accuracies on these badges are of five folds of 6,633 people, whose training files are not to "
            "be had. Here people of the test folds were divided anew: scores compare with those of other checkpoints "
            "of ctxzoo on these rows, and with no published ones."
        ),
        language=None,
    ),
    "ctxzoo-data/ptb_sample": _of_catalogue(
        "ctxzoo-data/ptb_sample",
        comparable=OWN_STUDY.format(name="Penn Treebank"),
        example={"text": "The company said it will close two plants next year ."},
    ),
    "ctxzoo-data/ptb_text": _of_catalogue(
        "ctxzoo-data/ptb_text",
        comparable=(
            "Trained, chosen and scored on the splits of Mikolov et al. (2010) with their 10,000 words, one end mark "
            "behind each line and every token scored once, so published perplexities of words on this text compare, "
            "where the weights stay as they are while test is read."
        ),
        example={"prompt": "the company said it will"},
    ),
    "ctxzoo-data/ud_english_ewt": _of_catalogue(
        "ctxzoo-data/ud_english_ewt",
        comparable=(
            "Trained, chosen and scored on the official splits with gold words, so published taggings of UD English "
            "EWT with gold words compare."
        ),
        example={"text": "We stayed two nights , and the staff were very friendly ."},
    ),
    "ctxzoo-data/brown_pos": _of_catalogue(
        "ctxzoo-data/brown_pos",
        comparable=(
            "The corpus has no official splits. Of each ten texts the ninth is for validation and the tenth for test, "
            "so scores compare with those of other checkpoints of ctxzoo, and only roughly with published ones."
        ),
        example={"text": "He put the lamp on the table and began to read ."},
    ),
    "ctxzoo-data/conll2000_pos": _of_catalogue(
        "ctxzoo-data/conll2000_pos",
        comparable=(
            "Scored on the official test split, the last tenth of the training sentences held out. The tags are a "
            "tagger's and not gold: scores compare with others on these tags, and with none on the Penn Treebank."
        ),
        example={"text": "The company said it will close two plants next year ."},
    ),
    "cornell-movie-review-data/rotten_tomatoes": _of_catalogue(
        "cornell-movie-review-data/rotten_tomatoes",
        comparable=_FOLDS.format(name="MR"),
        example={"text": "a warm and funny film , if a little long towards the end"},
        test_rows=2133,
    ),
    "SetFit/CR": _of_catalogue(
        "SetFit/CR",
        comparable=_FOLDS.format(name="CR"),
        example={"text": "the screen is sharp , but the battery hardly lasts a morning"},
    ),
    "SetFit/subj": _of_catalogue(
        "SetFit/subj",
        comparable=_FOLDS.format(name="SUBJ"),
        example={"text": "two sisters inherit a lighthouse and find a map behind its clock"},
        test_rows=2000,
    ),
    "ctxzoo-data/mpqa": _of_catalogue(
        "ctxzoo-data/mpqa",
        comparable=_FOLDS.format(name="MPQA"),
        example={"text": "deep concern about the future of the region"},
    ),
}


def sample_facts(what: str, example: Mapping[str, str] | None = None) -> DatasetFacts:
    """Return the facts of a generated sample; `what` is in it, without a full stop; `example`: see `DatasetFacts`."""
    return DatasetFacts(
        description=f"A corpus that ctxzoo generates: {what}. It exists to try the code without a download.",
        licence="generated by ctxzoo (Apache-2.0)",
        comparable="Scores on generated text say whether training works. They compare with nothing else.",
        example=example,
    )


def architecture_facts(architecture: Architecture) -> ArchitectureFacts:
    """Return the facts of an architecture.

    Raises:
        ValueError: nobody has written them.
    """
    if architecture.name not in ARCHITECTURE_FACTS:
        raise ValueError(f"no card facts for {architecture.name!r}; add them to ctxzoo/hub/card_facts.py")
    return ARCHITECTURE_FACTS[architecture.name]


def check_architecture(name: str) -> None:
    """Refuse an architecture that there is not, or of which a card could say nothing.

    Raises:
        ValueError: see above.
    """
    if name not in ARCHITECTURES:
        raise ValueError(f"unknown architecture {name!r}; known: {', '.join(ARCHITECTURES)}")
    architecture_facts(ARCHITECTURES[name])
