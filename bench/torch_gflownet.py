#!/usr/bin/env python3
"""Times the networks of sked's GFlowNet in PyTorch, beside sked itself, on the same machine.

One update: 100 trajectories of a graph of 50 ops on 4 devices are drawn from the policy, their log-partition
variance loss and its gradient are computed, Adam makes a step. Both policies with the features and the sizes
of sked's defaults (docs/methods/gflownet.md); equal devices, no transfers. All trajectories go through PyTorch
as one batch: they are drawn without gradients, step by step, then all steps are gone over again in few large
batches. No tensor is read on the host on the way. This is a timing, not a trainer: the graph is random and
stays the same.

--device cuda: on the GPU, as one calls PyTorch (eager), and with the whole update as one CUDA graph. --compile:
through torch.compile as well, on the GPU as a CUDA graph.
"""
import argparse
import math
import re
import subprocess
import sys
import time
import traceback

try:
    import torch
    from torch import nn
    from torch.nn import functional as F
except ImportError:
    print("skipped: PyTorch is not installed here (Python package torch); it is only needed for this comparison")
    sys.exit(0)

OPS, DEVICES, BATCH, DRAWS = 50, 4, 100, 1000
DIM, LAYERS, HEADS, HEAD, MLP, HEAT, CONTEXT, WIDTH, SLOTS = 64, 3, 7, 16, 128, 32, 64, 64, 8
PAIR, DIRECT, STATIC, HEAT_INPUTS, STATE, WAIT, LAST = 12, 8, 16, 5, 12, 3, 3
NEVER = -1e9
LIST_RULE = (-2, -0.5, -0.1, -0.2, 0, -0.2, -0.2, 0)


class Problem:
    """A random graph in layers, its seven relations, features of its ops; times in units of work / devices."""

    def __init__(self, seed, device):
        g = torch.Generator().manual_seed(seed)
        layer = torch.arange(OPS) // 6
        chance = torch.rand(OPS, OPS, generator=g)
        edge = (layer[None, :] == layer[:, None] + 1) & (chance < 0.35)
        edge |= (layer[None, :] > layer[:, None] + 1) & (chance < 0.02)
        path = edge.clone()
        for _ in range(int(layer.max()) + 1):
            path |= (path.float() @ edge.float()) > 0
        longer = (edge.float() @ path.float()) > 0
        kept, other, far = edge & ~longer, edge & longer, path & ~edge
        none = ~(path | path.T)
        mask = torch.stack([kept, kept.T, other, other.T, far, far.T, none]) | torch.eye(OPS, dtype=torch.bool)
        duration = torch.rand(OPS, generator=g)
        duration /= duration.sum() / DEVICES
        tail, head = duration.clone(), torch.zeros(OPS)
        for i in reversed(range(OPS)):
            if edge[i].any():
                tail[i] += tail[edge[i]].max()
        for i in range(OPS):
            if edge[:, i].any():
                head[i] = (head + duration)[edge[:, i]].max()
        self.unit = float(duration.mean())
        self.temperature = DEVICES * self.unit / 20  # kappa = 20
        self.bias = torch.zeros(HEADS, OPS, OPS).masked_fill(~mask, NEVER).to(device)
        self.edge, self.duration, self.tail = edge.float().to(device), duration.to(device), tail.to(device)
        self.waits = edge.float().sum(0).to(device)
        self.feature = self.static(edge.float(), duration, tail, head).to(device)
        self.heat = torch.tensor([(math.log(self.temperature) + 5) / 3, (math.log(20) - 4) / 2, 0, 0, 0], device=device)

    def static(self, edge, duration, tail, head):
        one = torch.ones(OPS)
        columns = [duration / (duration + self.unit), tail, head, torch.log1p(edge.sum(1)), torch.log1p(edge.sum(0)),
                   one * tail.max(), one, one * math.log(DEVICES), one * math.log(OPS), torch.log1p(tail / self.unit),
                   torch.log1p(head / self.unit), one, 0 * one, 0 * one, 0 * one, 0 * one]
        return torch.stack(columns, -1)


