#!/usr/bin/env python3
"""ExecuTorch programs of networks with branches: planned memory by naive, greedy and sked.

    python bench/executorch_real.py --time-limit 2     # the table of docs/executorch.md

Wants the packages executorch and libsked. Every program is run by ExecuTorch's runtime, and its
outputs are compared with PyTorch's. Results are printed as Markdown.
"""

from __future__ import annotations

import argparse
import functools
import random
import time
from typing import Any, Callable, Dict, List, Tuple

import sked.executorch
import torch
from executorch.exir import ExecutorchBackendConfig, to_edge
from executorch.exir.memory_planning import MemoryPlanningAlgorithmSuite, greedy, naive
from executorch.exir.passes import MemoryPlanningPass
from executorch.runtime import Runtime, Verification
from torch import Tensor, nn

# ---------------------------------------------------------------------- networks


def conv(inputs: int, outputs: int, kernel: int = 3, stride: int = 1) -> nn.Module:
    return nn.Sequential(nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2), nn.ReLU())


class Inception(nn.Module):
    """Three modules of four branches each."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = conv(3, 32, stride=2)
        self.modules_ = nn.ModuleList(self._branches(c) for c in (32, 88, 88))

    @staticmethod
    def _branches(c: int) -> nn.ModuleList:
        return nn.ModuleList(
            [
                conv(c, 24, 1),
                nn.Sequential(conv(c, 16, 1), conv(16, 24)),
                nn.Sequential(conv(c, 16, 1), conv(16, 24), conv(24, 24)),
                nn.Sequential(nn.MaxPool2d(3, 1, 1), conv(c, 16, 1)),
            ]
        )

    def forward(self, x: Tensor) -> Tensor:
        x = self.stem(x)
        for branches in self.modules_:
            x = torch.cat([branch(x) for branch in branches], 1)
        return x.mean((2, 3))


class Dense(nn.Module):
    """Every layer of a block reads all before it."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = conv(3, 24, stride=2)
        self.blocks = nn.ModuleList(
            nn.ModuleList(conv(24 + 12 * i, 12) for i in range(6)) for _ in range(2)
        )
        self.narrow = nn.ModuleList(conv(96, 24, 1) for _ in range(2))

    def forward(self, x: Tensor) -> Tensor:
        x = self.stem(x)
        for block, narrow in zip(self.blocks, self.narrow):
            made = [x]
            for layer in block:
                made.append(layer(torch.cat(made, 1)))
            x = torch.max_pool2d(narrow(torch.cat(made, 1)), 2)
        return x.mean((2, 3))


class Cell(nn.Module):
    """A cell as architecture search draws it: nodes that add two earlier ones, wired at random.
    What no node reads is concatenated."""

    def __init__(self, channels: int, nodes: int, seed: int) -> None:
        super().__init__()
        draw = random.Random(seed)
        self.wires = [(draw.randrange(i + 1), draw.randrange(i + 1)) for i in range(nodes)]
        self.ops = nn.ModuleList(
            nn.ModuleList(conv(channels, channels, draw.choice([1, 3, 5])) for _ in range(2))
            for _ in range(nodes)
        )
        read = {w for pair in self.wires for w in pair}
        self.loose = [i for i in range(nodes + 1) if i not in read]
        self.out = conv(channels * len(self.loose), channels, 1)

    def forward(self, x: Tensor) -> Tensor:
        made = [x]
        for (a, b), (f, g) in zip(self.wires, self.ops):
            made.append(f(made[a]) + g(made[b]))
        return self.out(torch.cat([made[i] for i in self.loose], 1))


