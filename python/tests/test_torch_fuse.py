"""Fused ops give what the module gives. Kernels of a GPU are compiled for the CPU here."""

from __future__ import annotations

import copy
import ctypes
import functools
import re
import shutil
import subprocess
from typing import Any, Callable, Dict, List

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
if not hasattr(torch, "export") or not hasattr(torch.export, "export"):
    pytest.skip("this PyTorch has no torch.export", allow_module_level=True)

import sked
import sked._torch_fuse as fusing
import sked._torch_pointwise as pointwise
import sked.torch as st

nn, f = torch.nn, torch.nn.functional


class Block(nn.Module):
    """All that can be fused, and neighbours that must not be."""

    def __init__(self, c: int = 4) -> None:
        super().__init__()
        conv = lambda *more, **options: nn.Conv2d(c, c, *more, padding=1, **options)  # noqa: E731
        self.first, self.second = conv(3, bias=False), conv(3)
        self.biased, self.deep = conv(3), conv(3, groups=c)
        self.norms = nn.ModuleList(nn.BatchNorm2d(c) for _ in range(4))
        self.head, self.neck, self.tail = nn.Linear(c, c), nn.Linear(c, c), nn.Linear(c, 3)

    def forward(self, x: Any) -> Any:
        a = f.relu(self.norms[0](self.first(x)))
        b = torch.relu_(x + self.norms[1](self.second(a)))  # in place, so the graph is decomposed
        c = f.silu(self.biased(b) * 0.5 - a) + f.silu(self.biased(b) * 0.5 - a)
        shared = self.deep(c)
        d = f.leaky_relu(self.norms[2](shared)) + shared  # two read it: the norm stays
        e = self.norms[3](f.avg_pool2d(d, 2))
        pooled = d.mean((2, 3)).view(x.shape[0], -1)
        y = self.tail(f.gelu(self.head(pooled))) + self.tail(f.relu(self.neck(pooled)))
        return {"image": d, "small": -e, "same": -e, "head": y.tanh() / (1 + y.sigmoid().exp())}


def block(seed: int = 0) -> Any:
    torch.manual_seed(seed)
    module = Block().double().eval()
    for norm in module.norms:
        norm.running_mean.normal_()
        norm.running_var.uniform_(0.5, 2)
        nn.init.normal_(norm.weight)
        nn.init.normal_(norm.bias)
    return module, (torch.randn(2, 4, 6, 6, dtype=torch.float64),)


def types_of(target: Any) -> List[str]:
    return [n.type for n in target.program.nodes if n.kind == "op"]


def run_a_schedule(target: Any) -> None:
    graph = st.graph_of(target, target.profile(1))
    target(sked.schedule(graph, target.devices, method="list").schedule)


@pytest.mark.parametrize("fuse", [True, "channels_last"])
def test_fused_on_threads(fuse: Any) -> None:
    module, args = block()
    plain = st.ThreadTarget(module, args, devices=2, group=False, repeats=1)
    target = plain.regrouped(False, fuse)  # it is compared with the eager module
    before, after = types_of(plain), types_of(target)
    assert sum("batch_norm" in kind for kind in before) == 4
    assert sum("batch_norm" in kind for kind in after) == 2
    assert before.count("silu") == 2 and after.count("silu") == 1
    assert after.count("neg") == 2  # both are results
    assert after.count("conv2d") == 4 and "view" not in after[after.index("mean") :] or fuse is True
    assert "pointwise" not in after
    for group in st.GROUPS:
        run_a_schedule(target.regrouped(group))
    assert plain.model.fuse is False and target.regrouped(True).model.fuse == fuse
    plain.close()


def test_folded_weights_and_layout_follow_the_module() -> None:
    module, args = block()
    target = st.ThreadTarget(module, args, devices=1, fuse="channels_last", repeats=1)
    run = target.capture(st.InOrder(len(target.program.ops)))
    fast = st.Accelerated(target, run, st.Times(2, 1), None, [], True)  # type: ignore[arg-type]
    with torch.no_grad():
        module.first.weight *= 2
        module.norms[1].running_mean += 1
        assert not torch.allclose(fast(*args)["image"], module(*args)["image"])
        fast.refresh()
        st.compare(fast(*args), module(*args))
    assert run()["image"].is_contiguous(memory_format=torch.channels_last)
    assert fast(*args)["image"].is_contiguous()  # as the eager one is
    target.close()


def test_what_accelerate_tries() -> None:
    module, args = block()
    fast = st.accelerate(module, args, devices=1, group=False, measurements=5, time_limit=0.3)
    assert [t.fuse for t in fast.trials] == list(st.FUSIONS)
    fast = st.accelerate(
        module, args, devices=1, group=False, fuse=True, measurements=2, time_limit=0.3
    )
    assert [t.fuse for t in fast.trials] == [True]
    kinds = "True, 'channels_last', 'merged', 'channels_last_merged'"
    with pytest.raises(ValueError, match=f"fuse is 'auto', {kinds} or False, not 'x'"):
        st.accelerate(module, args, fuse="x")
    with pytest.raises(ValueError, match=f"fuse is {kinds} or False, not 'x'"):
        st.ThreadTarget(module, args, fuse="x")