class State:
    """Partial schedules of a whole batch. `after` makes new tensors, so that old states can be kept."""

    NAMES = ("start", "place", "ready_time", "waits", "followed", "free", "last")

    def __init__(self, problem, **tensors):
        self.problem = problem
        self.__dict__.update(tensors)

    @staticmethod
    def empty(problem, batch):
        new = problem.duration.new_zeros
        return State(problem, start=new(batch, OPS) - 1, place=new(batch, OPS, dtype=torch.long) - 1,
                     ready_time=new(batch, OPS), waits=problem.waits.expand(batch, OPS).clone(),
                     followed=new(batch, OPS, dtype=torch.bool), free=new(batch, DEVICES),
                     last=new(batch, DEVICES, dtype=torch.long) - 1)

    @staticmethod
    def joined(states):
        return State(states[0].problem, **{n: torch.cat([getattr(s, n) for s in states]) for n in State.NAMES})

    def addable(self):
        return (self.place < 0) & (self.waits == 0)

    def used(self):
        return self.last >= 0

    def last_removable(self):
        return self.used() & ~self.followed.gather(1, self.last.clamp(min=0))

    def removable(self):
        return torch.zeros_like(self.followed).scatter(1, self.last.clamp(min=0), self.used()) & ~self.followed

    def after(self, op, device):
        p, op, device = self.problem, op[:, None], device[:, None]
        start = torch.maximum(self.free.gather(1, device), self.ready_time.gather(1, op))
        finish, out = start + p.duration[op], p.edge[op[:, 0]]
        return State(p, start=self.start.scatter(1, op, start), place=self.place.scatter(1, op, device),
                     ready_time=torch.where(out > 0, torch.maximum(self.ready_time, finish), self.ready_time),
                     waits=self.waits - out, followed=self.followed | (p.edge.T[op[:, 0]] > 0),
                     free=self.free.scatter(1, device, finish), last=self.last.scatter(1, device, op))

    def makespan(self):
        return self.free.max(1)[0]


def squashed(x):
    return x / (1 + x.abs())


class Film(nn.Module):
    """An MLP whose hidden row the temperature scales and shifts."""

    def __init__(self, rows, hidden, out):
        super().__init__()
        self.first, self.second = nn.Linear(rows, hidden), nn.Linear(hidden, out)
        self.scale, self.shift = nn.Linear(HEAT, hidden), nn.Linear(HEAT, hidden)

    def forward(self, x, heat):
        return self.second(torch.relu(self.scale(heat) * self.first(x) + self.shift(heat)))


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(DIM), nn.LayerNorm(DIM)
        self.qkv, self.merge = nn.Linear(DIM, 3 * HEADS * HEAD), nn.Linear(HEADS * HEAD, DIM)
        self.mlp = Film(DIM, MLP, DIM)

    def forward(self, x, bias, heat):
        b = x.shape[0]
        q, k, v = self.qkv(self.norm1(x)).view(b, OPS, 3, HEADS, HEAD).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=bias)
        x = x + self.merge(y.transpose(1, 2).reshape(b, OPS, HEADS * HEAD))
        return x + self.mlp(self.norm2(x), heat)


class Encoder(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.input, self.final = nn.Linear(features, DIM), nn.LayerNorm(DIM)
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))
        self.heat = nn.Sequential(nn.Linear(HEAT_INPUTS, HEAT), nn.ReLU(), nn.Linear(HEAT, HEAT), nn.ReLU())

    def forward(self, feature, problem):
        heat = self.heat(problem.heat)
        x = self.input(feature)
        for layer in self.layers:
            x = layer(x, problem.bias.to(x.dtype), heat)
        return self.final(x), heat


def draw(logp):
    """An index for each row, with probability exp(logp)."""
    return (logp - torch.empty_like(logp).exponential_().log()).argmax(-1)


class Stepwise(nn.Module):
    """Encodes every partial schedule; a learned backward policy."""

    def __init__(self):
        super().__init__()
        self.encoder = Encoder(6 + SLOTS)
        self.forward_head, self.back_head = Film(DIM, WIDTH, SLOTS), Film(DIM, WIDTH, 1)

    def features(self, s):
        scheduled = s.place >= 0
        place = F.one_hot(s.place.clamp(min=0), SLOTS) * scheduled[..., None]
        rest = [s.problem.duration.expand_as(s.start), s.start, s.addable(), s.removable(), scheduled,
                torch.full_like(s.start, math.log(DEVICES))]
        return torch.cat([torch.stack([r.to(s.start.dtype) for r in rest], -1), place.to(s.start.dtype)], -1)

    def prepare(self, problem):
        return problem

    def logp(self, s, problem):
        """Of all (op, device) pairs, and of removing each op."""
        x, heat = self.encoder(self.features(s), problem)
        pairs = self.forward_head(x, heat)[..., :DEVICES].float().masked_fill(~s.addable()[..., None], NEVER)
        back = self.back_head(x, heat)[..., 0].float().masked_fill(~s.removable(), NEVER)
        return pairs.flatten(1).log_softmax(-1), back.log_softmax(-1)


