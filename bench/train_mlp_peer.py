"""The same training step as bench/train_mlp.cpp in PyTorch eager: the same network, batch, path, objective, optimiser
and weight average, written in the usual way. Data come from the same table, times are uniform on [0, decision time]
(the cheaper law). Prints one JSON line.

    train_mlp_peer.py SECONDS plain|fused BATCH      torch.optim.Adam with its defaults, or with fused=True
"""
import json
import math
import sys
import time

import torch
import torch.nn.functional as F

C, N, T1, EPS = 91, 2, 0.452, 0.01
BATCH = int(sys.argv[3])
LAMBDA = math.log(1 + C * (1 - EPS) / EPS)
GAIN, FEATURES, LR, DECAY = 4.0, 8, 2e-3, 0.999


def pinwheel():
    """The joint table of segre/sources/toys.cpp."""
    cell = 2 / C
    at = torch.arange(3 * C, dtype=torch.float64)
    axis = -1 + cell * (at + 0.5) / 3
    x, y = torch.meshgrid(2.0 * axis, 2.0 * axis, indexing="ij")
    turn = 0.25 * torch.exp(torch.hypot(x, y))
    total = torch.zeros_like(x)
    for k in range(5):
        angle = turn + 2 * math.pi * k / 5
        radial = torch.cos(angle) * x + torch.sin(angle) * y - 1
        across = -torch.sin(angle) * x + torch.cos(angle) * y
        total += torch.exp(-0.5 * (radial / 0.3) ** 2 - 0.5 * (across / 0.1) ** 2)
    p = F.avg_pool2d(total[None, None], 3)[0, 0].flatten()
    return (p / p.sum()).float()


class Mlp(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(N * C + 2 * FEATURES, 256)
        self.second = torch.nn.Linear(256, 256)
        self.last = torch.nn.Linear(256, N * C)
        torch.nn.init.zeros_(self.last.weight)
        torch.nn.init.zeros_(self.last.bias)

    def forward(self, x):
        return self.last(torch.relu(self.second(torch.relu(self.first(x)))))


def main():
    torch.set_num_threads(2)
    torch.manual_seed(1)
    p, net = pinwheel(), Mlp()
    average = [w.detach().clone() for w in net.parameters()]
    adam = torch.optim.Adam(net.parameters(), lr=LR, fused=sys.argv[2] == "fused")
    frequencies = torch.arange(1, FEATURES + 1) * (math.pi / 2)

    def step():
        row = torch.multinomial(p, BATCH, replacement=True)
        beta = torch.stack([row // C, row % C], 1)
        t = (torch.rand(BATCH) + torch.arange(BATCH)) / BATCH * T1
        u_0 = torch.randn(BATCH, N, C)
        u_0 = u_0 - u_0.mean(-1, keepdim=True)
        u = LAMBDA * (F.one_hot(beta, C) - 1 / C)
        v = t[:, None, None] * u + (1 - t)[:, None, None] * u_0
        e = (LAMBDA * t / (1 - t) ** 2)[:, None, None] * v
        angle = t[:, None] * frequencies
        x = torch.cat([GAIN * torch.softmax(e, -1).flatten(1), torch.sin(angle), torch.cos(angle)], 1)
        logits = net(x).view(BATCH, N, C) + e
        loss = F.cross_entropy(logits.flatten(0, 1), beta.flatten(), reduction="sum") / BATCH
        adam.zero_grad(set_to_none=True)
        loss.backward()
        adam.step()
        with torch.no_grad():
            torch._foreach_lerp_(average, list(net.parameters()), 1 - DECAY)
        return loss.item()

    for _ in range(50):
        step()
    start, steps, seconds = time.monotonic(), 0, float(sys.argv[1])
    while time.monotonic() - start < seconds:
        loss = step()
        steps += 1
    rate = steps / (time.monotonic() - start)
    print(json.dumps({"case": "train_mlp", "who": f"pytorch {torch.__version__}, {sys.argv[2]} Adam", "threads": 2, "batch": BATCH,
                      "steps_per_second": rate, "last_loss": loss}))


main()
