"""The UNet of Dhariwal and Nichol ("Diffusion Models Beat GANs on Image Synthesis", 2021) in plain PyTorch:
segre's network is timed against it (bench/train_unet_peer.py), and it made the golden file
(tests/golden/make_unet_golden.py).

Parameter names and shapes are those of the public implementation with its defaults: convolutions for down- and
upsampling, no scale-shift norm, no residual resampling, queries, keys and values of a head side by side.

    python bench/unet_peer.py          prints hyper-parameters and number of parameters of each network in NETS
"""
import math

import torch
import torch.nn.functional as F
from torch import nn

# The paper's networks. `attention_at` lists image heights, as in the training scripts of the public implementation.
NETS = {
    "mnist": dict(height=32, width=32, labels=2, channels=32, channel_mult=(1, 2, 2, 2), res_blocks=2,
                  attention_at=(16,), heads=4),
    "cityscapes": dict(height=128, width=256, labels=8, channels=64, channel_mult=(1, 1, 2, 3, 4), res_blocks=3,
                       attention_at=(32, 16, 8), heads=4),
    # Not from the paper: small enough to try the benchmark itself on a CPU.
    "tiny": dict(height=8, width=16, labels=3, channels=32, channel_mult=(1, 1), res_blocks=1, attention_at=(4,),
                 heads=4),
}
GROUPS = 32
LONGEST_PERIOD = 10_000


def time_embedding(t, size):
    """Cosines and sines [B, size] of t [B]. Always in float32: with t up to 1000 the rounding of the angle matters."""
    half = size // 2
    frequencies = torch.exp(-math.log(LONGEST_PERIOD) * torch.arange(half, dtype=torch.float32, device=t.device) / half)
    angle = t[:, None].float() * frequencies
    return torch.cat([torch.cos(angle), torch.sin(angle)], dim=1)


def zeroed(layer):
    """The layer with all parameters zero: residual branches and the output start at zero."""
    for parameter in layer.parameters():
        nn.init.zeros_(parameter)
    return layer


def conv3(inputs, outputs, stride=1):
    return nn.Conv2d(inputs, outputs, 3, stride=stride, padding=1)


class ResBlock(nn.Module):
    def __init__(self, inputs, outputs, embedding):
        super().__init__()
        self.in_layers = nn.Sequential(nn.GroupNorm(GROUPS, inputs), nn.SiLU(), conv3(inputs, outputs))
        self.emb_layers = nn.Sequential(nn.SiLU(), nn.Linear(embedding, outputs))
        self.out_layers = nn.Sequential(nn.GroupNorm(GROUPS, outputs), nn.SiLU(), nn.Dropout(0.0),
                                        zeroed(conv3(outputs, outputs)))
        self.skip_connection = nn.Identity() if inputs == outputs else nn.Conv2d(inputs, outputs, 1)

    def forward(self, x, embedding):
        h = self.in_layers(x) + self.emb_layers(embedding)[:, :, None, None]
        return self.skip_connection(x) + self.out_layers(h)


class Attention(nn.Module):
    def __init__(self, channels, heads, kind):
        super().__init__()
        self.heads, self.kind = heads, kind
        self.norm = nn.GroupNorm(GROUPS, channels)
        self.qkv = nn.Conv1d(channels, 3 * channels, 1)
        self.proj_out = zeroed(nn.Conv1d(channels, channels, 1))

    def forward(self, x, _embedding):
        batch, channels, height, width = x.shape
        tokens, per_head = height * width, channels // self.heads
        flat = x.reshape(batch, channels, tokens)
        qkv = self.qkv(self.norm(flat)).reshape(batch, self.heads, 3, per_head, tokens)
        q, k, v = qkv.unbind(2)  # [B, heads, per_head, tokens] each
        if self.kind == "sdpa":
            q, k, v = (part.transpose(2, 3) for part in (q, k, v))
            h = F.scaled_dot_product_attention(q, k, v).transpose(2, 3)
        else:
            scale = per_head**-0.25  # on both factors, so that low precision does not overflow
            weight = torch.einsum("bhct,bhcs->bhts", q * scale, k * scale)
            weight = torch.softmax(weight.float(), dim=-1).type(weight.dtype)
            h = torch.einsum("bhts,bhcs->bhct", weight, v)
        h = self.proj_out(h.reshape(batch, channels, tokens))
        return (flat + h).reshape(batch, channels, height, width)