class RandomWires(nn.Module):
    """A ring of nodes whose wires were rewired at random, as a small world: a node reads the sum of
    earlier ones; the mean of what no node reads goes on."""

    def __init__(self, nodes: int = 16, channels: int = 16, seed: int = 0) -> None:
        super().__init__()
        draw = random.Random(seed)
        wires = set()
        for i in range(nodes):
            for d in (1, 2):
                other = draw.randrange(nodes) if draw.random() < 0.75 else (i + d) % nodes
                if other != i:
                    wires.add((min(i, other), max(i, other)))
        self.inputs = [[a for a, b in sorted(wires) if b == i] for i in range(nodes)]
        self.loose = [i for i in range(nodes) if all(a != i for a, _ in wires)]
        self.stem = conv(3, channels, stride=2)
        self.ops = nn.ModuleList(conv(channels, channels) for _ in range(nodes))

    def forward(self, x: Tensor) -> Tensor:
        x = self.stem(x)
        made: List[Tensor] = []
        for inputs, op in zip(self.inputs, self.ops):
            made.append(op(sum(made[i] for i in inputs) if inputs else x))
        return (sum(made[i] for i in self.loose) / len(self.loose)).mean((2, 3))


class Cells(nn.Module):
    def __init__(self, nodes: int, seed: int) -> None:
        super().__init__()
        cells = [Cell(16, nodes, seed + i) for i in range(2)]
        self.all = nn.Sequential(conv(3, 16, stride=2), cells[0], nn.MaxPool2d(2), cells[1])

    def forward(self, x: Tensor) -> Tensor:
        return self.all(x).mean((2, 3))


class UNet(nn.Module):
    """Down four times and up again, with a skip on every level."""

    def __init__(self) -> None:
        super().__init__()
        wide = [8, 16, 32, 64]
        self.down = nn.ModuleList(
            nn.Sequential(conv(a, b), conv(b, b)) for a, b in zip([3, *wide], wide)
        )
        self.up = nn.ModuleList(
            nn.Sequential(conv(a + b, b), conv(b, b)) for a, b in zip(wide[:0:-1], wide[-2::-1])
        )

    def forward(self, x: Tensor) -> Tensor:
        skips = []
        for layer in self.down:
            skips.append(layer(x))
            x = torch.max_pool2d(skips[-1], 2)
        x = skips.pop()
        for layer in self.up:
            x = nn.functional.interpolate(x, scale_factor=2.0, mode="nearest")
            x = layer(torch.cat([x, skips.pop()], 1))
        return x


class Towers(nn.Module):
    """An image and a text, each with its tower; side by side, as both are written."""

    def __init__(self) -> None:
        super().__init__()
        self.image = nn.ModuleList(
            conv(a, b, stride=s) for a, b, s in [(3, 16, 1), (16, 32, 2), (32, 32, 2)]
        )
        self.text = nn.ModuleList(nn.Linear(a, b) for a, b in [(64, 256), (256, 256), (256, 32)])
        self.head = nn.Linear(64, 1)

    def forward(self, image: Tensor, text: Tensor) -> Tensor:
        for see, read in zip(self.image, self.text):
            image, text = see(image), torch.relu(read(text))
        return self.head(torch.cat([image.mean((2, 3)), text.mean(1)], 1))


