"""Memory planning of ExecuTorch programs, judged by ExecuTorch's own verifier and runtime."""

from __future__ import annotations

import functools
from typing import Any, List, Tuple

import pytest

pytest.importorskip(
    "executorch",
    reason="ExecuTorch is not installed: with PyTorch it takes 6 GB; `pip install executorch` brings it",
)

import sked.executorch as se
import torch
from executorch.exir import EdgeCompileConfig, ExecutorchBackendConfig, memory, to_edge
from executorch.exir.memory_planning import (
    MemoryPlanningAlgorithmSuite,
    Verifier,
    collect_specs_from_nodes,
    greedy,
)
from executorch.exir.passes import MemoryPlanningPass
from executorch.runtime import Runtime, Verification

nn = torch.nn


class Branches(nn.Module):
    """Two wide results made early and read late: the given order is a bad one. Views, a tuple of
    results, a state that is written and two inputs are among the nodes."""

    def __init__(self) -> None:
        super().__init__()
        self.convs = nn.ModuleList(nn.Conv2d(3, 32, 3, padding=1) for _ in range(4))
        self.register_buffer("calls", torch.zeros(4))

    def forward(self, x: Any, y: Any) -> Any:
        self.calls.add_(1)
        wide = [torch.sigmoid(conv(x - y)) for conv in self.convs]
        small = [w.mean((2, 3)).view(2, -1) for w in wide]
        left, right = torch.cat(small, 1).split(32, dim=1)
        return (left * 2 + right).tanh(), x * self.calls.sum()


class Choice(nn.Module):
    def forward(self, x: Any) -> Any:
        y = torch.cond(x.sum() > 0, lambda a: (a @ a).relu(), lambda a: (a - 1).exp(), (x,))
        return (y * 2 + x).sum(0)


INPUTS = (torch.rand(1, 3, 16, 16), torch.rand(1, 3, 16, 16))


def small(module: Any, inputs: Tuple[Any, ...]) -> Any:
    return torch.export.export(module.eval(), inputs, strict=True)


def planned(exported: Any, algorithm: Any, **options: Any) -> Tuple[Any, List[int]]:
    planning = MemoryPlanningPass(memory_planning_algo=algorithm, **options)
    made = to_edge(exported).to_executorch(ExecutorchBackendConfig(memory_planning_pass=planning))
    graph_module = made.exported_program().graph_module
    graph_module.graph.lint()
    flags = [options.get(f"alloc_graph_{x}", True) for x in ("input", "output")]
    signature = made.exported_program().graph_signature
    Verifier(graph_module, *flags, True, signature).verify_storage_reuse()
    return made, list(made.executorch_program.execution_plan[0].non_const_buffer_sizes)


def ours(**options: Any) -> Any:
    return functools.partial(se.memory_planning, time_limit=1, **options)


GREEDY = MemoryPlanningAlgorithmSuite([greedy])


def same(made: Any, module: Any, inputs: Tuple[Any, ...], calls: int = 1) -> None:
    loaded = Runtime.get().load_program(made.buffer, verification=Verification.Minimal)
    method = loaded.load_method("forward")
    for _ in range(calls):
        found, wanted = method.execute(inputs), module(*inputs)
        wanted = wanted if isinstance(wanted, tuple) else (wanted,)
        for a, b in zip(found, wanted):
            torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("options", [{"reorder": False}, {}, {"inplace": True}])
def test_same_outputs_in_less_memory(options: Any) -> None:
    module = Branches()
    exported = small(module, INPUTS)
    made, sizes = planned(exported, ours(**options))
    wanted = planned(exported, GREEDY)[1]
    assert len(sizes) == len(wanted) == 2
    assert sizes[1] <= wanted[1]
    if options != {"reorder": False}:
        assert sizes[1] < 0.7 * wanted[1]
    same(made, module, INPUTS, calls=3)


