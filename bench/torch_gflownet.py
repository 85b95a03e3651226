#!/usr/bin/env python3
"""Times the networks of sked's GFlowNet in PyTorch, beside sked itself, on the same processor.

One update: 100 trajectories of a graph of 50 ops on 4 devices are drawn from the policy, their
log-partition variance loss and its gradient are computed, Adam makes a step. Both policies with the sizes
of sked's defaults (docs/methods/gflownet.md). All trajectories go through PyTorch as one batch. This is a
timing, not a trainer: the graph is random and stays the same.
"""
import argparse
import math
import re
import subprocess
import sys
import time

try:
    import torch
    from torch import nn
except ImportError:
    print("skipped: PyTorch is not installed here (Python package torch); it is only needed for this comparison")
    sys.exit(0)

OPS, DEVICES, BATCH = 50, 4, 100
DIM, LAYERS, HEADS, HEAD, MLP, HEAT, CONTEXT, WIDTH, SLOTS = 64, 3, 7, 16, 128, 32, 64, 64, 8


class Problem:
    """A random graph in layers, its seven relations, and partial schedules of a whole batch."""

    def __init__(self, seed):
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
        self.mask = torch.stack([kept, kept.T, other, other.T, far, far.T, none]) | torch.eye(OPS, dtype=torch.bool)
        self.bias = torch.zeros(HEADS, OPS, OPS).masked_fill(~self.mask, -1e9)
        self.edge = edge.float()
        self.duration = torch.rand(OPS, generator=g)
        self.scale = float(self.duration.sum()) / DEVICES
        self.duration /= self.scale
        tail = self.duration.clone()
        for i in reversed(range(OPS)):
            if edge[i].any():
                tail[i] += tail[edge[i]].max()
        self.tail = tail

    def start(self):
        return State(self)


class State:
    def __init__(self, problem):
        self.problem = problem
        self.start = torch.full((BATCH, OPS), -1.0)
        self.device = torch.full((BATCH, OPS), -1, dtype=torch.long)
        self.ready_time = torch.zeros(BATCH, OPS)
        self.waits = problem.edge.sum(0).expand(BATCH, OPS).clone()
        self.followed = torch.zeros(BATCH, OPS, dtype=torch.bool)
        self.free = torch.zeros(BATCH, DEVICES)
        self.last = torch.full((BATCH, DEVICES), -1, dtype=torch.long)

    def addable(self):
        return (self.device < 0) & (self.waits == 0)

    def removable(self):
        last = torch.zeros(BATCH, OPS, dtype=torch.bool)
        rows = torch.arange(BATCH)[:, None].expand_as(self.last)
        last[rows[self.last >= 0], self.last[self.last >= 0]] = True
        return last & ~self.followed

    def append(self, op, device):
        p, rows = self.problem, torch.arange(BATCH)
        start = torch.maximum(self.free[rows, device], self.ready_time[rows, op])
        self.start[rows, op], self.device[rows, op] = start, device
        self.free[rows, device], self.last[rows, device] = start + p.duration[op], op
        out = p.edge[op]
        self.ready_time = torch.where(out > 0, torch.maximum(self.ready_time, (start + p.duration[op])[:, None]),
                                      self.ready_time)
        self.waits = self.waits - out
        self.followed |= p.edge.T[op] > 0

    def features(self):
        scheduled = self.device >= 0
        place = torch.nn.functional.one_hot(self.device.clamp(min=0), SLOTS) * scheduled[..., None]
        rest = torch.stack([self.problem.duration.expand(BATCH, OPS), self.start, self.addable().float(),
                            self.removable().float(), scheduled.float(),
                            torch.full((BATCH, OPS), math.log(DEVICES))], -1)
        return torch.cat([rest, place.float()], -1)


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
        y = nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=bias)
        x = x + self.merge(y.transpose(1, 2).reshape(b, OPS, HEADS * HEAD))
        return x + self.mlp(self.norm2(x), heat)


