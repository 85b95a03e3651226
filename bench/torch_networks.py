"""The networks of torch_real.py."""

from __future__ import annotations

import random
from typing import Any, Callable, Dict, List, Tuple

import torch

nn, f = torch.nn, torch.nn.functional


class Unit(nn.Module):
    """Convolution, normalisation, ReLU."""

    def __init__(self, c: int, d: int, k: int = 3, stride: int = 1, groups: int = 1) -> None:
        super().__init__()
        self.conv = nn.Conv2d(c, d, k, stride, k // 2, groups=groups, bias=False)
        self.norm = nn.BatchNorm2d(d)

    def forward(self, x: Any) -> Any:
        return f.relu(self.norm(self.conv(x)))


class RandomlyWired(nn.Module):
    """A Watts-Strogatz graph, edges from lower to higher numbers (Xie et al. 2019)."""

    def __init__(self, nodes: int, c: int, near: int = 4, rewired: float = 0.75) -> None:
        super().__init__()
        rng = random.Random(0)
        pairs = set()
        for i in range(nodes):
            for k in range(1, near // 2 + 1):
                j = rng.randrange(nodes) if rng.random() < rewired else (i + k) % nodes
                if i != j:
                    pairs.add((min(i, j), max(i, j)))
        self.wires = [sorted(a for a, b in pairs if b == i) for i in range(nodes)]
        self.ends = [i for i in range(nodes) if all(a != i for a, _ in pairs)]
        self.units = nn.ModuleList(Unit(c, c) for _ in range(nodes))

    def forward(self, x: Any) -> Any:
        made: List[Any] = []
        for wires, unit in zip(self.wires, self.units):
            made.append(unit(sum((made[w] for w in wires[1:]), made[wires[0]]) if wires else x))
        return sum((made[i] for i in self.ends[1:]), made[self.ends[0]])


class Separable(nn.Module):
    def __init__(self, c: int, k: int) -> None:
        super().__init__()
        self.deep, self.wide, self.norm = (
            nn.Conv2d(c, c, k, 1, k // 2, groups=c),
            nn.Conv2d(c, c, 1),
            nn.BatchNorm2d(c),
        )

    def forward(self, x: Any) -> Any:
        return self.norm(self.wide(self.deep(f.relu(x))))


class NasCell(nn.Module):
    """Five sums of two branches each, as in the cell NASNet-A."""

    def __init__(self, c: int) -> None:
        super().__init__()
        self.here, self.before, self.join = Unit(c, c, 1), Unit(c, c, 1), Unit(5 * c, c, 1)
        self.branches = nn.ModuleList(Separable(c, k) for k in (3, 5, 3, 5, 3))

    def forward(self, x: Any, before: Any) -> Any:
        h, p = self.here(x), self.before(before)
        a, b, c, d, e = (branch(y) for branch, y in zip(self.branches, (h, p, p, p, p)))
        pool = lambda y: f.avg_pool2d(y, 3, 1, 1)  # noqa: E731
        return self.join(torch.cat([a + h, b + c, pool(h) + p, pool(p) + pool(p), d + e], 1))


class NasNet(nn.Module):
    def __init__(self, cells: int, c: int) -> None:
        super().__init__()
        self.cells = nn.ModuleList(NasCell(c) for _ in range(cells))

    def forward(self, x: Any) -> Any:
        before, here = x, x
        for cell in self.cells:
            before, here = here, cell(here, before)
        return here


class Inception(nn.Module):
    def __init__(self, c: int) -> None:
        super().__init__()
        q = c // 4
        self.a = Unit(c, q, 1)
        self.b = nn.Sequential(Unit(c, q, 1), Unit(q, q, 3))
        self.c = nn.Sequential(Unit(c, q, 1), Unit(q, q, 3), Unit(q, q, 3))
        self.d = nn.Sequential(nn.AvgPool2d(3, 1, 1), Unit(c, q, 1))

    def forward(self, x: Any) -> Any:
        return torch.cat([self.a(x), self.b(x), self.c(x), self.d(x)], 1)


class HighResolution(nn.Module):
    """Branches of halved resolution, fused after every stage (Wang et al. 2020)."""

    def __init__(self, c: int, branches: int, stages: int) -> None:
        super().__init__()
        width = [c << b for b in range(branches)]
        self.down = nn.ModuleList(Unit(width[b], width[b + 1], 3, 2) for b in range(branches - 1))
        self.units = nn.ModuleList(
            nn.ModuleList(nn.Sequential(Unit(w, w), Unit(w, w)) for w in width)
            for _ in range(stages)
        )
        self.fuse = nn.ModuleList(
            nn.ModuleList(
                nn.ModuleList(
                    (
                        nn.Identity()
                        if i == j
                        else Unit(width[i], width[j], 1, max(1, 1 << (j - i)) if j > i else 1)
                    )
                    for i in range(branches)
                )
                for j in range(branches)
            )
            for _ in range(stages)
        )

    def forward(self, x: Any) -> Any:
        now = [x]
        for down in self.down:
            now.append(down(now[-1]))
        for units, fuse in zip(self.units, self.fuse):
            now = [unit(y) for unit, y in zip(units, now)]
            now = [self.fused(now, row, j) for j, row in enumerate(fuse)]
        return tuple(now)

    @staticmethod
    def fused(now: List[Any], row: Any, j: int) -> Any:
        total = row[j](now[j])
        for i, y in enumerate(now):
            if i != j:
                z = row[i](y)
                total = total + (f.interpolate(z, scale_factor=float(1 << (i - j))) if i > j else z)
        return f.relu(total)


class Experts(nn.Module):
    """Every expert sees all tokens; a gate weighs them."""

    def __init__(self, width: int, experts: int) -> None:
        super().__init__()
        self.gate = nn.Linear(width, experts)
        self.first = nn.ModuleList(nn.Linear(width, 2 * width) for _ in range(experts))
        self.second = nn.ModuleList(nn.Linear(2 * width, width) for _ in range(experts))

    def forward(self, x: Any) -> Any:
        weight = torch.softmax(self.gate(x), -1)
        made = [b(f.gelu(a(x))) for a, b in zip(self.first, self.second)]
        return x + sum(
            (y * weight[:, i : i + 1] for i, y in enumerate(made[1:], 1)),
            made[0] * weight[:, :1],
        )


class Layer(nn.Module):
    """A layer of a transformer."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2))
        self.mixed, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.first, self.second = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)

    def forward(self, x: Any) -> Any:
        split = lambda y: y.unflatten(-1, (self.heads, -1)).transpose(1, 2)  # noqa: E731
        q, k, v = (split(y) for y in self.mixed(self.norms[0](x)).chunk(3, -1))
        x = x + self.out(f.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2))
        return x + self.second(f.gelu(self.first(self.norms[1](x))))


class Towers(nn.Module):
    """Two transformers that meet in the end."""

    def __init__(self, width: int, layers: int) -> None:
        super().__init__()
        self.left = nn.Sequential(*(Layer(width, 4) for _ in range(layers)))
        self.right = nn.Sequential(*(Layer(width, 4) for _ in range(layers)))

    def forward(self, x: Any, y: Any) -> Any:
        x, y = self.left(x), self.right(y)
        return (f.normalize(x.mean(1), dim=-1) * f.normalize(y.mean(1), dim=-1)).sum(-1)


class Cell(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.x, self.h = nn.Linear(width, 4 * width), nn.Linear(width, 4 * width)

    def forward(self, x: Any, h: Any, c: Any) -> Any:
        i, g, o, r = (self.x(x) + self.h(h)).chunk(4, 1)
        c = torch.sigmoid(r) * c + torch.sigmoid(i) * torch.tanh(g)
        return torch.sigmoid(o) * torch.tanh(c), c


class LstmStack(nn.Module):
    """Layers of cells over time: a wavefront."""

    def __init__(self, width: int, layers: int) -> None:
        super().__init__()
        self.cells = nn.ModuleList(Cell(width) for _ in range(layers))

    def forward(self, x: Any) -> Any:
        state = [(torch.zeros_like(x[0]), torch.zeros_like(x[0])) for _ in self.cells]
        for step in x.unbind(0):
            for k, cell in enumerate(self.cells):
                state[k] = cell(step, *state[k])
                step = state[k][0]
        return step


class Branches(nn.Module):
    def __init__(self, branches: int, depth: int, c: int) -> None:
        super().__init__()
        self.branches = nn.ModuleList(
            nn.Sequential(*(Unit(c, c) for _ in range(depth))) for _ in range(branches)
        )

    def forward(self, x: Any) -> Any:
        return torch.cat([branch(x) for branch in self.branches], 1)


Maker = Callable[[], Tuple[Any, Tuple[Any, ...]]]


def image(channels: int, size: int) -> Tuple[Any, ...]:
    return (torch.randn(1, channels, size, size),)


def networks(size: str) -> Dict[str, Maker]:
    """Makers of modules and example inputs.

    Args:
        size: "quick": tiny; "small": no op fills a large GPU; "large": as the inner layers of such
            networks are at inputs of 224 to 512 pixels.
    """
    if size == "quick":
        return {
            "randomly wired": lambda: (RandomlyWired(8, 4), image(4, 8)),
            "NASNet-like": lambda: (NasNet(1, 4), image(4, 8)),
            "Inception-like": lambda: (Inception(8), image(8, 8)),
            "HRNet-like": lambda: (HighResolution(4, 2, 1), image(4, 8)),
            "mixture of experts": lambda: (Experts(8, 4), (torch.randn(2, 8),)),
            "two towers": lambda: (Towers(8, 1), (torch.randn(1, 4, 8), torch.randn(1, 4, 8))),
            "LSTM stack": lambda: (LstmStack(8, 2), (torch.randn(3, 1, 8),)),
            "branches": lambda: (Branches(2, 2, 4), image(4, 8)),
        }
    if size == "large":
        return {
            "randomly wired": lambda: (RandomlyWired(60, 128), image(128, 56)),
            "NASNet-like": lambda: (NasNet(6, 168), image(168, 42)),
            "Inception-like": lambda: (
                nn.Sequential(*(Inception(288) for _ in range(9))),
                image(288, 35),
            ),
            "HRNet-like": lambda: (HighResolution(32, 4, 3), image(32, 128)),
            "mixture of experts": lambda: (
                nn.Sequential(*(Experts(1024, 16) for _ in range(4))),
                (torch.randn(128, 1024),),
            ),
            "two towers": lambda: (
                Towers(768, 4),
                (torch.randn(1, 256, 768), torch.randn(1, 256, 768)),
            ),
            "LSTM stack": lambda: (LstmStack(1024, 4), (torch.randn(16, 1, 1024),)),
            "branches": lambda: (Branches(8, 8, 128), image(128, 56)),
        }
    return {
        "randomly wired": lambda: (RandomlyWired(60, 64), image(64, 28)),
        "NASNet-like": lambda: (NasNet(6, 64), image(64, 28)),
        "Inception-like": lambda: (
            nn.Sequential(*(Inception(256) for _ in range(9))),
            image(256, 14),
        ),
        "HRNet-like": lambda: (HighResolution(32, 4, 3), image(32, 56)),
        "mixture of experts": lambda: (
            nn.Sequential(*(Experts(512, 16) for _ in range(4))),
            (torch.randn(16, 512),),
        ),
        "two towers": lambda: (Towers(512, 4), (torch.randn(1, 64, 512), torch.randn(1, 64, 512))),
        "LSTM stack": lambda: (LstmStack(512, 4), (torch.randn(16, 1, 512),)),
        "branches": lambda: (Branches(8, 8, 64), image(64, 28)),
    }
