"""The Contextualizer in one file, to be read beside the paper.

Maupomé and Meurs, "An Iterative Contextualization Algorithm with Second-Order Attention" (2021): Algorithm 1,
recurrent, with a random start, as in the paper's Table 2.

What it does. A document is one context vector c. It starts from a vector that is presumably wrong. K times every word
is weighed, feature by feature, given the context so far, and the weighted sum of the words becomes the next context.
The last context is classified.

    word ids (B, n)  ->  x (B, n, m)  ->  c^0, c^1, ..., c^K (B, m)  ->  scores (B, L)

B documents of n words, v numbers in a word vector, p in a position, m = v + p features of a word, u the rank, K steps,
L classes. A batch is padded on the right; each document has one word or more. Numbers in brackets are those of the
table in ../models/contextualizer.md, since the paper numbers few of its equations.
"""

import torch
from torch import nn
from torch.nn import functional as F


def sinusoids(length: int, width: int) -> torch.Tensor:
    """Return the positions PE (length, width), which are fixed (equation 1).

    PE(i, 2r) = sin(i / 10000^(2r / width)) and PE(i, 2r + 1) = cos(the same).
    """
    i = torch.arange(length, dtype=torch.float64).unsqueeze(1)  # (n, 1)
    exponent = torch.arange(0, width, 2, dtype=torch.float64) / width  # 2r / p, (p / 2,)
    angle = i / 10000.0**exponent  # (n, p / 2)
    return torch.stack([angle.sin(), angle.cos()], dim=2).flatten(1)  # sine and cosine take turns


class Contextualizer(nn.Module):
    """A classifier of documents: K steps of second-order attention, all with the same U, V and W.

    Args:
        vocab_size: Number of words, that of padding (0) among them.
        num_labels: L.
        word_dim: v, 500 in the paper.
        position_dim: p, 20 in the paper.
        rank: u, 100 in the paper.
        num_steps: K, 5 in the paper.
    """

    def __init__(
        self,
        vocab_size: int,
        num_labels: int = 2,
        word_dim: int = 500,
        position_dim: int = 20,
        rank: int = 100,
        num_steps: int = 5,
    ) -> None:
        super().__init__()
        m = word_dim + position_dim
        self.position_dim, self.num_steps = position_dim, num_steps

        # E, the word vectors: drawn from U(-1, 1), and never trained.
        self.E = nn.Parameter(torch.rand(vocab_size, word_dim) * 2 - 1, requires_grad=False)

        # A third-order tensor T of rank u, T_jab = sum_r W_jr U_ra V_rb: feature j of a weight from feature a of the
        # word and feature b of the context. Written out it would have m^3 numbers, 140 million; so it has 3 u m.
        self.U = nn.Parameter(nn.init.xavier_uniform_(torch.empty(rank, m)))  # reads a word
        self.V = nn.Parameter(nn.init.xavier_uniform_(torch.empty(rank, m)))  # reads the context
        self.W = nn.Parameter(nn.init.xavier_uniform_(torch.empty(m, rank)))  # writes the logits of the features

        # W_o and b_o, the classifier of the last context.
        self.W_o = nn.Parameter(nn.init.xavier_uniform_(torch.empty(num_labels, m)))
        self.b_o = nn.Parameter(torch.zeros(num_labels))

        # The context that every document starts from when the training is over.
        self.fixed_start = nn.Buffer(torch.rand(m) * 2 - 1)

    def forward(self, words: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Return the scores (B, L) of the classes.

        Args:
            words: (B, n) ids of the words, 0 at padding.
            mask: (B, n) booleans, True at words.
        """
        x = self.tokens(words)
        c = self.start(x)
        for _ in range(self.num_steps):
            c = self.step(x, c, mask)
        return c @ self.W_o.T + self.b_o  # (6)

    def tokens(self, words: torch.Tensor) -> torch.Tensor:
        """Return x (B, n, m), word vectors with their positions behind them (not added): x_i = [E[w_i] ; PE(i)] (1)."""
        vectors = self.E[words]  # (B, n, v)
        positions = sinusoids(words.size(1), self.position_dim).to(vectors)  # (n, p)
        return torch.cat([vectors, positions.expand(len(words), -1, -1)], dim=2)

    def start(self, x: torch.Tensor) -> torch.Tensor:
        """Return c^0 (B, m): in training drawn anew from U(-1, 1) for each document, later one such vector (2)."""
        batch, _, m = x.shape
        if self.training:
            return torch.rand(batch, m, dtype=x.dtype) * 2 - 1
        return self.fixed_start.expand(batch, m)

    def step(self, x: torch.Tensor, c: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Return the next context c^k (B, m) from c^(k-1), one turn of the loop of Algorithm 1."""
        # (3) logit_ij = sum_ab T_jab x_ia c_b, by the three thin matrices.
        of_words = x @ self.U.T  # (B, n, u)
        of_context = c @ self.V.T  # (B, u)
        logits = (of_words * of_context.unsqueeze(1)) @ self.W.T  # (B, n, m)

        # (4) a_ij = exp(logit_ij) / sum_l exp(logit_lj): over the words l of the document, not over the features. Each
        # feature j has weights of its own, so that a step may take one feature of this word and another of that one.
        logits = logits.masked_fill(~mask.unsqueeze(2), -torch.inf)  # padding has the weight 0
        a = logits.softmax(dim=1)  # (B, n, m)

        # (5) c_j = sum_i a_ij x_ij
        return (a * x).sum(dim=1)

    def loss(self, words: torch.Tensor, mask: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """Return the cross-entropy in nats, the mean over the batch; `labels` (B,) are the classes."""
        return F.cross_entropy(self.forward(words, mask), labels)