class Encoder(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.input, self.final = nn.Linear(features, DIM), nn.LayerNorm(DIM)
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))
        self.heat = nn.Sequential(nn.Linear(1, HEAT), nn.ReLU(), nn.Linear(HEAT, HEAT), nn.ReLU())

    def forward(self, feature, bias, temperature):
        heat = self.heat(torch.tensor([math.log(temperature)]))
        x = self.input(feature)
        for layer in self.layers:
            x = layer(x, bias, heat)
        return self.final(x), heat


class Stepwise(nn.Module):
    """Encodes every partial schedule; a learned backward policy."""

    def __init__(self):
        super().__init__()
        self.encoder = Encoder(6 + SLOTS)
        self.forward_head, self.back_head = Film(DIM, WIDTH, SLOTS), Film(DIM, WIDTH, 1)

    def logits(self, feature, addable, removable, problem, temperature):
        x, heat = self.encoder(feature, problem.bias, temperature)
        pairs = self.forward_head(x, heat)[..., :DEVICES].masked_fill(~addable[..., None], -1e9)
        back = self.back_head(x, heat)[..., 0].masked_fill(~removable, -1e9)
        return pairs.flatten(1).log_softmax(-1), back.log_softmax(-1)

    def update(self, problem, temperature, optimiser):
        """Draws without gradients, then goes over the states again, five steps at a time."""
        kept, state, rows = [], problem.start(), torch.arange(BATCH)
        forward, backward, last = torch.zeros(BATCH), torch.zeros(BATCH), None
        with torch.no_grad():
            for step in range(OPS + 1):
                now = (state.features(), state.addable(), state.removable())
                logp, back = self.logits(*now, problem, temperature)
                if last is not None:
                    backward += back[rows, last]
                chosen = torch.multinomial(logp.exp(), 1)[:, 0] if step < OPS else None
                kept.append((*now, chosen, last))
                if chosen is None:
                    break
                forward += logp[rows, chosen]
                last = chosen // DEVICES
                state.append(last, chosen % DEVICES)
        slope = slope_of(problem, state, temperature, forward, backward)
        optimiser.zero_grad()
        for first in range(0, len(kept), 5):
            part = kept[first:first + 5]
            feature, addable, removable = (torch.cat([p[i] for p in part]) for i in range(3))
            logp, back = self.logits(feature, addable, removable, problem, temperature)
            loss = 0
            for i, (_, _, _, chosen, before) in enumerate(part):
                at = rows + i * BATCH
                if chosen is not None:
                    loss = loss + (slope * logp[at, chosen]).sum()
                if before is not None:
                    loss = loss - (slope * back[at, before]).sum()
            loss.backward()
        finish(self, optimiser)


