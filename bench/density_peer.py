#!/usr/bin/env python3
"""Learns the joint distribution of a categorical table with a transformer in plain PyTorch: the peers of segre's
densities.

    density_peer.py DIR NAME causal --seconds 60 --device cuda
    density_peer.py DIR NAME masked --seconds 60 --device cpu [--layers 4 --width 128 --heads 4 --dropout 0.1]

Reads DIR/NAME.train.csv.gz, NAME.valid.csv.gz and NAME.test.csv.gz, each with a header.
  causal   autoregressive over the columns in the order of the file; the log-likelihood of a row is exact
  masked   masked diffusion, that is, any order: of n cells k are hidden, k uniform in 1..n, and predicted from the
           rest; n/k times their negative log-likelihood is at least that of the row in the mean. A test row gets the
           mean of --draws such k and subsets, stratified over k
Both train with batches of 256, AdamW, a rate that falls as a cosine over the time given, and an average of the weights.
The average is tried on the validation rows up to twenty times, and the best one scores the test rows. On CUDA forward
passes are in bfloat16 and the whole training step is one CUDA graph; on a CPU float32 and eager. Scores are always in
float32.

Prints one JSON line: "nats" is the mean of -log p over test rows (masked: of its upper bound), "error" its standard
error over rows. "seconds" counts from the start of the program to the last validation, without reading the files;
--seconds limits it. The clock of the rate is the same.
"""
import time

START = time.monotonic()

import argparse  # noqa: E402
import copy  # noqa: E402
import json  # noqa: E402
import math  # noqa: E402
import pathlib  # noqa: E402
import sys  # noqa: E402

import torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402
from torch import nn  # noqa: E402

from cuda_graph import capture  # noqa: E402
from tables import read_table  # noqa: E402

BATCH, RATE, WARM_UP, DECAY, CLIP = 256, 1e-3, 0.02, 0.999, 1.0  # WARM_UP: share of the time
CHECKS, VALID_DRAWS, SCORE_BATCH = 20, 4, 512


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dir", type=pathlib.Path)
    parser.add_argument("name")
    parser.add_argument("peer", choices=["causal", "masked"])
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--device", choices=["cpu", "cuda"], required=True)
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--width", type=int, default=128)
    parser.add_argument("--heads", type=int, default=4)
    parser.add_argument("--dropout", type=float, default=0.1)
    parser.add_argument("--draws", type=int, default=16, help="per test row, for masked")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    if args.width % args.heads:
        parser.error("--width must be a multiple of --heads")
    return args


def read_data(folder, name):
    """Label numbers [rows, columns] of the three parts, and the number of labels of each column."""
    paths = [folder / f"{name}.{part}.csv.gz" for part in ("train", "valid", "test")]
    tables = [read_table(path) for path in paths]
    columns = tables[0][0]
    for path, (names, rows) in zip(paths, tables):
        if names != columns or any(len(row) != len(columns) for row in rows):
            sys.exit(f"{path}: other columns than in {paths[0]}")
        if not rows:
            sys.exit(f"{path}: no rows")
    trained = [set(column) for column in zip(*tables[0][1])]
    labels = [sorted(set(column)) for column in zip(*(row for _, rows in tables for row in rows))]
    unseen = sum(len(every) - len(some) for every, some in zip(labels, trained))
    if unseen:
        print(f"{name}: {unseen} labels that the training rows lack, known to the network all the same",
              file=sys.stderr)
    number = [{label: i for i, label in enumerate(column)} for column in labels]
    parts = [torch.tensor([[of[cell] for of, cell in zip(number, row)] for row in rows]) for _, rows in tables]
    return parts, [len(column) for column in labels]


def zeroed(layer):
    for parameter in layer.parameters():
        nn.init.zeros_(parameter)
    return layer