def test_a_fusion_that_is_wrong_is_left_out(monkeypatch: Any) -> None:
    module, args = block()
    right = fusing._folded
    monkeypatch.setattr(fusing, "_folded", lambda *given: tuple(2 * x for x in right(*given)))
    with pytest.warns(UserWarning, match="fuse='channels_last' is left out: output 0 differs"):
        fast = st.accelerate(module, args, devices=1, group=False, measurements=9, time_limit=0.3)
    assert [t.fuse for t in fast.trials] == [False]
    with pytest.warns(UserWarning, match="fuse=True is left out"):
        fast = st.accelerate(
            module, args, devices=1, group=False, fuse=True, measurements=3, time_limit=0.3
        )
    assert [t.fuse for t in fast.trials] == [False]


def test_half_precision_may_differ_as_far_as_eager_is_off() -> None:
    module, args = block()
    low, given = copy.deepcopy(module).half(), tuple(x.half() for x in args)
    with torch.no_grad():
        exact = copy.deepcopy(low).double()(*(x.double() for x in given))
    model = st.Model(low, given, None, True, True)
    for k, name in enumerate(exact):
        off = (model.reference[name] - exact[name]).abs().max() / exact[name].abs().max()
        assert model.rounding[k] == pytest.approx(2 * float(off)) and off > 0
    assert st.Model(low, given, None, True).rounding == []
    other = {name: x * 1.02 for name, x in model.reference.items()}
    with pytest.raises(st.Mismatch):
        model.compare(other)
    model.rounding = [0.03] * len(exact)
    model.compare(other)


class Insists(nn.Module):
    def forward(self, x: Any) -> Any:
        return torch.mm(x.to(torch.float16), x)


def test_ops_that_insist_on_half_precision_get_no_more() -> None:
    x = torch.randn(3, 3).half()
    assert st.Model(Insists(), (x,), None, True, True).rounding == []


# ---------------------------------------------------------------------- kernels of a GPU


@functools.lru_cache(maxsize=None)
def compiled(code: str, outputs: int, folder: Any) -> Callable[..., Any]:
    """A kernel of sked._torch_pointwise as a loop over doubles."""
    found = re.search(r"(chain_\w+)\((.*?)\) \{", code)
    assert found is not None
    inputs = found[2].count("T a")
    given = [f"in[{k}][e]" for k in range(inputs)]
    called = f"{found[1]}<double>({', '.join(given)})"
    if outputs > 1:
        called = called[:-1] + "".join(f", out[{k}][e]" for k in range(outputs)) + ")"
    source, library = folder / f"{found[1]}.cc", folder / f"{found[1]}.so"
    source.write_text(
        f"#include <cmath>\n{code}\n"
        'extern "C" void run(long n, double **in, double **out)\n'
        f"{{ for (long e = 0; e < n; e++) {'out[0][e] = ' if outputs == 1 else ''}{called}; }}\n"
    )
    subprocess.run(["c++", "-shared", "-fPIC", source, "-o", library], check=True)
    function = ctypes.CDLL(str(library)).run

    def pointers(tensors: Any) -> Any:
        return (ctypes.c_void_p * len(tensors))(*(x.data_ptr() for x in tensors))

    def run(*tensors: Any) -> Any:
        assert len(tensors) == inputs
        given = [x.contiguous() for x in torch.broadcast_tensors(*tensors)]
        made = [torch.empty_like(given[0]) for _ in range(outputs)]
        function(ctypes.c_long(given[0].numel()), pointers(given), pointers(made))
        return made[0] if outputs == 1 else tuple(made)

    return run


@pytest.fixture
def like_a_gpu(monkeypatch: Any, tmp_path_factory: Any) -> Dict[str, int]:
    """Kernels of a GPU do their work on the CPU; the dict counts their calls."""
    if shutil.which("c++") is None:
        pytest.skip("there is no C++ compiler")
    folder = tmp_path_factory.getbasetemp()
    calls = {"relu": 0, "add_relu": 0}

    def relu(*args: Any) -> Any:
        calls["relu"] += 1
        return f.relu(fusing.convolve(*args))

    def add_relu(z: Any, *args: Any) -> Any:
        calls["add_relu"] += 1
        return f.relu(z + fusing.convolve(*args))

    monkeypatch.setattr(fusing, "_on_gpu", lambda known: True)
    monkeypatch.setattr(fusing, "_convolve_relu", relu)
    monkeypatch.setattr(fusing, "_convolve_add_relu", add_relu)
    monkeypatch.setattr(pointwise, "_kernel", lambda code, n: compiled(code, n, folder))
    return calls


