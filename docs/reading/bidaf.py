"""BiDAF with positions and characters in one file, to be read beside the paper.

Patel, "Conditioning External and Internal Context Awareness through Attention Overload and Character-Level Embeddings"
(2022): the best row of its table, learned positions and characters seven wide, on the attention flow of Seo et al.,
"Bidirectional Attention Flow for Machine Comprehension" (2017), in the form of the CS224N starter model.

What it does. It marks the words of a context that answer a question, or says that there is no answer. Both texts are
encoded by the same layers, then each word of the context attends to the question and, through it, to the context; the
result is encoded again, and two scores for each word say where the answer starts and where it ends.

    words, characters  ->  c (B, C, 2h), q (B, Q, 2h)  ->  G (B, C, 8h)  ->  M (B, C, 2h)  ->  start, end (B, C)

B examples of C context words and Q question words, L characters in a word, h = 100. Both texts begin with one extra
token of id 1: position 0 of the context stands for "no answer". Id 0 is padding, which is on the right. Numbers in
brackets are those of the steps in ../models/bidaf.md; step 3, the self-attention, is not in this row of the table.
"""

import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence


class BiLstm(nn.Module):
    """An LSTM of h units in each direction, which padding enters in neither.

    Args:
        input_size: Numbers of a word as it enters.
        size: h; 2h numbers of a word come out.
    """

    def __init__(self, input_size: int, size: int) -> None:
        super().__init__()
        self.lstm = nn.LSTM(input_size, size, batch_first=True, bidirectional=True)

    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Return the states (B, n, 2h), 0 at padding, of x (B, n, input_size)."""
        packed = pack_padded_sequence(x, mask.sum(dim=1).cpu(), batch_first=True, enforce_sorted=False)
        return pad_packed_sequence(self.lstm(packed)[0], batch_first=True, total_length=x.size(1))[0]


class Bidaf(nn.Module):
    """A reader that points at the answer to a question.

    Args:
        vectors: (V, 300) word vectors, GloVe in the paper, which stay as they are; rows 0 and 1 are zero.
        num_chars: Number of characters, padding (0) and the unknown one (1) among them.
        size: h.
        max_positions: Rows of the table of positions: words of the longest text, with the extra token.
        char_dim: Numbers in the vector of a character.
        char_filters: Filters of the convolution over characters.
        char_width: w, how many characters a filter spans.
    """

    def __init__(
        self,
        vectors: torch.Tensor,
        num_chars: int,
        size: int = 100,
        max_positions: int = 1024,
        char_dim: int = 64,
        char_filters: int = 100,
        char_width: int = 7,
    ) -> None:
        super().__init__()
        self.E_w = nn.Parameter(vectors, requires_grad=False)
        self.projection = nn.Linear(vectors.size(1), size, bias=False)
        bound = size**-0.5
        self.positions = nn.Parameter(torch.empty(max_positions, size).uniform_(-bound, bound))  # one table for both

        self.E_c = nn.Embedding(num_chars, char_dim, padding_idx=0)
        self.convolution = nn.Conv1d(char_dim, char_filters, char_width)

        width = size + char_filters
        self.gates = nn.ModuleList(nn.Linear(width, width) for _ in range(2))  # W_g of two highway layers
        self.transforms = nn.ModuleList(nn.Linear(width, width) for _ in range(2))  # W_t
        self.encoder = BiLstm(width, size)

        self.w_c = nn.Parameter(nn.init.xavier_uniform_(torch.empty(2 * size, 1)))
        self.w_q = nn.Parameter(nn.init.xavier_uniform_(torch.empty(2 * size, 1)))
        self.w_cq = nn.Parameter(nn.init.xavier_uniform_(torch.empty(1, 1, 2 * size)))
        self.b = nn.Parameter(torch.zeros(1))

        self.modelling = nn.ModuleList([BiLstm(8 * size, size), BiLstm(2 * size, size)])
        self.end_encoder = BiLstm(2 * size, size)
        self.w_1, self.v_1 = nn.Linear(8 * size, 1), nn.Linear(2 * size, 1)  # of the start
        self.w_2, self.v_2 = nn.Linear(8 * size, 1), nn.Linear(2 * size, 1)  # of the end
        self.dropout = nn.Dropout(0.2)

    def forward(
        self, context: torch.Tensor, context_chars: torch.Tensor, question: torch.Tensor, question_chars: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the logits of the start and of the end, (B, C) each, -inf at padding.

        Args:
            context, question: (B, C) and (B, Q) ids of the words, the extra token first.
            context_chars, question_chars: (B, C, L) and (B, Q, L) ids of their characters.
        """
        context_mask, question_mask = context > 0, question > 0
        c = self.encode(context, context_chars, context_mask)
        q = self.encode(question, question_chars, question_mask)
        G = self.attention_flow(c, q, context_mask, question_mask)

        # (8) M = BiLSTM(BiLSTM(G)), dropout behind each
        M = G
        for layer in self.modelling:
            M = self.dropout(layer(M, context_mask))

        # (9) start = w_1 . G + v_1 . M;  end = w_2 . G + v_2 . BiLSTM(M)
        start = self.w_1(G) + self.v_1(M)
        end = self.w_2(G) + self.v_2(self.dropout(self.end_encoder(M, context_mask)))
        start, end = (each.squeeze(2).masked_fill(~context_mask, -torch.inf) for each in (start, end))
        return start, end

    def encode(self, words: torch.Tensor, chars: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Return the encoded words (B, n, 2h) of a text; context and question share all of it."""
        # (1) word vectors, projected without a bias
        x = self.projection(self.dropout(self.E_w[words]))  # (B, n, h)
        # (2) row p of the table of positions is added to the word at position p
        x = self.dropout(x + self.positions[: words.size(1)])
        # (4) the vector of a word's characters stands behind it
        x = torch.cat([x, self.of_chars(chars)], dim=2)
        # (5) twice: g = sigmoid(W_g x + b_g), t = relu(W_t x + b_t), x <- g t + (1 - g) x
        for gate, transform in zip(self.gates, self.transforms, strict=True):
            g, t = torch.sigmoid(gate(x)), torch.relu(transform(x))
            x = g * t + (1 - g) * x
        # (6)
        encoded: torch.Tensor = self.dropout(self.encoder(x, mask))
        return encoded

    def of_chars(self, chars: torch.Tensor) -> torch.Tensor:
        """Return one vector (B, n, filters) for the characters (B, n, L) of each word (4)."""
        batch, n, length = chars.shape
        x = self.dropout(self.E_c(chars)).view(batch * n, length, -1)
        places = torch.relu(self.convolution(x.transpose(1, 2)))  # (B n, filters, L - w + 1)
        return places.amax(dim=2).view(batch, n, -1)

    def attention_flow(
        self, c: torch.Tensor, q: torch.Tensor, context_mask: torch.Tensor, question_mask: torch.Tensor
    ) -> torch.Tensor:
        """Return G (B, C, 8h) of the encoded context c (B, C, 2h) and question q (B, Q, 2h) (7)."""
        # S_ij = w_c . c_i + w_q . q_j + (w_cq * c_i) . q_j + b
        dropped_c, dropped_q = self.dropout(c), self.dropout(q)
        S = dropped_c @ self.w_c + (dropped_q @ self.w_q).transpose(1, 2)
        S = S + (self.w_cq * dropped_c) @ dropped_q.transpose(1, 2) + self.b  # (B, C, Q)

        # S1: which words of the question a word of the context looks at; S2: the other way round.
        S1 = S.masked_fill(~question_mask.unsqueeze(1), -torch.inf).softmax(dim=2)
        S2 = S.masked_fill(~context_mask.unsqueeze(2), -torch.inf).softmax(dim=1)
        a = S1 @ q  # (B, C, 2h) the question, for each word of the context
        b = S1 @ (S2.transpose(1, 2) @ c)  # (B, C, 2h) the context, by way of the question
        return torch.cat([c, a, c * a, c * b], dim=2)

    def loss(self, start: torch.Tensor, end: torch.Tensor, answers: torch.Tensor) -> torch.Tensor:
        """Return the loss in nats of logits (B, C), the mean over the batch.

        -log softmax(start)[i] - log softmax(end)[j], `answers` (B, 2) being i and j; both are 0 without an answer.
        """
        return F.cross_entropy(start, answers[:, 0]) + F.cross_entropy(end, answers[:, 1])
