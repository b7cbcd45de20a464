"""HCRNN in one file, to be read beside the paper.

Song, Ji, Park and Moon, "Hierarchical Context Enabled Recurrent Neural Network for Recommendation" (2019): HCRNN-3 with
bi-channel attention, its strongest model.

What it does. It predicts the next item of a session from three contexts. The global context theta says what the whole
session is about, as fractions of K topics. The local context c is the theme of the current stretch, read from a memory
of the topics. The temporary context h is the state of a GRU. Where an item and the local context disagree, the interest
drifts, and a gate lets go of the temporary context. Two channels of attention over the steps then give the scores.

    items (B, T)  ->  theta (B, K);  h (B, T, H), c (B, T, E)  ->  rep (B, 3H)  ->  scores (B, N + 1)

B sessions of T items, N items in all, E numbers in an item vector and in c, H in h, K topics. Items are 1 to N; 0 is
padding, which is on the right. Each session has one item or more. * is elementwise. Numbers in brackets are those of
the table in ../models/hcrnn.md.
"""

import torch
from torch import nn
from torch.nn import functional as F


def glorot(rows: int, columns: int) -> nn.Parameter:
    """Return a matrix that starts uniform after Glorot and Bengio (2010)."""
    return nn.Parameter(nn.init.xavier_uniform_(torch.empty(rows, columns)))


