"""Sampling and scoring in straightforward PyTorch, to time `segre sample`, `likelihood` and `convergence` against.

The paper's MNIST network with random weights (time does not depend on them), eager, bfloat16 by autocast for forward
passes; derivatives in float32.

    python bench/score_peer.py                 one JSON line per job: median seconds of the repeats, and spread

Jobs: 100 images by 100 midpoint steps; the simulation-free bound of 10,000 images with 64 times each; the likelihood of
1,024 trajectories with one Hutchinson probe, 50 midpoint steps.
"""
import argparse
import json
import math
import statistics
import time

import torch

from unet_peer import NETS, UNet

EPS = 0.01
SCALE = math.log(1 + 2 * (1 - EPS) / EPS)
T1 = 0.6


def velocity(net, v, t, reduced):
    """dv/dt of images v [B, H, W, 2] at times t [B]."""
    W = torch.softmax(v, dim=-1).permute(0, 3, 1, 2)
    with torch.autocast(v.device.type, torch.bfloat16, enabled=reduced and v.is_cuda):
        F = net(W, 1000 * t)
    F = F.float().permute(0, 2, 3, 1)
    return F - F.mean(-1, keepdim=True)


def noise(shape, device):
    z = torch.randn(shape, device=device)
    return z - z.mean(-1, keepdim=True)


@torch.no_grad()
def sample(net, count, steps, device):
    v = noise((count, 32, 32, 2), device)
    h = 1.0 / steps
    for k in range(steps):
        t = torch.full((count,), k * h, device=device)
        half = v + 0.5 * h * velocity(net, v, t, True)
        v = v + h * velocity(net, half, t + 0.5 * h, True)
    return v.argmax(-1).cpu()


@torch.no_grad()
def free_bound(net, images, times, batch, device):
    total = []
    for first in range(0, len(images), batch):
        u = SCALE * (torch.nn.functional.one_hot(images[first:first + batch].to(device), 2).float() - 0.5)
        value = 0
        for _ in range(times):
            t = T1 * torch.rand(len(u), device=device)
            at = t[:, None, None, None]
            u_0 = noise(u.shape, device)
            error = (u - u_0) - velocity(net, (1 - at) * u_0 + at * u, t, True)
            value = value + T1 * t / (1 - t) * error.square().sum((1, 2, 3))
        total.append((value / times).cpu())
    return torch.cat(total)


def log_density(net, images, steps, device):
    """One Hutchinson probe along the flow from T1 back to 0."""
    u = SCALE * (torch.nn.functional.one_hot(images.to(device), 2).float() - 0.5)
    v = T1 * u + (1 - T1) * noise(u.shape, device)
    h = -T1 / steps
    divergence = torch.zeros(len(v), device=device)

    def evaluate(state, t):
        state = state.detach().requires_grad_(True)
        F = velocity(net, state, torch.full((len(state),), t, device=device), False)
        probe = noise(F.shape, device).sign()
        probe = probe - probe.mean(-1, keepdim=True)
        (gradient,) = torch.autograd.grad(F, state, probe)
        return F.detach(), (gradient * probe).sum((1, 2, 3)).detach()

    for k in range(steps):
        t = T1 + k * h
        F, _ = evaluate(v, t)
        F, trace = evaluate(v + 0.5 * h * F, t + 0.5 * h)
        v = v + h * F
        divergence = divergence + h * trace
    return (-0.5 * v.square().sum((1, 2, 3)) + divergence).cpu()


def timed(job, repeats):
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        job()
        seconds.append(time.perf_counter() - start)
    return {"seconds": round(statistics.median(seconds), 3), "least": round(min(seconds), 3), "most": round(max(seconds), 3)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--scale", type=float, default=1.0, help="share of the images and trajectories, to try it")
    options = parser.parse_args()
    device = torch.device(options.device)
    net = UNet(**NETS["mnist"]).to(device).eval()
    for parameter in net.parameters():
        parameter.requires_grad_(False)
    size = lambda count: max(1, int(count * options.scale))
    images = torch.randint(2, (size(10_000), 32, 32))
    sample(net, size(100), 3, device)  # warms up cuDNN and the allocator
    jobs = {
        "sample 100 images, midpoint, 100 steps": lambda: sample(net, size(100), 100, device),
        "free bound of 10,000 images, 64 times": lambda: free_bound(net, images, 64, 512, device),
        "likelihood of 1,024 trajectories, one probe, midpoint, 50 steps":
            lambda: log_density(net, images[:size(1024)], 50, device),
    }
    for name, job in jobs.items():
        print(json.dumps({"job": name, "device": options.device, **timed(job, options.repeats)}), flush=True)


if __name__ == "__main__":
    main()