@pytest.mark.parametrize("fuse", [True, "channels_last"])
def test_kernels_of_a_gpu(fuse: Any, like_a_gpu: Any) -> None:
    module, args = block()
    target = st.ThreadTarget(module, args, devices=2, group=False, fuse=fuse, repeats=1)
    types = types_of(target)
    assert like_a_gpu["relu"] == like_a_gpu["add_relu"] == 2  # once to see whether it runs
    assert "silu" not in types and "sub" not in types and "tanh" not in types
    assert types.count("linear") == 4 and types.count("gelu") == 1 and "relu" not in types
    assert types.count("pointwise") >= 3
    for group in st.GROUPS:
        run_a_schedule(target.regrouped(group))
    target.close()


def test_kernels_that_do_not_run_are_not_used(monkeypatch: Any, like_a_gpu: Any) -> None:
    def fails(*args: Any) -> Any:
        raise RuntimeError("no engine for this")

    monkeypatch.setattr(fusing, "_convolve_relu", fails)
    monkeypatch.setattr(fusing, "_convolve_add_relu", fails)
    module, args = block()
    target = st.ThreadTarget(module, args, devices=1, group=False, fuse=True, repeats=1)
    types = types_of(target)
    assert types.count("conv2d") == 4 and "relu" not in types  # bias and ReLU are one kernel
    target.close()


class Diamond(nn.Module):
    """The sum may go with the product or with what follows, but not with both."""

    def forward(self, x: Any) -> Any:
        a = x * 2.0
        return a.exp() + a.cumsum(0) * 3.0


def test_chains_leave_no_cycle(like_a_gpu: Any) -> None:
    args = (torch.randn(5, 3, dtype=torch.float64),)
    target = st.ThreadTarget(Diamond(), args, devices=2, group=False, fuse=True, repeats=1)
    assert sorted(types_of(target)) == ["cumsum", "getitem", "getitem", "pointwise", "pointwise"]
    run_a_schedule(target)
    target.close()


class Many(nn.Module):
    def forward(self, xs: Any) -> Any:
        return sum(xs[1:], xs[0])


def test_chains_have_at_most_eight_inputs(like_a_gpu: Any) -> None:
    args = ([torch.randn(3, dtype=torch.float64) for _ in range(20)],)
    target = st.ThreadTarget(Many(), args, devices=1, fuse=True, group=False, repeats=1)
    assert types_of(target) == ["pointwise"] * 3
    assert max(len(n.inputs) for n in target.program.nodes) == 8
    target.close()


class Sums(nn.Module):
    """Long sums: of products, of one that is a result, too, of several shapes, with a factor."""

    def forward(self, xs: Any, w: Any) -> Any:
        products = sum((x * w[:, i : i + 1] for i, x in enumerate(xs[1:])), xs[0])
        early = xs[0] + xs[1] + xs[2]
        late = early + xs[3] + xs[4] + xs[5]
        wide = xs[0][:1] + xs[1] + xs[2] + xs[3] + xs[4]
        scaled = torch.add(xs[0] + xs[1] + xs[2], xs[3] + xs[3] + xs[4], alpha=2)
        return products.cumsum(0), early, late, wide, scaled


def depth(target: Any) -> int:
    """Kernels of the longest path."""
    found: List[int] = []
    for preds in target.program.preds:
        found.append(1 + max((found[p] for p in preds), default=0))
    return max(found)


def test_long_sums_are_trees(like_a_gpu: Any, monkeypatch: Any) -> None:
    xs = [torch.randn(3, 2, dtype=torch.float64) for _ in range(17)]
    args = (xs, torch.randn(3, 16, dtype=torch.float64))
    target = st.ThreadTarget(Sums(), args, devices=2, group=False, fuse=True, repeats=1)
    run_a_schedule(target)
    assert depth(target) == 3  # parts, their sum, cumsum
    target.close()
    monkeypatch.setattr(fusing, "balance_sums", lambda draft: None)
    target = st.ThreadTarget(Sums(), args, devices=2, group=False, fuse=True, repeats=1)
    assert depth(target) == 6
    target.close()


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")
@pytest.mark.parametrize("fuse", [True, "channels_last"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_fused_on_a_gpu(fuse: Any, dtype: Any) -> None:
    module, args = block()
    module, args = module.cuda().to(dtype), tuple(x.cuda().to(dtype) for x in args)
    target = st.CudaTarget(module, args, devices=3, group=False, fuse=fuse, repeats=2)
    assert "pointwise" in types_of(target)
    for group in st.GROUPS:
        other = target.regrouped(group)
        graph = st.graph_of(other, other.profile(2))
        run, _ = other.measure(sked.schedule(graph, 3, method="list").schedule)
        other.check_other_inputs(run)