class EncodeOnce(nn.Module):
    """Encodes the graph once, then scores ready (op, device) pairs; uniform backward policy."""

    def __init__(self):
        super().__init__()
        self.encoder = Encoder(9)
        self.op, self.wait, self.last = nn.Linear(DIM, WIDTH), nn.Linear(DIM, CONTEXT), nn.Linear(DIM, CONTEXT)
        self.wait_feature, self.last_feature = nn.Linear(3, CONTEXT), nn.Linear(2, CONTEXT)
        self.empty = nn.Parameter(torch.randn(CONTEXT))
        self.device, self.state = nn.Linear(CONTEXT, WIDTH), nn.Linear(2 * CONTEXT + 8, WIDTH)
        self.pair, self.out = nn.Linear(8, WIDTH), nn.Linear(WIDTH, 1)
        self.scale, self.shift = nn.Linear(HEAT, WIDTH), nn.Linear(HEAT, WIDTH)

    def logits(self, s, rows, heat):
        p, left = s.problem, (s.device < 0).float()
        op, wait, last = rows
        f = torch.stack([s.ready_time, (s.waits == 0).float(), s.ready_time + p.tail], -1)
        waits = (torch.relu(wait + self.wait_feature(f)) * left[..., None]).sum(1) / left.sum(1, keepdim=True)
        index = s.last.clamp(min=0)
        f = torch.stack([s.free, (~s.followed.gather(1, index)).float()], -1)
        device = torch.where((s.last < 0)[..., None], torch.relu(self.empty), torch.relu(last[index] + self.last_feature(f)))
        most, least = s.free.max(1, keepdim=True)[0], s.free.min(1, keepdim=True)[0]
        begin = torch.maximum(s.ready_time[..., None], s.free[:, None, :])
        end, idle = begin + p.tail[:, None], begin - s.free[:, None, :]
        pair = torch.stack([begin - least[..., None], begin - s.ready_time[..., None], idle, end - most[..., None],
                            (end - 1).clamp(min=0), (p.tail[:, None] - p.tail.max()).expand_as(end),
                            (begin + p.duration[:, None] - most[..., None]).clamp(min=0),
                            (s.free[:, None, :] - least[..., None]).expand_as(end)], -1)
        whole = torch.cat([waits, device.mean(1), most, least, left.mean(1, keepdim=True), s.free.sum(1, keepdim=True),
                           most - least, s.addable().float().sum(1, keepdim=True), least, most], -1)
        hidden = op[:, None, :] + self.device(device)[:, None] + self.state(whole)[:, None, None] + self.pair(pair)
        logit = self.out(torch.relu(self.scale(heat) * hidden + self.shift(heat)))[..., 0]
        return logit.masked_fill(~s.addable()[..., None], -1e9).flatten(1).log_softmax(-1)

    def update(self, problem, temperature, optimiser):
        feature = torch.stack([problem.duration, problem.tail] + [problem.edge.sum(k % 2) for k in range(7)], -1)
        x, heat = self.encoder(feature[None], problem.bias, temperature)
        rows = [net(x[0]) for net in (self.op, self.wait, self.last)]
        state, at = problem.start(), torch.arange(BATCH)
        forward, backward = torch.zeros(BATCH), torch.zeros(BATCH)
        for _ in range(OPS):
            logp = self.logits(state, rows, heat)
            chosen = torch.multinomial(logp.detach().exp(), 1)[:, 0]
            forward = forward + logp[at, chosen]
            state.append(chosen // DEVICES, chosen % DEVICES)
            backward -= state.removable().float().sum(1).log()
        slope = slope_of(problem, state, temperature, forward.detach(), backward)
        optimiser.zero_grad()
        (slope * forward).sum().backward()
        finish(self, optimiser)


def slope_of(problem, state, temperature, forward, backward):
    """Gradient of mean (zeta - mean zeta)^2 by log P_F of each trajectory."""
    speedup = problem.duration.sum() / state.free.max(1)[0]
    zeta = (speedup - DEVICES) / temperature + backward - forward
    return -2 * (zeta - zeta.mean()) / BATCH


def finish(network, optimiser):
    nn.utils.clip_grad_norm_(network.parameters(), 1)
    optimiser.step()


def time_torch(network, updates):
    """Updates a second, and processor seconds an update."""
    torch.manual_seed(0)
    net, problem = network(), Problem(1)
    optimiser = torch.optim.Adam(net.parameters(), 1e-3)
    net.update(problem, 0.1, optimiser)
    wall, processor = time.perf_counter(), time.process_time()
    for _ in range(updates):
        net.update(problem, 0.1, optimiser)
    return updates / (time.perf_counter() - wall), (time.process_time() - processor) / updates


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
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--updates", type=int, default=10, help="encode-once updates timed; a third for stepwise")
    a = parser.parse_args()
    torch.set_num_threads(a.threads)
    try:
        sked = time_sked(a.bench, a.threads)
    except (OSError, subprocess.CalledProcessError) as why:
        sys.exit(f"sked-bench did not run ({why}); build it first, or give --bench")
    print(f"PyTorch {torch.__version__}, {a.threads} threads; {OPS} ops, {DEVICES} devices, batch {BATCH}")
    print(f"{'policy':12} {'':10} {'PyTorch':>10} {'sked':>10} {'sked / PyTorch':>15}")
    for name, network, updates in (("encode-once", EncodeOnce, a.updates),
                                   ("stepwise", Stepwise, max(1, a.updates // 3))):
        rate, processor = time_torch(network, updates)
        print(f"{name:12} {'updates/s':10} {rate:10.3f} {sked[name][0]:10.3f} {sked[name][0] / rate:15.2f}")
        print(f"{'':12} {'cpu s each':10} {processor:10.3f} {sked[name][1]:10.3f} {processor / sked[name][1]:15.2f}")


if __name__ == "__main__":
    main()