class EncodeOnce(nn.Module):
    """Encodes the graph once, then scores ready (op, device) pairs; uniform backward policy."""

    def __init__(self):
        super().__init__()
        self.encoder = Encoder(STATIC)
        self.op, self.wait, self.last = nn.Linear(DIM, WIDTH), nn.Linear(DIM, CONTEXT), nn.Linear(DIM, CONTEXT)
        self.wait_feature = nn.Linear(WAIT, CONTEXT, bias=False)
        self.last_feature = nn.Linear(LAST, CONTEXT, bias=False)
        self.empty = nn.Parameter(torch.randn(CONTEXT))
        self.device = nn.Linear(CONTEXT, WIDTH, bias=False)
        self.state = nn.Linear(2 * CONTEXT + STATE, WIDTH, bias=False)
        self.pair, self.out = nn.Linear(PAIR, WIDTH, bias=False), nn.Linear(WIDTH, 1, bias=False)
        self.scale, self.shift = nn.Linear(HEAT, WIDTH), nn.Linear(HEAT, WIDTH)
        self.direct_weight = nn.Linear(HEAT, DIRECT, bias=False)
        self.direct_bias = nn.Parameter(torch.tensor([float(x) for x in LIST_RULE]))

    def prepare(self, problem):
        """Rows and weights for a graph at a temperature: [n, .], FiLM's scale and shift, the direct path."""
        x, heat = self.encoder(problem.feature[None], problem)
        sharpness = math.sqrt(20)
        return (self.op(x[0]), self.wait(x[0]), self.last(x[0]), self.scale(heat), self.shift(heat),
                sharpness * (self.direct_bias + 0.0625 * self.direct_weight(heat)), problem)

    def pairs(self, s, p):
        """Features of all pairs for the hidden row, and for the direct path."""
        u, free, ready = 1 / p.unit, s.free[:, None, :], s.ready_time[..., None]
        addable = s.addable()
        least = s.free.min(1)[0][:, None, None]
        most = s.makespan()[:, None, None]
        first = torch.where(addable, s.ready_time, 1e9).min(1)[0][:, None, None]
        earliest = torch.maximum(first, least)
        top = torch.where(addable, p.tail, 0).max(1)[0][:, None, None]
        critical = torch.where(addable[..., None], torch.maximum(ready, least) + p.tail[:, None], 0).max(1)[0][:, None]
        begin = torch.maximum(ready, free)
        finish, end = begin + p.duration[:, None], begin + p.tail[:, None]
        gap = ((top - p.tail[:, None]) * u).expand_as(begin)
        bound = torch.maximum(critical, most).clamp(min=1)
        none = torch.zeros_like(begin)
        f = torch.stack([(begin - earliest) * u, (begin - ready) * u, (begin - free) * u, (end - most) * u,
                         (end - bound).clamp(min=0) * u, gap, (finish - most).clamp(min=0) * u,
                         ((free - least) * u).expand_as(begin), none, none, none,
                         (finish - finish.min(2, keepdim=True)[0]) * u], -1)
        near = torch.stack([f[..., 0], f[..., 11], gap, squashed(gap), none, f[..., 2], f[..., 4], none], -1)
        return squashed(f), near.clamp(max=12), (least, most, earliest, critical)

    def whole(self, s, p, times):
        """The features of the state."""
        least, most, earliest, critical = (t.flatten() for t in times)
        u, left, ready = 1 / p.unit, (s.place < 0).sum(1), s.addable().sum(1)
        busy, work = s.free.sum(1), torch.where(s.place < 0, p.duration, 0).sum(1)
        used = s.used().sum(1)
        return torch.stack([most, 1 - left / OPS, busy / DEVICES, squashed((most - least) * u), (busy + work) / DEVICES,
                            ready / left, earliest, critical, squashed((critical - most) * u),
                            squashed((earliest - least) * u), ready / (ready + DEVICES), used / DEVICES], -1)

    def logp(self, s, prepared):
        op, wait, last, scale, shift, direct, p = prepared
        left = (s.place < 0).to(wait.dtype)
        f = torch.stack([s.ready_time, (s.waits == 0).float(), s.ready_time + p.tail], -1)
        waits = (torch.relu(wait + self.wait_feature(f)) * left[..., None]).sum(1) / left.sum(1, keepdim=True)
        f = torch.stack([s.free, s.last_removable().float(), torch.zeros_like(s.free)], -1)
        rows = torch.relu(last[s.last.clamp(min=0)] + self.last_feature(f))
        rows = torch.where(s.used()[..., None], rows, torch.relu(self.empty))
        feature, near, times = self.pairs(s, p)
        state = self.state(torch.cat([waits, rows.mean(1), self.whole(s, p, times)], -1))
        hidden = op[:, None, :] + self.device(rows)[:, None] + state[:, None, None] + self.pair(feature)
        logit = math.sqrt(20) * self.out(torch.relu(scale * hidden + shift))[..., 0] + near @ direct
        # The empty devices are one choice with a multiplicity: the first of them stands for all.
        used = s.used()
        n_used = used.sum(1, keepdim=True)
        first = torch.arange(DEVICES, device=used.device) == n_used
        legal = s.addable()[..., None] & (used | first)[:, None, :]
        count = torch.where(first, DEVICES - n_used, 1).log()
        pairs = (logit + count[:, None, :]).masked_fill(~legal, NEVER).flatten(1).log_softmax(-1)
        return pairs, (-s.removable().sum(1, keepdim=True).clamp(min=1).to(pairs.dtype).log()).expand(-1, OPS)


