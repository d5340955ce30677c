"""The training step of bench/train_transformer.cpp in PyTorch: the same network, inputs, objective, clipping, optimiser
and weight average, on random labels of the same table. Times are uniform on [0, decision time] and the learning rate is
constant (segre's learned law of times and its schedule do a little more). float32 on a CPU, bf16 autocast on CUDA.

    train_transformer_peer.py SECONDS MODE cpu|cuda BATCH [LABELS] [--width 384 --layers 6 --heads 6]

Modes:
    eager            as written
    eager-bf16       the same with bf16 autocast; CPU only
    compile          torch.compile(mode="max-autotune-no-cudagraphs"); on CUDA the whole step, clipping, Adam and the
                     average included, is captured as one CUDA graph. The first compilation takes minutes
    compile-cudnn    the same with cuDNN's attention instead of PyTorch's choice; CUDA only
    compile-graph    the same as compile with torch.compile's default mode, which compiles faster
    reduce-overhead  torch.compile(mode="reduce-overhead"): forward and backward as CUDA graphs
    eager-graph      the step as written, captured as one CUDA graph

Compilation and capture are not timed. Prints one JSON line: gib is the GPU memory taken while training runs, on a CPU
the process's peak resident memory; peak_gib (CUDA) is the most that was ever reserved, compilation included;
start_to_training_s is from the start of the process to the end of compilation and capture.
"""
import argparse
import json
import math
import os
import resource
import sys
import time

START = time.perf_counter()

import torch
import torch.nn.functional as F
from torch import nn

from cuda_graph import capture

COLUMNS, ITEMS = 256, 16_384
EPS, MISREAD = 0.01, 1e-5
KNOWN, OWN_TIMES, ERASED = 0.6, 0.25, 0.5  # shares of the items, see EvidenceOptions
DROPOUT, NORM_EPS, EMBEDDING_SPREAD = 0.1, 1e-6, 0.2
LR, BETAS, CLIP, DECAY = 1e-3, (0.9, 0.99), 1.0, 0.999
CHUNK = 50  # steps between two synchronisations
IGNORED = -100  # target of a variable that is known
# torch.compile's mode, whether the whole step is captured on CUDA, and whether attention is cuDNN's.
MODES = {
    "eager": (None, False, False),
    "eager-bf16": (None, False, False),
    "compile": ("max-autotune-no-cudagraphs", True, False),
    "compile-cudnn": ("max-autotune-no-cudagraphs", True, True),
    "compile-graph": ("default", True, False),
    "reduce-overhead": ("reduce-overhead", False, False),
    "eager-graph": (None, True, False),
}


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("seconds", type=float)
    parser.add_argument("mode", choices=MODES)
    parser.add_argument("device", choices=["cpu", "cuda"])
    parser.add_argument("batch", type=int)
    parser.add_argument("labels", type=int, nargs="?", default=2)
    parser.add_argument("--width", type=int, default=384)
    parser.add_argument("--layers", type=int, default=6)
    parser.add_argument("--heads", type=int, default=6)
    options = parser.parse_args()
    if options.device == "cpu" and options.mode not in ("eager", "eager-bf16", "compile"):
        parser.error(f"{options.mode} is for CUDA")
    if options.device == "cuda" and options.mode == "eager-bf16":
        parser.error("eager-bf16 is for the CPU; on CUDA every mode is in bf16")
    if not 1 <= options.labels <= 256:
        parser.error(f"{options.labels} labels: expected 1 to 256; with more, segre's network is another")
    return options


class Norm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.gain = nn.Parameter(torch.ones(width))

    def forward(self, x):  # PyTorch's fused norm wants a gain of x's type; it computes in float32
        return F.rms_norm(x, self.gain.shape, self.gain.to(x.dtype), NORM_EPS)


def linear(inputs, outputs, spread):
    layer = nn.Linear(inputs, outputs, bias=False)
    nn.init.normal_(layer.weight, std=spread)
    return layer