class Block(nn.Module):
    def __init__(self, width, heads, dropout, causal):
        super().__init__()
        self.heads, self.causal = heads, causal
        self.norm = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.out = zeroed(nn.Linear(width, width))
        self.mlp = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.GELU(),
                                 zeroed(nn.Linear(4 * width, width)), nn.Dropout(dropout))
        self.dropout = nn.Dropout(dropout)

    def forward(self, h):
        q, k, v = self.qkv(self.norm(h)).unflatten(2, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        a = F.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        h = h + self.dropout(self.out(a.transpose(1, 2).flatten(2)))
        return h + self.mlp(h)


class Peer(nn.Module):
    """Logits of every column. Labels of all columns share one table of tokens; its last token is "hidden" (masked) or
    "none before" (causal). Columns with fewer labels than the largest one have logits of minus infinity."""

    def __init__(self, counts, causal, layers, width, heads, dropout):
        super().__init__()
        counts = torch.tensor(counts)
        n, most = len(counts), int(counts.max())
        self.causal, self.none = causal, int(counts.sum())
        self.register_buffer("first", counts.cumsum(0) - counts)
        self.register_buffer("padding", torch.arange(most) >= counts[:, None])
        self.token = nn.Embedding(self.none + 1, width)
        self.column = nn.Parameter(0.02 * torch.randn(n, width))
        nn.init.normal_(self.token.weight, std=0.02)
        self.dropout = nn.Dropout(dropout)
        self.blocks = nn.Sequential(*(Block(width, heads, dropout, causal) for _ in range(layers)))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Parameter(torch.zeros(n, width, most))
        self.bias = nn.Parameter(torch.zeros(n, most))

    def forward(self, tokens):
        h = self.norm(self.blocks(self.dropout(self.token(tokens) + self.column)))
        logits = torch.einsum("bnw,nwl->bnl", h, self.head).float() + self.bias
        return logits.masked_fill(self.padding, -math.inf)

    def nats(self, x, u=None, generator=None):
        """-log p of the rows x [B, n], or one draw of its bound: u [B] in [0, 1) says how many cells are hidden."""
        tokens, n = x + self.first, x.shape[1]
        if self.causal:
            before = F.pad(tokens[:, :-1], (1, 0), value=self.none)
            return cross_entropy(self(before), x).sum(1)
        k = (1 + n * u).long().clamp(max=n)[:, None]
        hidden = torch.rand(x.shape, device=x.device, generator=generator).argsort(1).argsort(1) < k
        return (n / k * hidden * cross_entropy(self(tokens.masked_fill(hidden, self.none)), x)).sum(1)


def cross_entropy(logits, x):
    return F.cross_entropy(logits.flatten(0, 1), x.flatten(), reduction="none").view_as(x)


@torch.no_grad()
def score(net, rows, draws):
    """Nats of each row; the same draws on every call."""
    generator = torch.Generator(rows.device).manual_seed(1)
    found = []
    for x in rows.split(SCORE_BATCH):
        if net.causal:
            found.append(net.nats(x))
            continue
        u = torch.rand(draws, len(x), device=x.device, generator=generator)
        u = (u + torch.arange(draws, device=x.device)[:, None]) / draws
        found.append(sum(net.nats(x, each, generator) for each in u) / draws)
    return torch.cat(found).double()


def main():
    args = parse()
    reading = time.monotonic()
    (train, valid, test), counts = read_data(args.dir, args.name)
    reading = time.monotonic() - reading

    def clock():
        return time.monotonic() - START - reading

    torch.manual_seed(args.seed)
    cuda = args.device == "cuda"
    train, valid, test = (part.to(args.device) for part in (train, valid, test))
    net = Peer(counts, args.peer == "causal", args.layers, args.width, args.heads, args.dropout).to(args.device)
    averaged = copy.deepcopy(net).eval().requires_grad_(False)
    weights, average = list(net.parameters()), list(averaged.parameters())
    parameters = sum(w.numel() for w in weights)
    print(f"{args.name}: {len(train)} rows, {len(counts)} columns, {sum(counts)} labels; {parameters:,} parameters",
          file=sys.stderr)
    # On the device, so that a captured step reads their present values.
    rate, pull = torch.zeros((), device=args.device), torch.ones((), device=args.device)
    adam = torch.optim.AdamW(weights, lr=rate, fused=True, capturable=cuda)

    def step():
        x = train[torch.randint(len(train), (BATCH,), device=args.device)]
        u = (torch.arange(BATCH, device=args.device) + torch.rand(BATCH, device=args.device)) / BATCH
        adam.zero_grad(set_to_none=True)
        with torch.autocast(args.device, torch.bfloat16, enabled=cuda):
            loss = net.nats(x, u).mean() / len(counts)
        loss.backward()
        nn.utils.clip_grad_norm_(weights, CLIP)
        adam.step()
        with torch.no_grad():  # lerp takes no weight from the device for all tensors at once
            change = torch._foreach_sub(weights, average)
            torch._foreach_mul_(change, pull)
            torch._foreach_add_(average, change)

    advance = capture(step) if cuda else step  # capture() runs it at rate 0
    begin, end = clock(), args.seconds
    steps, progress, due, best, kept = 0, 0, 1 / CHECKS, math.inf, None
    while progress < 1:
        progress = (clock() - begin) / (end - begin)
        if steps == 0 or progress < min(1, due):
            rate.fill_(RATE * min(1, progress / WARM_UP) * 0.5 * (1 + math.cos(math.pi * min(1, progress))))
            pull.fill_(1 - min(DECAY, (1 + steps) / (10 + steps)))
            advance()
            steps += 1
            if cuda and steps % 16 == 0:
                torch.cuda.synchronize()  # or the clock would run ahead of the device
            continue
        if cuda:
            torch.cuda.synchronize()
        before = clock()
        value = score(averaged, valid, VALID_DRAWS).mean().item()
        took = clock() - before
        end = args.seconds - took  # leaves time for the last one
        due = progress + max(1 / CHECKS, 5 * took / (end - begin))  # a fifth of the time at most
        if value < best:
            best, kept = value, copy.deepcopy(averaged.state_dict())
        print(f"{clock():.1f} s, {steps} steps: valid {value:.4f}", file=sys.stderr)
    seconds = clock()
    if kept is None:
        sys.exit(f"{args.name}: training diverged")
    averaged.load_state_dict(kept)
    nats = score(averaged, test, args.draws)
    print(json.dumps({"name": args.name, "peer": args.peer, "nats": nats.mean().item(),
                      "error": nats.std().item() / math.sqrt(len(nats)), "valid": best, "steps": steps,
                      "seconds": seconds, "parameters": parameters,
                      "device": torch.cuda.get_device_name() if cuda else "cpu"}))


if __name__ == "__main__":
    main()
