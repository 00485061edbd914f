"""The controller in torch. ``learning/memskill/controller.py`` is the same in numpy; names and shapes are shared."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence

import msgspec
import numpy as np
import torch
from torch import Tensor, nn

from prowess.learning.memskill.affinity import View
from prowess.learning.memskill.controller import FORMAT, Controller, Manifest, dump_weights, skill_inputs
from prowess.learning.memskill.play import observation_size
from prowess.learning.memskill.skills import ACTIONS
from prowess.learning.memskill.units import Vector

__all__ = ["ControllerNet", "Greedy", "export", "skills_tensor"]

State = tuple[Tensor, Tensor]


class ControllerNet(nn.Module):
    """LSTM over an episode's spans; a query from its output against a key of every skill; a value head.

    ``near`` weighs the cosine of span and skill, so that a skill is a candidate where its own words are said, before
    anything was learned about it.
    """

    def __init__(self, dim: int, hidden: int, key: int, seed: int) -> None:
        super().__init__()
        self.dim, self.hidden, self.key_size = dim, hidden, key
        self.lstm = nn.LSTM(observation_size(dim), hidden, batch_first=True)
        self.query = nn.Linear(hidden, key)
        self.key = nn.Linear(dim + len(ACTIONS), key)
        self.near = nn.Parameter(torch.ones(1))
        self.value1 = nn.Linear(hidden, key)
        self.value2 = nn.Linear(key, 1)
        self._initialise(seed)

    def _initialise(self, seed: int) -> None:
        """Orthogonal, with a small last layer, so that the first policy is near to uniform (Andrychowicz 2021).

        The value head says 0 at first: rewards have no known scale yet, and what it said would drown them in the
        first advantages and returns.
        """
        generator = torch.Generator().manual_seed(seed)
        for name, parameter in self.named_parameters():
            if "bias" in name:
                nn.init.zeros_(parameter)
            elif parameter.dim() > 1:
                gain = {"query.weight": 0.1, "value2.weight": 0.0}.get(name, math.sqrt(2))
                nn.init.orthogonal_(parameter, gain, generator=generator)

    def forward(self, seen: Tensor, skills: Tensor, state: State | None = None) -> tuple[Tensor, Tensor, State]:
        """Logits (n, t, skills), normalised values (n, t) and the state after the last span.

        ``seen`` are the observations (n, t, size) of n stretches that each begin in ``state`` (zeros without one),
        ``skills`` what ``skills_tensor`` made.
        """
        out, state = self.lstm(seen, state)
        keys = torch.tanh(self.key(skills))
        logits = self.query(out) @ keys.T / math.sqrt(self.key_size)
        logits = logits + self.near * (seen[..., : self.dim] @ skills[:, : self.dim].T)
        values = self.value2(torch.tanh(self.value1(out))).squeeze(-1)
        return logits, values, state


def skills_tensor(views: Sequence[View], device: torch.device) -> Tensor:
    """What the net sees of the skills, shape (skills, dim + 4)."""
    return torch.from_numpy(skill_inputs(views)).to(device)


class Greedy:
    """The net's own k best skills: what the hub will do, for evaluation during training."""

    def __init__(self, net: ControllerNet, k: int) -> None:
        self._controller = Controller(weights_of(net), _manifest(net, k, ""))

    def begin(self) -> None:
        """See Policy."""
        self._controller.begin()

    def choose(self, observation: Vector, first: bool, views: Sequence[View]) -> list[int]:
        """See Policy."""
        return self._controller.choose(observation, first, views)


def weights_of(net: ControllerNet) -> dict[str, Vector]:
    """The net's parameters as arrays."""
    return {name: value.detach().cpu().numpy().astype(np.float32) for name, value in net.state_dict().items()}


def export(
    net: ControllerNet, k: int, embedding: str, run: Mapping[str, str | int | float | None]
) -> tuple[bytes, bytes]:
    """The weights file and its manifest, for ``Controller.from_files``."""
    manifest = _manifest(net, k, embedding)
    body = dump_weights(weights_of(net), manifest.header)
    manifest = msgspec.structs.replace(manifest, sha256=hashlib.sha256(body).hexdigest(), run=dict(run))
    return body, msgspec.json.format(msgspec.json.encode(manifest), indent=2)


def _manifest(net: ControllerNet, k: int, embedding: str) -> Manifest:
    return Manifest(
        format=FORMAT,
        embedding=embedding,
        dim=net.dim,
        hidden=net.hidden,
        key=net.key_size,
        k=k,
        sha256="",
    )