class Downsample(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.op = conv3(channels, channels, stride=2)

    def forward(self, x, _embedding):
        return self.op(x)


class Upsample(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.conv = conv3(channels, channels)

    def forward(self, x, _embedding):
        return self.conv(F.interpolate(x, scale_factor=2, mode="nearest"))


class Block(nn.Sequential):
    """Layers in sequence, each given the time embedding."""

    def forward(self, x, embedding):
        for layer in self:
            x = layer(x) if isinstance(layer, nn.Conv2d) else layer(x, embedding)
        return x


class UNet(nn.Module):
    """Maps [B, labels, height, width] and times [B] (0 to 1000) to [B, labels, height, width]. `attention` is "plain",
    which materialises the scores as the public implementation does, or "sdpa", PyTorch's fused attention."""

    def __init__(self, height, width, labels, channels, channel_mult, res_blocks, attention_at, heads,
                 attention="plain"):
        super().__init__()
        shrink = 2 ** (len(channel_mult) - 1)
        if height % shrink or width % shrink:
            raise ValueError(f"{height}x{width} cannot be halved {len(channel_mult) - 1} times")
        self.channels = channels
        embedding = 4 * channels
        self.time_embed = nn.Sequential(nn.Linear(channels, embedding), nn.SiLU(), nn.Linear(embedding, embedding))

        def res_block(inputs, outputs, at):
            layers = [ResBlock(inputs, outputs, embedding)]
            return layers + [Attention(outputs, heads, attention)] if at in attention_at else layers

        width_now = channels * channel_mult[0]
        self.input_blocks = nn.ModuleList([Block(conv3(labels, width_now))])
        skips = [width_now]
        for level, mult in enumerate(channel_mult):
            for _ in range(res_blocks):
                self.input_blocks.append(Block(*res_block(width_now, channels * mult, height >> level)))
                width_now = channels * mult
                skips.append(width_now)
            if level + 1 < len(channel_mult):
                self.input_blocks.append(Block(Downsample(width_now)))
                skips.append(width_now)

        self.middle_block = Block(ResBlock(width_now, width_now, embedding), Attention(width_now, heads, attention),
                                  ResBlock(width_now, width_now, embedding))

        self.output_blocks = nn.ModuleList()
        for level, mult in reversed(list(enumerate(channel_mult))):
            for number in range(res_blocks + 1):
                layers = res_block(width_now + skips.pop(), channels * mult, height >> level)
                width_now = channels * mult
                if level > 0 and number == res_blocks:
                    layers.append(Upsample(width_now))
                self.output_blocks.append(Block(*layers))
        self.out = nn.Sequential(nn.GroupNorm(GROUPS, width_now), nn.SiLU(), zeroed(conv3(width_now, labels)))

    def forward(self, W, t):
        embedding = self.time_embed(time_embedding(t, self.channels).to(self.time_embed[0].weight.dtype))
        h, skips = W, []
        for block in self.input_blocks:
            h = block(h, embedding)
            skips.append(h)
        h = self.middle_block(h, embedding)
        for block in self.output_blocks:
            h = block(torch.cat([h, skips.pop()], dim=1), embedding)
        return self.out(h)


if __name__ == "__main__":
    for name, options in NETS.items():
        with torch.device("meta"):
            count = sum(parameter.numel() for parameter in UNet(**options).parameters())
        print(f"{name}: {count:,} parameters", options)
