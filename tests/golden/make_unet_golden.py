"""Golden tensors of the UNet: a safetensors file with weights, an input, the output and gradients, which
tests/net/unet_golden_test.cpp reproduces. Needs PyTorch and NumPy, nothing else.

    python tests/golden/make_unet_golden.py                  writes unet_tiny.safetensors beside this script
    python tests/golden/make_unet_golden.py --check FILE...  compares bench/unet_peer.py with such files instead

Contents: state.NAME (every parameter), input.W [B, c, H, W], input.t [B], probe and output as input.W, grad.W and
grad.NAME: the gradients of sum(output * probe). Metadata are strings; attention_downsampling [2] is attention where
the image has half its height. Everything but the time embedding, which is float32 by definition, is computed in
float64 and rounded once, so a reader's error is its own.

The weights repeat a table of TABLE normal numbers, none of them zero, so every gradient flows and git compresses them
to a thirtieth. TABLE is prime, so no two rows of a weight are alike. Gradients do not compress: every small
parameter has its own in the file, and of the large ones one of each kind. A group of one channel loses what is
constant in it, so the level of 32 channels hides its biases and the time; their gradients are zero and are left out,
and the level of 64 channels is there to show them.
"""
import argparse
import json
import pathlib
import struct
import sys

import numpy as np
import torch

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent / "bench"))
from unet_peer import UNet  # noqa: E402

SEED = 20240607
TIME_SCALE = 1000
GRADIENTS_UP_TO = 2048  # elements
ONE_OF_EACH_KIND = ("time_embed.0.weight", "input_blocks.1.0.in_layers.2.weight", "input_blocks.2.0.op.weight",
                    "input_blocks.3.0.emb_layers.1.weight", "input_blocks.3.1.qkv.weight")
TABLE = 509
METADATA = {
    "height": "8", "width": "16", "channels_in_out": "3", "base_channels": "32", "res_blocks": "1",
    "channel_mult": "[1, 2]", "attention_downsampling": "[2]", "heads": "2", "time_scale": str(TIME_SCALE),
    "note": "output = UNet(input.W, 1000 * input.t); grad.W = d sum(output * probe) / d input.W; grad.* of parameters "
            "likewise; made by tests/golden/make_unet_golden.py",
}


def read_safetensors(path):
    """(metadata, {name: float32 tensor}) of a file that holds nothing but F32."""
    contents = pathlib.Path(path).read_bytes()
    (length,) = struct.unpack("<Q", contents[:8])
    header, data = json.loads(contents[8:8 + length]), contents[8 + length:]
    metadata, tensors = header.pop("__metadata__"), {}
    for name, entry in header.items():
        if entry["dtype"] != "F32":
            raise ValueError(f"{path}: {name} is {entry['dtype']}, F32 was expected")
        begin, end = entry["data_offsets"]
        array = np.frombuffer(data[begin:end], dtype="<f4").reshape(entry["shape"])
        tensors[name] = torch.from_numpy(array.copy())
    return metadata, tensors


def write_safetensors(path, metadata, tensors):
    header, offset = {"__metadata__": metadata}, 0
    for name, tensor in tensors.items():
        size = 4 * tensor.numel()
        header[name] = {"dtype": "F32", "shape": list(tensor.shape), "data_offsets": [offset, offset + size]}
        offset += size
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as out:
        out.write(struct.pack("<Q", len(text)) + text)
        for tensor in tensors.values():
            out.write(tensor.detach().float().contiguous().numpy().astype("<f4").tobytes())


def network(metadata):
    height = int(metadata["height"])
    return UNet(height=height, width=int(metadata["width"]), labels=int(metadata["channels_in_out"]),
                channels=int(metadata["base_channels"]), channel_mult=tuple(json.loads(metadata["channel_mult"])),
                res_blocks=int(metadata["res_blocks"]),
                attention_at=tuple(height // k for k in json.loads(metadata["attention_downsampling"])),
                heads=int(metadata["heads"]))


def run(net, W, t, probe, time_scale):
    """The output, and the gradients of sum(output * probe) as {"grad.W": ..., "grad.NAME": ...}."""
    W = W.clone().requires_grad_()
    output = net(W, time_scale * t)
    names = [name for name, _ in net.named_parameters()]
    gradients = torch.autograd.grad((output * probe).sum(), [W, *net.parameters()])
    return output, dict(zip([f"grad.{name}" for name in ["W", *names]], gradients))


def fill(net):
    """Seeded weights, standard deviation 1/sqrt(fan in); scale vectors of the norms are about one."""
    table = np.random.default_rng(SEED).standard_normal(TABLE)
    place = 0
    for name, parameter in net.named_parameters():
        values = table[(place + np.arange(parameter.numel())) % TABLE].reshape(tuple(parameter.shape))
        place += 17  # each parameter starts elsewhere
        if parameter.dim() > 1:
            values = values / np.sqrt(parameter[0].numel())
        else:
            values = 0.25 * values + (1.0 if name.endswith("weight") else 0.0)
        parameter.data = torch.from_numpy(values).to(parameter.dtype)


def make(path):
    net = network(METADATA)
    fill(net)
    state = {f"state.{name}": parameter.detach().clone() for name, parameter in net.named_parameters()}
    random = np.random.default_rng(SEED + 1)
    shape = (2, int(METADATA["channels_in_out"]), int(METADATA["height"]), int(METADATA["width"]))
    W = torch.softmax(torch.from_numpy(random.standard_normal(shape)), dim=1).float()
    probe = torch.from_numpy(random.standard_normal(shape)).float()
    t = torch.tensor([0.15, 0.85])
    net.double()
    # The product with the time scale is float32 too, as it is when a network is used.
    output, gradients = run(net, W.double(), TIME_SCALE * t, probe.double(), 1)
    kept = {name: value for name, value in gradients.items()
            if (value.numel() <= GRADIENTS_UP_TO or name.removeprefix("grad.") in ONE_OF_EACH_KIND)
            and value.abs().max() > 1e-6}  # the others are zero up to rounding
    write_safetensors(path, METADATA,
                      {**state, "input.W": W, "input.t": t, "probe": probe, "output": output, **kept})


def check(path):
    """Prints the largest error of the output and of each stored gradient, relative to its largest value."""
    metadata, tensors = read_safetensors(path)
    net = network(metadata)
    net.load_state_dict({name.removeprefix("state."): value for name, value in tensors.items()
                         if name.startswith("state.")})  # strict: names and shapes are the public ones
    output, gradients = run(net, tensors["input.W"], tensors["input.t"], tensors["probe"],
                            float(metadata["time_scale"]))
    for name, found in {"output": output, **gradients}.items():
        if name in tensors:
            wanted = tensors[name]
            error = ((found - wanted).abs().max() / wanted.abs().max()).item()
            print(f"{path}: {name}: largest relative error {error:.2e} (largest value {wanted.abs().max():.3g})")


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--check", nargs="+", metavar="FILE")
    options = arguments.parse_args()
    for path in options.check or []:
        check(path)
    if not options.check:
        make(HERE / "unet_tiny.safetensors")


if __name__ == "__main__":
    main()