class Scales(nn.Module):
    """Three resolutions at a time, fused after every stage."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = conv(3, 16, stride=2)
        self.first = nn.ModuleList([conv(16, 16), conv(16, 32, stride=2), conv(16, 64, stride=4)])
        self.stages = nn.ModuleList(
            nn.ModuleList(nn.Sequential(conv(c, c), conv(c, c)) for c in (16, 32, 64))
            for _ in range(2)
        )
        self.fuse = nn.ModuleList(
            nn.ModuleList(
                nn.ModuleList(
                    conv(a, b, 1, max(1, 2 ** (j - i))) for i, a in enumerate((16, 32, 64))
                )
                for j, b in enumerate((16, 32, 64))
            )
            for _ in range(2)
        )

    def forward(self, x: Tensor) -> Tensor:
        x = self.stem(x)
        here = [layer(x) for layer in self.first]
        for stage, fuse in zip(self.stages, self.fuse):
            here = [layer(y) for layer, y in zip(stage, here)]
            here = [self._sum(to, here, here[j].shape[-2:]) for j, to in enumerate(fuse)]
        return torch.cat([y.mean((2, 3)) for y in here], 1)

    @staticmethod
    def _sum(to: Any, here: List[Tensor], size: Any) -> Tensor:
        parts = [layer(y) for layer, y in zip(to, here)]
        return sum(nn.functional.interpolate(y, size=size, mode="nearest") for y in parts)


IMAGE = (1, 3, 64, 64)
NETWORKS: Dict[str, Tuple[Callable[[], nn.Module], List[Tuple[int, ...]]]] = {
    "inception": (Inception, [IMAGE]),
    "densenet": (Dense, [IMAGE]),
    "cells of 8": (lambda: Cells(8, 1), [IMAGE]),
    "cells of 16": (lambda: Cells(16, 5), [IMAGE]),
    "random wires of 16": (RandomWires, [IMAGE]),
    "random wires of 32": (lambda: RandomWires(32), [IMAGE]),
    "u-net": (UNet, [IMAGE]),
    "two towers": (Towers, [IMAGE, (1, 64, 64)]),
    "three scales": (Scales, [IMAGE]),
}

# ---------------------------------------------------------------------- measuring


class Planned:
    """A program: its bytes of planned memory, seconds of its making, and whether it runs right."""

    def __init__(self, program: Any, inputs: Tuple[Tensor, ...], algorithm: Any) -> None:
        began = time.perf_counter()
        planning = MemoryPlanningPass(memory_planning_algo=algorithm)
        config = ExecutorchBackendConfig(memory_planning_pass=planning)
        made = to_edge(program).to_executorch(config)
        self.seconds = time.perf_counter() - began
        self.bytes = sum(made.executorch_program.execution_plan[0].non_const_buffer_sizes)
        loaded = Runtime.get().load_program(made.buffer, verification=Verification.Minimal)
        found = loaded.load_method("forward").execute(inputs)
        wanted = program.module()(*inputs)
        torch.testing.assert_close(found[0], wanted, rtol=1e-3, atol=1e-4)


def algorithms(limit: float) -> Dict[str, Any]:
    ours = sked.executorch.memory_planning
    return {
        "naive": MemoryPlanningAlgorithmSuite([naive]),
        "greedy": MemoryPlanningAlgorithmSuite([greedy]),
        "sked, same order": functools.partial(ours, reorder=False, time_limit=limit),
        "sked": functools.partial(ours, time_limit=limit),
        "sked, in place": functools.partial(ours, inplace=True, time_limit=limit),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("networks", nargs="*", metavar="NETWORK", help=", ".join(NETWORKS))
    parser.add_argument("--time-limit", type=float, default=5, help="seconds of each search")
    asked = parser.parse_args()
    columns = algorithms(asked.time_limit)
    print("| network | nodes |", " | ".join(columns), "| s |")
    print("|---|---|" + "---|" * (len(columns) + 1))
    shares: List[List[float]] = []
    for name in asked.networks or NETWORKS:
        make, shapes = NETWORKS[name]
        torch.manual_seed(0)
        inputs = tuple(torch.randn(s) for s in shapes)
        program = torch.export.export(make().eval(), inputs, strict=True)
        rows = [Planned(program, inputs, a) for a in columns.values()]
        shares.append([r.bytes / rows[1].bytes for r in rows])
        cells = [f"{r.bytes:,}" for r in rows]
        print(
            f"| {name} | {len(program.graph.nodes)} |",
            " | ".join(cells),
            f"| {rows[3].seconds:.1f} |",
        )
    means = [f"{sum(s) / len(shares):.3f}" for s in zip(*shares)]
    print("| mean share of greedy | |", " | ".join(means), "| |")


if __name__ == "__main__":
    main()
