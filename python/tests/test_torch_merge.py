"""Equal ops side by side as one. Every target compares what it makes with the eager module."""

from __future__ import annotations

import collections
from typing import Any, Dict, List

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
if not hasattr(torch, "export") or not hasattr(torch.export, "export"):
    pytest.skip("this PyTorch has no torch.export", allow_module_level=True)

import sked
import sked.torch as st

nn, f = torch.nn, torch.nn.functional
MERGED = ["merged", "channels_last_merged"]


class Experts(nn.Module):
    """Linear layers of one shape read x, one of another shape does, too; heads are views."""

    def __init__(self, width: int = 4, experts: int = 3, bias: bool = True) -> None:
        super().__init__()
        layers = lambda a, b: nn.ModuleList(  # noqa: E731
            nn.Linear(a, b, bias=bias) for _ in range(experts)
        )
        self.gate = nn.Linear(width, experts)
        self.first, self.second, self.third = (
            layers(width, 2 * width),
            layers(2 * width, width),
            layers(width, width),
        )
        self.heads = layers(width, 2 * width)

    def forward(self, x: Any) -> Any:
        weight = torch.softmax(self.gate(x), -1)
        made = [b(f.gelu(a(x), approximate="tanh")) for a, b in zip(self.first, self.second)]
        made = [c(torch.sigmoid(y)) for c, y in zip(self.third, made)]
        q, k, v = (h(f.relu(x)).view(x.shape[0], -1, 2, 4) for h in self.heads[:3])
        mixed = (q * k - v).reshape(x.shape[0], -1)
        return sum(y * weight[..., i : i + 1] for i, y in enumerate(made)), mixed


class Branches(nn.Module):
    """Chains of convolutions that meet again."""

    def __init__(self, c: int = 4, branches: int = 3, depth: int = 3, bias: bool = True) -> None:
        super().__init__()
        self.branches = nn.ModuleList(
            nn.ModuleList(nn.Conv2d(c, c, 3, padding=1, bias=bias) for _ in range(depth))
            for _ in range(branches)
        )

    def forward(self, x: Any) -> Any:
        ends = []
        for branch in self.branches:
            y = x
            for conv in branch:
                y = f.relu(conv(y))
            ends.append(y)
        return torch.cat(ends, 1)


def made(kind: Any, *args: Any, **options: Any) -> Any:
    torch.manual_seed(0)
    return kind(*args, **options).double().eval()


def image(c: int = 4) -> Any:
    return (torch.randn(2, c, 6, 6, dtype=torch.float64),)


def counted(module: Any, args: Any, fuse: Any) -> Dict[str, int]:
    """How many ops of each kind there are."""
    target = st.ThreadTarget(module, args, devices=2, group=False, fuse=fuse, repeats=1)
    for group in st.GROUPS:
        other = target.regrouped(group)
        graph = st.graph_of(other, other.profile(1))
        run, _ = other.measure(sked.schedule(graph, 2, method="list").schedule)
        other.check_other_inputs(run)
    target.close()
    return collections.Counter(n.type for n in target.program.nodes if n.kind == "op")


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("shape", [(5, 4), (2, 5, 4)])
def test_linear_layers(shape: Any, bias: bool) -> None:
    x = torch.randn(*shape, dtype=torch.float64)
    types = counted(made(Experts, bias=bias), (x,), "merged")
    assert types["linear"] == 3 and types["bmm"] == 2  # gate, first, heads; second, third
    assert types["gelu"] == types["relu"] == types["sigmoid"] == 1
    assert types["select"] - counted(made(Experts, bias=bias), (x,), True)["select"] == 3


def test_linear_layers_of_one_shape_that_others_read() -> None:
    x = torch.randn(5, 4, dtype=torch.float64)
    types = counted(made(Experts, experts=8), (x,), "merged")  # the gate has the shape of the first
    assert types["linear"] == 3 and types["bmm"] == 2


@pytest.mark.parametrize("fuse", MERGED)
@pytest.mark.parametrize("bias", [True, False])
def test_convolutions(fuse: str, bias: bool) -> None:
    types = counted(made(Branches, bias=bias), image(), fuse)
    assert types == {"conv2d": 3, "relu": 3, "alias": 1}


def test_weights_follow_the_module() -> None:
    for module, args in ((made(Branches), image()), (made(Experts), (image()[0][0, 0, :, :4],))):
        target = st.ThreadTarget(module, args, devices=1, fuse="channels_last_merged", repeats=1)
        run = target.capture(st.InOrder(len(target.program.ops)))
        fast = st.Accelerated(target, run, st.Times(2, 1), None, [], True)  # type: ignore
        with torch.no_grad():
            for parameter in module.parameters():
                parameter += 0.5
            with pytest.raises(st.Mismatch):
                st.compare(fast(*args), module(*args))
            fast.refresh()
            st.compare(fast(*args), module(*args))
        target.close()