@pytest.mark.parametrize("alignment", [16, 256])
def test_offsets_are_aligned(alignment: int) -> None:
    made, _ = planned(small(Branches(), INPUTS), ours(), alignment=alignment)
    specs = list(collect_specs_from_nodes(made.exported_program().graph_module.graph.nodes))
    offsets = [s.mem_offset for s in specs if s.mem_offset is not None]
    assert len(offsets) > 10 and all(offset % alignment == 0 for offset in offsets)


@pytest.mark.parametrize("inputs", [False, True])
@pytest.mark.parametrize("outputs", [False, True])
def test_inputs_and_outputs_of_the_caller(inputs: bool, outputs: bool) -> None:
    flags = {"alloc_graph_input": inputs, "alloc_graph_output": outputs}
    exported = small(Branches(), INPUTS)
    _, sizes = planned(exported, ours(inplace=True), **flags)
    assert sizes[1] < planned(exported, GREEDY, **flags)[1][1]


def test_conditional() -> None:
    module = Choice()
    for x in (torch.ones(8, 8), -torch.ones(8, 8)):
        exported = small(module, (x,))
        made, sizes = planned(exported, ours(inplace=True))
        assert sizes[1] <= planned(exported, GREEDY)[1][1]
        same(made, module, (x,))


def test_every_memory_by_itself() -> None:
    """Wide tensors in memory 1, the others in 2: both are used, neither is larger than greedy's."""

    class Spread(MemoryPlanningPass):
        def run(self, graph_module: Any, graph_signature: Any = None) -> Any:
            for node in graph_module.graph.nodes:
                if node.target is memory.alloc:
                    spec = next(iter(node.users)).meta["spec"]
                    for s in [spec] if not isinstance(spec, (list, tuple)) else spec:
                        s.mem_id = 1 if s.allocated_memory > 10000 else 2
            return super().run(graph_module, graph_signature)

    exported, sizes = small(Branches(), INPUTS), []
    for algorithm in (GREEDY, ours()):
        config = ExecutorchBackendConfig(memory_planning_pass=Spread(algorithm))
        made = to_edge(exported).to_executorch(config)
        sizes.append(made.executorch_program.execution_plan[0].non_const_buffer_sizes)
    assert len(sizes[0]) == len(sizes[1]) == 3 and all(sizes[1][1:])
    assert all(b <= a for a, b in zip(*sizes))


def test_greedy_is_kept_where_it_is_better(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a packing that stacks everything, plan and order are greedy's."""

    class Stack:
        def __init__(self, size: Any, **_: Any) -> None:
            self.height = sum(size)

    monkeypatch.setattr(se, "pack", Stack)
    exported = small(Branches(), INPUTS)
    made, sizes = planned(exported, ours(reorder=False))
    wanted, greedy_sizes = planned(exported, GREEDY)
    assert sizes == greedy_sizes
    names = [
        [n.name for n in m.exported_program().graph_module.graph.nodes] for m in (made, wanted)
    ]
    assert names[0] == names[1]


def test_same_bytes() -> None:
    exported = small(Branches(), INPUTS)
    algorithm = functools.partial(se.memory_planning, time_limit=None, iterations=50, seed=3)
    assert planned(exported, algorithm)[0].buffer == planned(exported, algorithm)[0].buffer


def test_random_numbers_stay_in_their_order() -> None:
    class Noise(nn.Module):
        def forward(self, x: Any) -> Any:
            wide = torch.rand_like(x.expand(64, 8).contiguous())
            return wide.sum() + torch.rand_like(x).sum()

    config = EdgeCompileConfig(_check_ir_validity=False)
    program = to_edge(small(Noise(), (torch.ones(1, 8),)), compile_config=config)
    made = program.to_executorch(
        ExecutorchBackendConfig(memory_planning_pass=MemoryPlanningPass(ours()))
    )
    nodes = made.exported_program().graph_module.graph.nodes
    drawn = [tuple(n.meta["val"].shape) for n in nodes if "rand" in str(n.target)]
    assert drawn == [(64, 8), (1, 8)]