@torch.no_grad()
def walk(network, problem, batch, prepared):
    """States before each step and after the last, pairs chosen, log P_F and log P_B of whole trajectories."""
    state, kept, chosen = State.empty(problem, batch), [], []
    forward = backward = torch.zeros_like(state.free[:, 0])
    for _ in range(OPS):
        kept.append(state)
        logp, back = network.logp(state, prepared)
        if chosen:
            backward = backward + back.gather(1, (chosen[-1] // DEVICES)[:, None])[:, 0]
        at = draw(logp)
        forward = forward + logp.gather(1, at[:, None])[:, 0]
        state = state.after(at // DEVICES, at % DEVICES)
        chosen.append(at)
    kept.append(state)
    if isinstance(network, Stepwise):  # its backward policy looks at the complete schedule, too
        back = network.logp(state, prepared)[1]
        backward = backward + back.gather(1, (chosen[-1] // DEVICES)[:, None])[:, 0]
    else:
        backward = backward - state.removable().sum(1).to(backward.dtype).log()
    return kept, chosen, forward, backward


def leaves(prepared):
    """Copies that collect gradients, for those that have any."""
    return tuple(t.detach().requires_grad_() if torch.is_tensor(t) else t for t in prepared)


def taken(logp, steps, chosen, slope, which, per):
    """Sum of slope * logp of what was chosen, over those steps for which there is a choice."""
    found = [(i, which(k)) for i, k in enumerate(steps) if which(k) is not None]
    if not found:
        return 0
    at = torch.stack([chosen[k] for _, k in found]) // per
    rows = logp.view(len(steps), BATCH, -1)[found[0][0]:found[-1][0] + 1]
    return (slope * rows.gather(2, at[..., None])[..., 0]).sum()


def update(network, problem, optimiser, steps_at_once):
    prepared = network.prepare(problem)
    held = leaves(prepared) if isinstance(prepared, tuple) else prepared
    kept, chosen, forward, backward = walk(network, problem, BATCH, held)
    reward = (problem.duration.sum() / kept[-1].makespan() - DEVICES) / problem.temperature
    zeta = reward + backward - forward
    slope = -2 * (zeta - zeta.mean()).clamp(-20, 20) / BATCH
    optimiser.zero_grad(set_to_none=False)
    learned_back = isinstance(network, Stepwise)
    last = OPS + 1 if learned_back else OPS
    for first in range(0, last, steps_at_once):
        steps = range(first, min(first + steps_at_once, last))
        logp, back = network.logp(State.joined([kept[k] for k in steps]), held)
        loss = taken(logp, steps, chosen, slope, lambda k: k if k < OPS else None, 1)
        if learned_back:
            loss = loss - taken(back, steps, chosen, slope, lambda k: k - 1 if k > 0 else None, DEVICES)
        loss.backward()
    if isinstance(prepared, tuple):
        pairs = [(t, h.grad) for t, h in zip(prepared, held) if torch.is_tensor(t)]
        torch.autograd.backward([t for t, _ in pairs], [g for _, g in pairs])
    nn.utils.clip_grad_norm_(network.parameters(), 1)
    optimiser.step()


def wait(device):
    if device.type == "cuda":
        torch.cuda.synchronize()


def rate_of(once, device, seconds):
    """Calls a second and processor seconds a call, after three to warm up."""
    for _ in range(3):
        once()
    wait(device)
    wall, processor, calls = time.perf_counter(), time.process_time(), 0
    while time.perf_counter() - wall < seconds:
        once()
        wait(device)
        calls += 1
    return calls / (time.perf_counter() - wall), (time.process_time() - processor) / calls


def captured(once):
    """The same work as one CUDA graph."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            once()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        once()
    return graph.replay


def new(network, device, problem, a):
    torch.manual_seed(0)
    net = network().to(device)
    cuda = device.type == "cuda"
    optimiser = torch.optim.Adam(net.parameters(), 1e-3, fused=cuda, capturable=cuda)
    for p in net.parameters():
        p.grad = torch.zeros_like(p)
    at_once = a.steps_at_once or (OPS + 1 if cuda else 5)

    def learn():
        update(net, problem, optimiser, at_once)

    def sample():
        with torch.no_grad():
            walk(net, problem, DRAWS, net.prepare(problem))

    return net, learn, sample


def attempt(what, work):
    """The result, or None and the reason on standard error: one way that fails must not hide the others."""
    try:
        return work()
    except Exception:
        print(f"{what} failed:\n{traceback.format_exc()}", file=sys.stderr)
        return None


def time_torch(network, device, a):
    """{(what, how): (calls a second, processor seconds a call)}."""
    problem, found = Problem(1, device), {}
    cuda = device.type == "cuda"
    ways = [("eager", lambda once: once)] + [("CUDA graph", captured)] * cuda
    if a.compile:
        ways.append(("compiled, graph", captured) if cuda else ("compiled", lambda once: once))
    for how, way in ways:
        net, learn, sample = new(network, device, problem, a)
        if how.startswith("compiled"):
            net.logp = torch.compile(net.logp)
        for what, once in (("update", learn), (f"{DRAWS} draws", sample)):
            found[what, how] = attempt(f"{network.__name__} {what}, {how}",
                                       lambda: rate_of(way(once), device, a.seconds))
    return found


def time_sked(program, threads):
    """{"": (updates/s, processor seconds), "stepwise": ...} as `sked-bench gflownet` prints them."""
    done = subprocess.run([program, "gflownet", "--only", "speed", "--threads", str(threads)],
                          capture_output=True, text=True, check=True)
    found = {}
    for line in done.stdout.splitlines():
        m = re.match(r"(stepwise: )?training.* ([0-9.]+) updates/s .* ([0-9.]+) s of processor time", line)
        if m:
            found["stepwise" if m.group(1) else "encode-once"] = float(m.group(2)), float(m.group(3))
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bench", default="build/sked-bench", help="the program (default build/sked-bench)")
    parser.add_argument("--no-sked", action="store_true", help="PyTorch only")
    parser.add_argument("--device", default="cpu", choices=["cpu", "cuda"], help="where PyTorch computes")
    parser.add_argument("--compile", action="store_true", help="with torch.compile as well")
    parser.add_argument("--policy", choices=["encode-once", "stepwise"], help="only this one")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=5, help="of each timing")
    parser.add_argument("--steps-at-once", type=int, default=0,
                        help="steps of all trajectories in a batch of the second pass (default 5; on a GPU all)")
    a = parser.parse_args()
    torch.set_num_threads(a.threads)
    torch.set_float32_matmul_precision("high")
    device = torch.device(a.device)
    if a.device == "cuda" and not torch.cuda.is_available():
        sys.exit("PyTorch finds no GPU here")
    sked = {}
    if not a.no_sked:
        try:
            sked = time_sked(a.bench, a.threads)
        except (OSError, subprocess.CalledProcessError) as why:
            sys.exit(f"sked-bench did not run ({why}); build it first, or give --bench or --no-sked")
    where = torch.cuda.get_device_name() if a.device == "cuda" else f"{a.threads} threads"
    print(f"PyTorch {torch.__version__}, {where}; {OPS} ops, {DEVICES} devices, batch {BATCH}")
    print(f"{'policy':12} {'what':12} {'how':16} {'ms':>10} {'a second':>10} {'cpu s each':>11}")
    for name, network in (("encode-once", EncodeOnce), ("stepwise", Stepwise)):
        if a.policy not in (None, name):
            continue
        for (what, how), figures in time_torch(network, device, a).items():
            if figures:
                print(f"{name:12} {what:12} {how:16} {1e3 / figures[0]:10.2f} {figures[0]:10.2f} {figures[1]:11.4f}")
            sys.stdout.flush()
        if name in sked:
            rate, processor = sked[name]
            print(f"{name:12} {'update':12} {'sked, cpu':16} {1e3 / rate:10.2f} {rate:10.2f} {processor:11.4f}")


if __name__ == "__main__":
    main()
