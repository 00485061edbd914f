"""Top-k selection without replacement: Gumbel noise to draw it, Plackett and Luce for its probability.

Adding Gumbel noise to the logits and taking the k largest draws k different skills one after the other from the softmax
over those left (Kool, van Hoof & Welling 2019, section 2). The probability of an ordered draw is therefore the product
of those softmaxes.
"""

from __future__ import annotations

import torch
from torch import Tensor

__all__ = ["gumbel_top_k", "sequence_entropy", "sequence_log_prob"]

TINY = 1e-20  # so that the logarithm of a drawn 0 is finite


def gumbel_top_k(logits: Tensor, k: int, generator: torch.Generator) -> Tensor:
    """An ordered draw of ``k`` positions for each row of ``logits`` (…, n), shape (…, k).

    The noise is drawn on the CPU, so that a seed gives the same draw on every device.
    """
    uniform = torch.rand(logits.shape, generator=generator, dtype=torch.float64)
    noise = -torch.log(-torch.log(uniform + TINY) + TINY)
    return (logits.double().cpu() + noise).topk(k, dim=-1).indices.to(logits.device)


def sequence_log_prob(logits: Tensor, chosen: Tensor) -> Tensor:
    """The log-probability of the ordered draws ``chosen`` (…, k) under ``logits`` (…, n), shape (…).

    Of what is left after each draw the normaliser is taken anew: with what was drawn set to minus infinity.
    """
    taken = torch.zeros_like(logits, dtype=torch.bool)
    total = torch.zeros_like(logits[..., 0])
    for position in range(chosen.shape[-1]):
        pick = chosen[..., position : position + 1]
        left = logits.masked_fill(taken, float("-inf"))
        total = total + left.gather(-1, pick).squeeze(-1) - left.logsumexp(-1)
        taken = taken.scatter(-1, pick, True)
    return total


def sequence_entropy(logits: Tensor) -> Tensor:
    """The entropy of the first draw, in nats, shape (…): the bonus that keeps the policy exploring.

    The entropy of whole draws needs a sum over all of them; the first draw's is at its most exactly where theirs is.
    """
    log_probs = logits.log_softmax(-1)
    return -(log_probs.exp() * log_probs).sum(-1)
