"""LAMA in one file, to be read beside the paper.

Mehta, Rangwala and Ramakrishnan, "Low Rank Factorization for Compact Multi-Head Self-Attention" (2019): the row LAMA of
Table 3, one trained context vector for all documents.

What it does. A GRU reads the document in both directions. m heads weigh its states: the weight of a word is a bilinear
form of rank 1 between the word and a context vector, so that all heads together need two thin matrices. The m weighted
sums stand side by side, and a hidden layer classifies them.

    word ids (B, T)  ->  x (B, T, d)  ->  H (B, T, D)  ->  A (B, m, T)  ->  S (B, m, D)  ->  scores (B, L)

B documents of T words, d numbers in a word vector, h units of the GRU in each direction, D = 2h, m heads, L classes. A
batch is padded on the right; each document has one word or more. Numbers in brackets are those of the paper.
"""

import torch
from torch import nn
from torch.nn import functional as F


class GruDirection(nn.Module):
    """A GRU that reads words in one direction (3.1 to 3.4).

    Each of W, U and their biases holds those of the reset gate r, of z and of the candidate, one below the other.

    Args:
        word_dim: d.
        size: h.
        backwards: Whether it reads from the last word to the first.
    """

    def __init__(self, word_dim: int, size: int, backwards: bool) -> None:
        super().__init__()
        bound = size**-0.5  # PyTorch's start of a GRU; the paper tells none
        self.W = nn.Parameter(torch.empty(3 * size, word_dim).uniform_(-bound, bound))  # of the word
        self.U = nn.Parameter(torch.empty(3 * size, size).uniform_(-bound, bound))  # of the state
        self.b_W = nn.Parameter(torch.empty(3 * size).uniform_(-bound, bound))
        self.b_U = nn.Parameter(torch.empty(3 * size).uniform_(-bound, bound))
        self.backwards = backwards

    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Return the states (B, T, h), 0 at padding, of the words x (B, T, d)."""
        steps = list(range(x.size(1)))
        h = x.new_zeros(len(x), self.U.size(1))
        states = [h] * len(steps)
        for t in reversed(steps) if self.backwards else steps:
            r_word, z_word, candidate_word = (x[:, t] @ self.W.T + self.b_W).chunk(3, dim=1)
            r_state, z_state, candidate_state = (h @ self.U.T + self.b_U).chunk(3, dim=1)
            # (3.2 to 3.4) the gates and the candidate; r is on all that the state adds, its bias too
            z = torch.sigmoid(z_word + z_state)
            r = torch.sigmoid(r_word + r_state)
            candidate = torch.tanh(candidate_word + r * candidate_state)
            new = (1 - z) * candidate + z * h  # (3.1), where the paper has z and 1 - z exchanged: the same family
            real = mask[:, t].unsqueeze(1)
            h = torch.where(real, new, h)  # padding leaves the state as it is
            states[t] = torch.where(real, new, torch.zeros_like(new))
        return torch.stack(states, dim=1)


class Lama(nn.Module):
    """A classifier of documents by multi-head attention of low rank.

    Args:
        vocab_size: Number of words, that of padding (0) among them.
        num_labels: L.
        word_dim: d, 100 in the paper.
        gru_size: h, 50 in the paper.
        num_heads: m, 15; the paper chooses it on validation.
        hidden_size: Units of the classifier, 512 in the paper.
    """

    def __init__(
        self,
        vocab_size: int,
        num_labels: int = 2,
        word_dim: int = 100,
        gru_size: int = 50,
        num_heads: int = 15,
        hidden_size: int = 512,
    ) -> None:
        super().__init__()
        D = 2 * gru_size
        # E, the word vectors: word2vec of the training documents in the paper, trained further.
        self.E = nn.Embedding(vocab_size, word_dim, padding_idx=0)

        self.gru_forward = GruDirection(word_dim, gru_size, backwards=False)
        self.gru_backward = GruDirection(word_dim, gru_size, backwards=True)

        # W_w and b_w of the words as the attention reads them, from N(0, 0.1^2).
        self.W_w = nn.Parameter(0.1 * torch.randn(D, D))
        self.b_w = nn.Parameter(0.1 * torch.randn(D))

        # Column i of P and of Q is head i: W_i = P_i Q_i^T is its bilinear form, of D^2 numbers of which 2 D are free.
        self.P = nn.Parameter(nn.init.xavier_uniform_(torch.empty(D, num_heads)))
        self.Q = nn.Parameter(nn.init.xavier_uniform_(torch.empty(D, num_heads)))
        # c, what words are compared with: one vector for all documents.
        self.c = nn.Parameter(0.1 * torch.randn(D))

        self.W_1 = nn.Linear(num_heads * D, hidden_size)
        self.W_2 = nn.Linear(hidden_size, num_labels)
        self.dropout = nn.Dropout(0.4)

    def forward(self, words: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Return the scores (B, L) of the classes.

        Args:
            words: (B, T) ids of the words, 0 at padding.
            mask: (B, T) booleans, True at words.
        """
        x = self.E(words)  # (B, T, d)

        # (3.5, 3.6) h_t = [GRU forwards ; GRU backwards]
        H = torch.cat([self.gru_forward(x, mask), self.gru_backward(x, mask)], dim=2)  # (B, T, D)

        A = self.attention(H, mask)

        # (3.15) S = A H: the sums are of the states h_t, not of the u_t that the attention reads.
        S = A @ H  # (B, m, D)

        # (3.16), and the hidden layer of Figure 1: the sums of all heads, one behind the other, are classified.
        document = S.flatten(1)  # (B, m D)
        scores: torch.Tensor = self.W_2(self.dropout(torch.relu(self.W_1(document))))
        return scores

    def attention(self, H: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Return A (B, m, T), the weights of the words for each head, from the states H (B, T, D) (section 3.3)."""
        # (3.7) u_t = tanh(W_w h_t + b_w)
        u = torch.tanh(H @ self.W_w.T + self.b_w)  # (B, T, D)

        # (3.10, 3.11) f_ti = c^T W_i u_t = c^T P_i Q_i^T u_t: a number from each side, and their product.
        f = (self.c @ self.P) * (u @ self.Q)  # (B, T, m)

        # tanh, and then length 1 over the heads of a word. So all logits lie in [-1, 1], and no word of a document
        # counts more than e^2 = 7.4 times as much as another.
        f = torch.tanh(f)
        f = f / f.norm(dim=2, keepdim=True).clamp(min=1e-12)

        # (3.12, 3.13) the softmax is over the words of the document, for each head by itself.
        f = f.masked_fill(~mask.unsqueeze(2), -torch.inf)
        A: torch.Tensor = f.softmax(dim=1).transpose(1, 2)
        return A

    def loss(self, words: torch.Tensor, mask: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """Return the cross-entropy in nats (3.18), here the mean over the batch; `labels` (B,) are the classes."""
        return F.cross_entropy(self.forward(words, mask), labels)