class Apart(nn.Module):
    """Nothing here is the same twice, or can be one without copies."""

    def __init__(self, c: int = 4) -> None:
        super().__init__()
        conv = lambda **options: nn.Conv2d(c, c, 3, **options)  # noqa: E731
        self.near, self.far = conv(padding=1), conv(padding=2, dilation=2)
        self.plain, self.strided = conv(padding=1, bias=False), conv(padding=1, stride=2)
        self.deep = nn.ModuleList(conv(padding=1, groups=c) for _ in range(2))
        self.ones = nn.ModuleList(nn.Conv2d(c, c, 1) for _ in range(3))

    def forward(self, x: Any) -> Any:
        y = self.near(x) + self.far(x) + self.plain(x) + self.deep[0](x) * self.deep[1](x)
        a, b, c = (one(y) for one in self.ones)
        return a + self.near(b) + self.far(c), self.strided(x), f.linear(x, y.mean((0, 1)))


@pytest.mark.parametrize("fuse", [True, "channels_last"])
def test_what_stays_apart(fuse: Any) -> None:
    module, args = made(Apart), image()
    assert counted(module, args, st.MERGED[fuse]) == counted(module, args, fuse)


class Ends(nn.Module):
    """Parts are results of the module, or are joined in another order or along another axis."""

    def __init__(self, c: int = 4) -> None:
        super().__init__()
        self.convs = nn.ModuleList(nn.Conv2d(c, c, 1) for _ in range(2))
        self.more = nn.ModuleList(nn.Conv2d(c, c, 1) for _ in range(2))

    def forward(self, x: Any) -> Any:
        a, b = (f.relu(conv(x)) for conv in self.convs)
        y = torch.cat([b, a], 1) + torch.cat([a, b], 1)
        c, d = (conv(f.silu(x)) for conv in self.more)
        return y, torch.cat([a, b], 2), c, 2 * d


@pytest.mark.parametrize("fuse", MERGED)
def test_parts_where_they_are_needed(fuse: str) -> None:
    types = counted(made(Ends, c=8), image(8), fuse)
    assert types["conv2d"] == 2 and types["cat"] == 3 and types["narrow"] == 4


def test_parts_that_are_joined_in_order_are_the_whole() -> None:
    class Joined(Ends):
        def forward(self, x: Any) -> Any:
            parts = [f.relu(conv(x)) for conv in self.convs]
            return torch.cat(parts[::-1], 1) + 1, torch.cat([c(x + 1) for c in self.more], -3)

    types = counted(made(Joined), image(), "merged")
    assert types["cat"] == 1 and types["alias"] == 1 and types["narrow"] == 2


def test_trials_merge_what_fuses_best() -> None:
    args = image()

    class Invented(st.Fastest):
        def __call__(self, plan: Any) -> Any:
            super().__call__(plan)
            return {True: 3, "channels_last": 2, False: 4}.get(self.target.model.fuse, 1)

    def tried(module: Any) -> List[Any]:
        target = st.ThreadTarget(module, args, devices=1, repeats=1)
        fastest = Invented(target)
        trials = st.Trials(fastest, st.FUSIONS, ("tails",), (1,), 9)
        assert trials.best.fuse == "channels_last"
        trials.try_kernels()
        assert fastest.target is trials.target and fastest.traced
        assert trials.target.model.fuse == trials.best.fuse
        target.close()
        return [t.fuse for t in trials.tried] + [trials.best.fuse]

    module, fused = made(Branches), [True, "channels_last"]  # False gives the ops of True here
    assert tried(module) == [*fused, "channels_last_merged", "channels_last_merged"]
    assert tried(made(Apart)) == [*fused, "channels_last"]  # there is nothing to merge


def test_accelerate_takes_the_names() -> None:
    module, args = made(Branches), image()
    options: Dict[str, Any] = {"devices": 1, "group": False, "measurements": 3, "time_limit": 0.2}
    fast = st.accelerate(module, args, fuse="merged", **options)
    assert [t.fuse for t in fast.trials] == ["merged"] and fast.trials[0].ops < 9


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")
@pytest.mark.parametrize("fuse", MERGED)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_merged_on_a_gpu(fuse: str, dtype: Any) -> None:
    for module, args in ((made(Branches, c=16), image(16)), (made(Experts), (torch.randn(5, 4),))):
        module, args = module.cuda().to(dtype), tuple(x.cuda().to(dtype) for x in args)
        target = st.CudaTarget(module, args, devices=3, group="tails", fuse=fuse, repeats=2)
        graph = st.graph_of(target, target.profile(2))
        run, _ = target.measure(sked.schedule(graph, 3, method="list").schedule)
        target.check_other_inputs(run)
