"""Training speed of the paper's UNets in PyTorch, to compare segre's training with.

One step includes everything: a batch of labels gathered from a data set on the device (random labels; the speed does
not depend on them), noise, times, the point on the path, softmax, the network, the paper's objective (the variance of
F - (u_beta - u_0) under W, summed over pixels), backward, fused Adam, and a weight average if --ema is given. float32
on a CPU, bf16 autocast on CUDA.

    python bench/train_unet_peer.py --net mnist --batch 256 --device cuda
    python bench/train_unet_peer.py --net cityscapes --batch 16 --device cuda --modes eager,reduce-overhead
    python bench/train_unet_peer.py --net mnist --batch 16 --device cpu --modes eager --threads 2

Modes:
    eager            as written
    compile          torch.compile, no CUDA graph
    reduce-overhead  torch.compile(mode="reduce-overhead"): forward and backward as CUDA graphs
    max-autotune     torch.compile(mode="max-autotune"): the same with tuned kernels; takes minutes to compile
    compile-graph    torch.compile, and the whole step, Adam included, captured as one CUDA graph
    eager-graph      the step as written, captured as one CUDA graph

--modes, --attention (plain: scores materialised as in the public code; sdpa: PyTorch's fused attention) and --layouts
(channels_last, contiguous) take lists. Every combination runs in its own process with empty compiler caches and prints
one JSON line: samples_per_second is the median over the windows, with their min and max; first_step_s is the first
step, compilation included; start_to_training_s is from the start of the process to the end of compilation and capture;
peak_gib is the peak memory of the device (CPU: of the process). A combination that fails prints its "error" instead.
After --budget seconds no combination starts, and a running one is stopped.
"""
import argparse
import itertools
import json
import math
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time

from cuda_graph import capture

EPS, LR, TIME_SCALE = 0.01, 5e-4, 1000.0
ITEMS = {"mnist": 60_000, "cityscapes": 2_975, "tiny": 1_000}
# torch.compile's mode, and whether the whole step is captured.
MODES = {
    "eager": (None, False),
    "compile": ("default", False),
    "reduce-overhead": ("reduce-overhead", False),
    "max-autotune": ("max-autotune", False),
    "compile-graph": ("default", True),
    "eager-graph": (None, True),
}


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--net", choices=ITEMS, default="mnist")
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cuda")
    parser.add_argument("--modes", default="eager,reduce-overhead,compile-graph")
    parser.add_argument("--attention", default="plain")
    parser.add_argument("--layouts", help="default: channels_last on CUDA; contiguous on CPU, where it is faster")
    parser.add_argument("--windows", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=3.0, help="per window")
    parser.add_argument("--warmup", type=float, default=3.0, help="seconds of training before the first window")
    parser.add_argument("--ema", type=float, default=0.0, help="decay of the weight average; 0: none")
    parser.add_argument("--threads", type=int, default=0, help="CPU threads; 0: PyTorch's choice")
    parser.add_argument("--budget", type=float, default=480.0, help="total seconds")
    parser.add_argument("--one", type=float, help=argparse.SUPPRESS)  # a single combination, and when it was started
    return parser.parse_args()


def make_loss(net, labels, options):
    """The objective of a fresh batch; `labels` are [N, H, W] uint8 on the device."""
    import torch
    import torch.nn.functional as F

    device, batch, c = labels.device, options.batch, net.labels
    corner = math.log(1 + c * (1 - EPS) / EPS)

    def loss():
        rows = torch.randint(labels.shape[0], (batch,), device=device)
        u = corner * (F.one_hot(labels[rows].long(), c).float() - 1 / c)  # [B, H, W, c]
        u_0 = torch.randn(u.shape, device=device)
        u_0 = u_0 - u_0.mean(-1, keepdim=True)
        t = torch.rand(batch, device=device)
        at = t[:, None, None, None]
        W = torch.softmax((1 - at) * u_0 + at * u, dim=-1)
        image = W.permute(0, 3, 1, 2)  # channels_last as it is
        if options.layouts == "contiguous":
            image = image.contiguous()
        with torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"):
            velocity = net(image, TIME_SCALE * t)
        x = velocity.float().permute(0, 2, 3, 1) - (u - u_0)
        mean = (W * x).sum(-1)
        return ((W * x * x).sum() - (mean * mean).sum()) / batch

    return loss


def make_step(net, labels, options):
    """A function that trains one step and returns the loss, a tensor on the device."""
    import torch

    compile_mode, captured = MODES[options.modes]
    adam = torch.optim.Adam(net.parameters(), lr=LR, fused=True, capturable=captured)
    parameters = list(net.parameters())
    average = [parameter.detach().clone() for parameter in parameters] if options.ema > 0 else []
    loss = make_loss(net, labels, options)
    if compile_mode:
        torch._dynamo.mark_static_address(labels)  # otherwise CUDA graphs would copy the data set every step
        loss = torch.compile(loss, mode=compile_mode, dynamic=False, fullgraph=True)

    def step():
        if compile_mode:
            torch.compiler.cudagraph_mark_step_begin()
        adam.zero_grad(set_to_none=True)
        value = loss()
        value.backward()
        adam.step()
        if average:
            with torch.no_grad():
                torch._foreach_lerp_(average, parameters, 1 - options.ema)
        return value.detach()

    return step