class Hcrnn(nn.Module):
    """A recurrent network with hierarchical contexts, which scores the next item.

    Args:
        num_items: N.
        item_size: E, 100 in the paper.
        hidden_size: H, 100 in the paper.
        num_topics: K, 50 in the authors' code.
    """

    def __init__(self, num_items: int, item_size: int = 100, hidden_size: int = 100, num_topics: int = 50) -> None:
        super().__init__()
        E, H, K = item_size, hidden_size, num_topics
        self.W_emb = nn.Embedding(num_items + 1, E, padding_idx=0)

        # The global context, a neural topic model.
        self.W_1, self.W_mu, self.W_s = nn.Linear(E, E), nn.Linear(E, K), nn.Linear(E, K)

        # The memory, a row for each topic, and how it is read.
        self.M = glorot(K, E)
        self.A, self.R, self.v = glorot(E, H), glorot(H, H), glorot(H, 1)

        # The gates: W reads [e ; h], U a context, D the agreement of item and context.
        self.W_g, self.U_g, self.b_g = glorot(E + H, E), glorot(E, E), nn.Parameter(torch.zeros(E))
        self.W_z, self.U_z, self.b_z = glorot(E + H, H), glorot(E, H), nn.Parameter(torch.zeros(H))
        self.W_r, self.b_r = glorot(E + H, H), nn.Parameter(torch.zeros(H))
        self.W_h, self.b_h = glorot(E + H, H), nn.Parameter(torch.zeros(H))
        self.D, self.b_d = glorot(E, H), nn.Parameter(torch.zeros(H))
        self.clip_drift()

        # The two channels of attention, and the scores.
        self.W_e, self.W_d, self.v_e = (nn.Linear(H, size, bias=False) for size in (H, H, 1))
        self.G_1, self.G_2 = nn.Linear(E, H, bias=False), nn.Linear(E, H, bias=False)
        self.B = nn.Linear(3 * H, E, bias=False)
        self.item_dropout, self.rep_dropout = nn.Dropout(0.25), nn.Dropout(0.5)

    @torch.no_grad()
    def clip_drift(self) -> None:
        """Keep D from being negative; call it after each step of the optimizer (16).

        Agreement of item and context can then only open the drift gate, and disagreement only close it.
        """
        self.D.clamp_(min=1e-12)

    def forward(self, items: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the scores (B, N + 1) of all items, -inf for padding, and the divergence (B,) of the topics.

        Args:
            items: (B, T) ids, 0 at padding.
        """
        mask = items > 0
        e = self.W_emb(items)  # (B, T, E)
        theta, divergence = self.global_context(e, items)
        h, c, last_h, last_c = self.read(self.item_dropout(e), theta, mask)
        rep = self.readout(h, c, last_h, last_c, mask)
        # (14) scores = rep B W_emb^T: bilinear with the item vectors, without a bias
        scores = self.B(self.rep_dropout(rep)) @ self.W_emb.weight.T
        is_padding = torch.arange(scores.size(1)) == 0
        return scores.masked_fill(is_padding, -torch.inf), divergence

    def global_context(self, e: torch.Tensor, items: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return theta (B, K), the topics of the whole session, and their divergence (B,) from the prior in nats."""
        # (1) s: the sum of the vectors of the distinct items; one that comes again counts once
        bag = F.one_hot(items, self.W_emb.num_embeddings).amax(dim=1).to(e)  # (B, N + 1)
        s = self.item_dropout(bag[:, 1:] @ self.W_emb.weight[1:])  # (B, E); padding is no item
        # (2) the distribution of the topics before the softmax
        q = F.elu(self.W_1(s))
        mu = self.W_mu(q)
        sigma = (1e-6 + F.softplus(self.W_s(q))).clamp(max=10)
        # (3) drawn in training, by the reparametrisation of a normal distribution; the mean later
        drawn = mu + sigma * torch.randn_like(mu) if self.training else mu
        # (4) KL(N(mu, sigma^2) || N(0, I))
        divergence = 0.5 * (mu**2 + sigma**2 - torch.log(1e-8 + sigma**2) - 1).sum(dim=1)
        return drawn.softmax(dim=1), divergence

    def read(self, e: torch.Tensor, theta: torch.Tensor, mask: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """Return h (B, T, H) and c (B, T, E) of all steps, and those of the last item, (B, H) and (B, E)."""
        h, c = e.new_zeros(len(e), self.R.size(0)), e.new_zeros(len(e), e.size(2))
        all_h, all_c = [], []
        for t in range(e.size(1)):
            new_h, new_c = self.cell(e[:, t], h, c, theta)
            real = mask[:, t].unsqueeze(1)
            h, c = torch.where(real, new_h, h), torch.where(real, new_c, c)  # padding leaves them as they are
            all_h.append(h)
            all_c.append(c)
        return torch.stack(all_h, dim=1), torch.stack(all_c, dim=1), h, c

    def cell(
        self, e: torch.Tensor, h: torch.Tensor, c: torch.Tensor, theta: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the next temporary and local context from an item e (B, E), h (B, H) and c (B, E)."""
        both = torch.cat([e, h], dim=1)

        # (5) attention over the memory: a_k = v . sigmoid((theta_k M_k) A + h R); the rows themselves are summed
        weighted = theta.unsqueeze(2) * self.M  # (B, K, E)
        a = torch.sigmoid(weighted @ self.A + (h @ self.R).unsqueeze(1)) @ self.v  # (B, K, 1)
        theme = (a.softmax(dim=1) * self.M).sum(dim=1)  # (B, E)

        # (6) the local context moves towards what was read
        g = torch.sigmoid(both @ self.W_g + c @ self.U_g + self.b_g)
        c = (1 - g) * c + g * theme

        # (7) the update gate, with the new local context
        z = torch.sigmoid(both @ self.W_z + c @ self.U_z + self.b_z)

        # (11) the reset gate of HCRNN-3, and the drift gate d: e * c says how far item and theme agree
        d = torch.sigmoid((e * c) @ self.D + self.b_d)
        r = torch.sigmoid(both @ self.W_r + self.b_r) * d

        # (8) the temporary context
        candidate = torch.tanh(torch.cat([e, r * h], dim=1) @ self.W_h + self.b_h)
        return (1 - z) * h + z * candidate, c

    def readout(
        self, h: torch.Tensor, c: torch.Tensor, last_h: torch.Tensor, last_c: torch.Tensor, mask: torch.Tensor
    ) -> torch.Tensor:
        """Return rep (B, 3H), what the scores are computed from: the sums of both channels, and h_T."""
        # (12) local channel: beta_t = v . sigmoid(W_e h_t + W_d h_T)
        local = self.v_e(torch.sigmoid(self.W_e(h) + self.W_d(last_h).unsqueeze(1))).squeeze(2)
        # (13) global channel: beta_t = (G_1 c_t) . (G_2 c_T) / sqrt(E)
        of_contexts = (self.G_1(c) * self.G_2(last_c).unsqueeze(1)).sum(dim=2) / c.size(2) ** 0.5

        def weighted(beta: torch.Tensor) -> torch.Tensor:
            """Return sum_t w_t h_t (B, H) with w = softmax over the items: both channels weigh the states h."""
            w = beta.masked_fill(~mask, -torch.inf).softmax(dim=1)
            return (w.unsqueeze(2) * h).sum(dim=1)

        return torch.cat([weighted(of_contexts), weighted(local), last_h], dim=1)

    def loss(self, items: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """Return the cross-entropy of the next items (B,) plus 0.001 times the divergence, in nats, the means (15)."""
        scores, divergence = self.forward(items)
        return F.cross_entropy(scores, labels) + 1e-3 * divergence.mean()