class Layer(nn.Module):
    def __init__(self, width, hidden, heads):
        super().__init__()
        self.heads = heads
        self.norm_attention, self.norm_mlp = Norm(width), Norm(width)
        self.qkv, self.mix = linear(width, 3 * width, width**-0.5), linear(width, width, 0.0)
        self.up, self.down = linear(width, 2 * hidden, width**-0.5), linear(hidden, width, 0.0)

    def attention(self, x):
        B, n, d = x.shape
        q, k, v = (part.transpose(1, 2) for part in self.qkv(x).view(B, n, 3, self.heads, d // self.heads).unbind(2))
        return self.mix(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(B, n, d))

    def mlp(self, x):
        a, b = self.up(x).chunk(2, -1)
        return self.down(F.silu(a) * b)

    def forward(self, x):
        x = x + F.dropout(self.attention(self.norm_attention(x)), DROPOUT)
        return x + F.dropout(self.mlp(self.norm_mlp(x)), DROPOUT)


class Transformer(nn.Module):
    """segre/net/transformer.h on a table whose n columns have c labels each."""

    def __init__(self, n, c, width, layers, heads):
        super().__init__()

        def parameter(*shape):
            return nn.Parameter(EMBEDDING_SPREAD * torch.randn(shape))

        hidden = max(8, width * 8 // 3 // 8 * 8)
        self.labels, self.evidence = parameter(n, c, width), parameter(n, c, width)
        self.strength, self.position = parameter(1, width), parameter(n, width)
        self.layers = nn.ModuleList(Layer(width, hidden, heads) for _ in range(layers))
        self.norm, self.out = Norm(width), linear(width, width, 0.0)
        self.bias = nn.Parameter(torch.zeros(n, c))

    def tokens(self, W, z, strength):
        """All of a variable's inputs in one product with its own matrix: [B, n, width]."""
        B, n, _ = W.shape
        seen = torch.cat([W, z, strength[..., None], W.new_ones(B, n, 1)], 2)
        weights = torch.cat([self.labels, self.evidence, self.strength.expand(n, 1, -1), self.position[:, None]], 1)
        return torch.bmm(seen.transpose(0, 1), weights).transpose(0, 1).contiguous()

    def forward(self, W, z, strength):
        """W and z [B, n, c], strength [B, n] -> the message [B, n, c], float32."""
        x = self.tokens(W, z, strength)
        for layer in self.layers:
            x = layer(x)
        y = self.out(self.norm(x))
        return torch.bmm(y.transpose(0, 1), self.labels.transpose(1, 2)).transpose(0, 1).float() + self.bias


def decision_ratio(n, c, kappa):
    """a/s at which the probability of misreading any label is at most MISREAD."""
    low, high = 0.0, 1e6
    for _ in range(200):
        middle = 0.5 * (low + high)
        if n * (c - 1) * 0.5 * math.erfc(kappa * middle / 2) > MISREAD:
            low = middle
        else:
            high = middle
    return high


def make_loss(net, data, options):
    """The cross entropy of a fresh batch; `data` are [N, n] uint8 on the device. Nothing in it waits for the device:
    torch.where with a number would copy it there."""
    device, B, n, c = data.device, options.batch, data.shape[1], options.labels
    kappa = math.log1p(c * (1 - EPS) / EPS)
    ratio = decision_ratio(n, c, kappa)
    t_1 = ratio / (1 + ratio)
    known_strength = 2 * (kappa * ratio) ** 2
    short = device.type == "cuda" or options.mode == "eager-bf16"

    def told(t):
        """What the items are told: whether each variable is known, and its time; [B, n] each."""
        some, own, erased = torch.rand(3, B, 1, device=device).unbind(0)
        some = some < KNOWN
        known = (torch.rand(B, n, device=device) < torch.rand(B, 1, device=device)) & some
        erased = some & (erased < ERASED)
        own = (own < OWN_TIMES) & ~erased
        others = t[torch.randint(B, (B, n), device=device)]
        return known, torch.where(own, others, t[:, None].masked_fill(erased, 0.0))

    def loss():
        labels = data[torch.randint(data.shape[0], (B,), device=device)].long()
        t = (torch.rand(B, device=device) + torch.arange(B, device=device)) * (t_1 / B)
        known, t = told(t)
        is_known, at = known[..., None], t[..., None]
        corner = F.one_hot(labels, c).float()
        noise = torch.randn(B, n, c, device=device)
        v = kappa * at * (corner - 1 / c) + (1 - at) * (noise - noise.mean(-1, keepdim=True))
        e = (kappa * at / (1 - at) ** 2 * v).masked_fill(is_known, 0.0)
        W = torch.where(is_known, corner, torch.softmax(e, -1))
        g = (2 * (kappa * t / (1 - t)) ** 2).masked_fill(known, known_strength)
        z = torch.where(is_known, (0.5 * g)[..., None] * (corner - 1 / c), e) * torch.rsqrt(1 + g)[..., None]
        with torch.autocast(device.type, torch.bfloat16, enabled=short):
            message = net(W, z, torch.log1p(g))
        target = labels.masked_fill(known, IGNORED)
        return F.cross_entropy((message + e).flatten(0, 1), target.flatten(), ignore_index=IGNORED, reduction="sum") / B

    return loss


def make_step(net, data, options, captured):
    """A function that trains one step and returns the loss, a tensor on the device."""
    mode = MODES[options.mode][0]
    parameters = list(net.parameters())
    average = [parameter.detach().clone() for parameter in parameters]
    adam = torch.optim.Adam(parameters, lr=LR, betas=BETAS, fused=True, capturable=captured)
    loss = make_loss(net, data, options)
    if mode:
        torch._dynamo.mark_static_address(data)  # otherwise CUDA graphs would copy the data set every step
        loss = torch.compile(loss, mode=mode, dynamic=False, fullgraph=True)

    def step():
        if mode == "reduce-overhead":
            torch.compiler.cudagraph_mark_step_begin()
        adam.zero_grad(set_to_none=True)
        value = loss()
        value.backward()
        nn.utils.clip_grad_norm_(parameters, CLIP, foreach=True)
        adam.step()
        with torch.no_grad():
            torch._foreach_lerp_(average, parameters, 1 - DECAY)  # a number, not a tensor: nothing waits for it
        return value.detach()

    return step


def main():
    options = parse()
    device, on_cuda = torch.device(options.device), options.device == "cuda"
    captured = MODES[options.mode][1] and on_cuda
    synchronize = torch.cuda.synchronize if on_cuda else lambda: None
    torch.manual_seed(1)
    if on_cuda:
        torch.set_float32_matmul_precision("high")
        free_before, _ = torch.cuda.mem_get_info()
    else:
        torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "2")))
        torch.set_flush_denormal(True)  # as segre does
    if MODES[options.mode][2]:
        torch.backends.cuda.enable_flash_sdp(False)
        torch.backends.cuda.enable_mem_efficient_sdp(False)
        torch.backends.cuda.enable_math_sdp(False)

    net = Transformer(COLUMNS, options.labels, options.width, options.layers, options.heads).to(device)
    data = torch.randint(options.labels, (ITEMS, COLUMNS), dtype=torch.uint8, device=device)
    step = make_step(net, data, options, captured)
    for _ in range(5 if on_cuda else 2):  # the first compiles, the next ones of reduce-overhead record graphs
        step()
    if captured:
        step = capture(step)
    synchronize()
    ready = time.perf_counter() - START
    for _ in range(2 if on_cuda else 0):  # until the clocks are up
        for _ in range(CHUNK):
            step()
        synchronize()

    start, steps = time.perf_counter(), 0
    while time.perf_counter() - start < options.seconds:
        value = step()
        steps += 1
        if steps % CHUNK == 0:
            synchronize()
    synchronize()
    rate = steps / (time.perf_counter() - start)
    if on_cuda:
        memory = {"gib": (free_before - torch.cuda.mem_get_info()[0]) / 2**30,
                  "peak_gib": torch.cuda.max_memory_reserved() / 2**30}
    else:
        memory = {"gib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20}
    last = value.item()
    if not math.isfinite(last):
        sys.exit(f"the loss became {last}")
    print(json.dumps({
        "case": "train_transformer", "who": f"pytorch {torch.__version__} {options.mode}", "device": options.device,
        "threads": torch.get_num_threads(), "parameters": sum(w.numel() for w in net.parameters()),
        "labels": options.labels, "batch": options.batch, "steps_per_second": rate,
        "items_per_second": rate * options.batch, "steps": steps, **memory, "start_to_training_s": ready,
        "last_loss": last}))


if __name__ == "__main__":
    main()