def peak_gib(device):
    import torch

    if device == "cuda":
        return torch.cuda.max_memory_reserved() / 2**30
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def timed(step, count, synchronize):
    synchronize()
    start = time.perf_counter()
    for _ in range(count):
        value = step()
    synchronize()
    return time.perf_counter() - start, value


def measure(options):
    """Measures one combination in this process."""
    import torch

    from unet_peer import NETS, UNet

    if options.threads:
        torch.set_num_threads(options.threads)
    torch.manual_seed(1)
    torch.backends.cudnn.benchmark = True
    torch.set_float32_matmul_precision("high" if options.device == "cuda" else "highest")
    device = torch.device(options.device)
    synchronize = torch.cuda.synchronize if options.device == "cuda" else lambda: None
    if MODES[options.modes][1] and options.device != "cuda":
        raise ValueError(f"{options.modes} captures a CUDA graph and needs --device cuda")

    shape = NETS[options.net]
    net = UNet(**shape, attention=options.attention).to(device)
    net.labels = shape["labels"]
    if options.layouts == "channels_last":
        net = net.to(memory_format=torch.channels_last)
    labels = torch.randint(shape["labels"], (ITEMS[options.net], shape["height"], shape["width"]), dtype=torch.uint8,
                           device=device)
    step = make_step(net, labels, options)
    first, _ = timed(step, 1, synchronize)
    timed(step, 2, synchronize)  # the second and third recompile and record graphs
    if MODES[options.modes][1]:
        step = capture(step)
        timed(step, 1, synchronize)
    ready = time.time() - options.one

    # Chunks of steps of about a tenth of a window, with a device synchronisation at the end of each.
    spent, chunk = 0.0, 1
    while spent < options.warmup:
        seconds, _ = timed(step, chunk, synchronize)
        spent += seconds
        chunk = max(1, min(2 * chunk, round(chunk * options.seconds / 10 / seconds)))
    rates, steps = [], 0
    for _ in range(options.windows):
        spent, count = 0.0, 0
        while spent < options.seconds:
            seconds, value = timed(step, chunk, synchronize)
            spent, count = spent + seconds, count + chunk
        rates.append(count * options.batch / spent)
        steps += count
    if not math.isfinite(value.item()):
        raise RuntimeError(f"the loss became {value.item()}")
    return {
        "samples_per_second": round(statistics.median(rates), 2), "min": round(min(rates), 2),
        "max": round(max(rates), 2), "windows": len(rates), "steps": steps,
        "first_step_s": round(first, 2), "start_to_training_s": round(ready, 2),
        "peak_gib": round(peak_gib(options.device), 2), "loss": round(value.item(), 2),
        "parameters": sum(parameter.numel() for parameter in net.parameters()), "torch": torch.__version__,
        "on": torch.cuda.get_device_name() if options.device == "cuda" else f"CPU, {torch.get_num_threads()} threads",
    }


def command(options, mode, attention, layout):
    arguments = [sys.executable, os.path.abspath(__file__), "--one", str(time.time())]
    for name in ("net", "batch", "device", "windows", "seconds", "warmup", "ema", "threads"):
        arguments += [f"--{name}", str(getattr(options, name))]
    return arguments + ["--modes", mode, "--attention", attention, "--layouts", layout]


def run_apart(options, mode, attention, layout, left):
    """Runs one combination in its own process; returns its figures, or its error."""
    if left < 1:
        return {"error": "no time left"}
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as caches:
        environment = {**os.environ, "TORCHINDUCTOR_CACHE_DIR": f"{caches}/inductor",
                       "TRITON_CACHE_DIR": f"{caches}/triton"}
        try:
            done = subprocess.run(command(options, mode, attention, layout), env=environment, timeout=left,
                                  stdout=subprocess.PIPE, text=True, check=False)
        except subprocess.TimeoutExpired:
            return {"error": f"stopped after {left:.0f} s: the budget of {options.budget:g} s is spent"}
    lines = done.stdout.strip().splitlines()
    if done.returncode != 0 or not lines:
        return {"error": f"exit {done.returncode}; see stderr"}
    return json.loads(lines[-1])


def main():
    options = parse()
    if options.one is not None:
        print(json.dumps(measure(options)), flush=True)
        return
    for mode in options.modes.split(","):
        if mode not in MODES:
            sys.exit(f"--modes: {mode} is not one of {', '.join(MODES)}")
    end = time.monotonic() + options.budget
    layouts = options.layouts or ("channels_last" if options.device == "cuda" else "contiguous")
    lists = (options.modes.split(","), options.attention.split(","), layouts.split(","))
    for mode, attention, layout in itertools.product(*lists):
        case = {"who": f"PyTorch {mode}", "case": f"train {options.net} UNet", "batch": options.batch,
                "attention": attention, "layout": layout, "ema": options.ema > 0}
        figures = run_apart(options, mode, attention, layout, end - time.monotonic())
        print(json.dumps({**case, **figures}), flush=True)


if __name__ == "__main__":
    main()
