"""Functions of BiDAF: similarity and attention flow without (B, C, Q, d) or (B, C, C) tensors, and distinct words."""

from typing import Literal

import torch

from .ops_words import mask_logits, masked_softmax


def trilinear_similarity(
    context: torch.Tensor,
    question: torch.Tensor,
    context_weight: torch.Tensor,
    question_weight: torch.Tensor,
    product_weight: torch.Tensor,
    bias: torch.Tensor,
) -> torch.Tensor:
    """Return the similarity S_ij = w_c.c_i + w_q.q_j + (w_cq * c_i).q_j + b of all word pairs, without a 4-d tensor.

    Args:
        context: (B, C, d) vectors c of the context words.
        question: (B, Q, d) vectors q of the question words.
        context_weight, question_weight, product_weight: Weights w_c, w_q and w_cq of the context, the question and
            their product, (d,) each.
        bias: Bias b, a scalar.

    Returns:
        S (B, C, Q).
    """
    from_context = (context @ context_weight).unsqueeze(2)  # (B, C, 1)
    from_question = (question @ question_weight).unsqueeze(1)  # (B, 1, Q)
    from_both = torch.bmm(context * product_weight, question.transpose(1, 2))  # (B, C, Q)
    return from_both + from_context + from_question + bias


def attention_flow(
    context: torch.Tensor,
    question: torch.Tensor,
    similarity: torch.Tensor,
    context_mask: torch.Tensor,
    question_mask: torch.Tensor,
    query_to_context: Literal["coattention", "max"] = "coattention",
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return the context attended by the question, G = [c ; a ; c*a ; c*b], and both attention maps (Seo et al. 2017).

    a = S1 q and b = S1 (S2^T c), or b = sum_i softmax_i(max_j S_ij) c_i.

    Args:
        context, question: (B, C, d) context words and (B, Q, d) question words.
        similarity: (B, C, Q) similarity S of context and question words.
        context_mask, question_mask: Boolean (B, C) and (B, Q), True at real words.
        query_to_context: Form of the query-to-context attention: the coattention form, or the maximum and softmax of
            Seo et al.

    Returns:
        G (B, C, 4d), S1 (B, C, Q) softmax over the question, S2: (B, C, Q) softmax over the context, or (B, C) for
        "max".
    """
    to_question = masked_softmax(similarity, question_mask.unsqueeze(1), dim=2)  # S1 (B, C, Q)
    attended_question = torch.bmm(to_question.to(question.dtype), question)  # a (B, C, d)
    if query_to_context == "coattention":
        to_context = masked_softmax(similarity, context_mask.unsqueeze(2), dim=1)  # S2 (B, C, Q)
        # (S2^T c) first: (B, Q, d) instead of the (B, C, C) that S1 S2^T would be.
        summaries = torch.bmm(to_context.to(context.dtype).transpose(1, 2), context)
        attended_context = torch.bmm(to_question.to(context.dtype), summaries)  # b (B, C, d)
    else:
        strongest = mask_logits(similarity, question_mask.unsqueeze(1)).amax(dim=2)  # (B, C)
        to_context = masked_softmax(strongest, context_mask, dim=1)  # (B, C)
        attended_context = torch.bmm(to_context.to(context.dtype).unsqueeze(1), context)  # (B, 1, d)
    flow = torch.cat(
        [context, attended_question, context * attended_question, context * attended_context.expand_as(context)], dim=-1
    )
    return flow, to_question, to_context


def unique_rows(rows: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the distinct rows and, for each row, the index of its equal among them.

    Rows are distinguished by a 64-bit hash, much faster than by sorting whole rows; should two different rows have the
    same hash, the rows are returned as they are.

    Args:
        rows: (N, L) rows of integers, such as the characters of words.

    Returns:
        The distinct rows (U, L), and the indices (N,).
    """
    # Each column has a random 64-bit multiplier; int64 products wrap around, as they should in a hash.
    generator = torch.Generator().manual_seed(0)
    multipliers = torch.randint(-(2**63), 2**63 - 1, (rows.size(1),), generator=generator).to(rows.device)
    keys = ((rows + 1) * multipliers).sum(dim=1)  # (N,)
    values, inverse = torch.unique(keys, return_inverse=True)
    # For each hash the index of one of its rows, whichever was written last: (U,).
    example = torch.empty_like(values).scatter_(0, inverse, torch.arange(len(rows), device=rows.device))
    distinct = rows[example]
    if not torch.equal(distinct[inverse], rows):
        return rows, torch.arange(len(rows), device=rows.device)
    return distinct, inverse
