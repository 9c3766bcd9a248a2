"""The model: a small llama. Rotary pairs are interleaved (2i, 2i+1), as the llama
architecture of GGUF has them, so the exported weights need no permutation."""

import math

import torch
import torch.nn.functional as F

SHAPE = dict(vocab=2048, width=192, layers=6, heads=6, kv_heads=2, head_dim=32, ffn=512, context=2048,
             eps=1e-5, rope_base=10000.0)


class RMSNorm(torch.autograd.Function):
    """One pass forward, one back: autograd's own chain would write seven temporaries a row."""

    @staticmethod
    def forward(ctx, x, gain, eps):
        scale = torch.rsqrt(torch.mean(x * x, dim=-1, keepdim=True) + eps)
        unit = x * scale
        ctx.save_for_backward(unit, scale, gain)
        return unit * gain

    @staticmethod
    def backward(ctx, grad):
        unit, scale, gain = ctx.saved_tensors
        grad_gain = (grad * unit).sum(dim=tuple(range(grad.dim() - 1)))
        inner = grad * gain
        grad_x = (inner - unit * (inner * unit).mean(dim=-1, keepdim=True)) * scale
        return grad_x, grad_gain, None


class GatedSiLU(torch.autograd.Function):
    """silu(gate) * up over the two halves of one product."""

    @staticmethod
    def forward(ctx, both):
        gate, up = both.chunk(2, dim=-1)
        sig = torch.sigmoid(gate)
        ctx.save_for_backward(both, sig)
        return gate * sig * up

    @staticmethod
    def backward(ctx, grad):
        both, sig = ctx.saved_tensors
        gate, up = both.chunk(2, dim=-1)
        out = torch.empty_like(both)
        act = gate * sig
        torch.mul(grad, act, out=out[..., up.shape[-1]:])
        slope = sig + act * (1 - sig)
        torch.mul(grad * up, slope, out=out[..., :up.shape[-1]])
        return out


def rotary(shape, length):
    half = shape["head_dim"] // 2
    freq = shape["rope_base"] ** (-torch.arange(half, dtype=torch.float64) / half)
    angle = torch.arange(length, dtype=torch.float64)[:, None] * freq[None, :]
    return torch.cos(angle).float(), torch.sin(angle).float()


class Rotate(torch.autograd.Function):
    """x: (batch, time, heads, head_dim). The gradient of a rotation is the rotation back."""

    @staticmethod
    def turn(x, cos, sin):
        out = torch.empty_like(x)
        a, b = x[..., 0::2], x[..., 1::2]
        out[..., 0::2] = a * cos - b * sin
        out[..., 1::2] = a * sin + b * cos
        return out

    @staticmethod
    def forward(ctx, x, cos, sin):
        ctx.save_for_backward(cos, sin)
        return Rotate.turn(x, cos, sin)

    @staticmethod
    def backward(ctx, grad):
        cos, sin = ctx.saved_tensors
        return Rotate.turn(grad, cos, -sin), None, None


class Llama(torch.nn.Module):
    def __init__(self, shape=SHAPE):
        super().__init__()
        self.shape = s = dict(shape)
        width, inner = s["width"], s["heads"] * s["head_dim"]
        kv = s["kv_heads"] * s["head_dim"]

        def matrix(rows, cols, std):
            return torch.nn.Parameter(torch.randn(rows, cols) * std)

        std, out_std = width ** -0.5 * 0.5, width ** -0.5 * 0.5 / math.sqrt(2 * s["layers"])
        self.embed = matrix(s["vocab"], width, 0.02)
        self.blocks = torch.nn.ModuleList()
        for _ in range(s["layers"]):
            b = torch.nn.Module()
            b.attn_norm = torch.nn.Parameter(torch.ones(width))
            b.q, b.k, b.v = matrix(inner, width, std), matrix(kv, width, std), matrix(kv, width, std)
            b.o = matrix(width, inner, out_std)
            b.ffn_norm = torch.nn.Parameter(torch.ones(width))
            b.gate, b.up = matrix(s["ffn"], width, std), matrix(s["ffn"], width, std)
            b.down = matrix(width, s["ffn"], out_std)
            self.blocks.append(b)
        self.norm = torch.nn.Parameter(torch.ones(width))
        cos, sin = rotary(s, s["context"])
        self.register_buffer("cos", cos, persistent=False)
        self.register_buffer("sin", sin, persistent=False)

    def hidden(self, ids, cache=None, start=0):
        """ids (batch, time) -> rows before the output product. cache: a list of (k, v) per block, extended in place."""
        s = self.shape
        batch, time = ids.shape
        heads, kv, dim = s["heads"], s["kv_heads"], s["head_dim"]
        group = heads // kv
        cos = self.cos[start:start + time, None, :]
        sin = self.sin[start:start + time, None, :]
        mask = None
        if time > 1:
            mask = torch.full((time, start + time), float("-inf")).triu(start + 1)
            mask = mask.repeat(group, 1)
        x = F.embedding(ids, self.embed)
        for n, b in enumerate(self.blocks):
            h = RMSNorm.apply(x, b.attn_norm, s["eps"])
            qkv = F.linear(h, torch.cat((b.q * dim ** -0.5, b.k, b.v)))
            qk, v = qkv.split(((heads + kv) * dim, kv * dim), dim=-1)
            qk = Rotate.apply(qk.reshape(batch, time, heads + kv, dim), cos, sin)
            q, k = qk.split((heads, kv), dim=2)
            # Query heads that share a KV head are stacked along time: one product per KV head, nothing repeated.
            q = q.reshape(batch, time, kv, group, dim).permute(0, 2, 3, 1, 4).reshape(batch, kv, group * time, dim)
            k = k.transpose(1, 2)
            v = v.reshape(batch, time, kv, dim).transpose(1, 2)
            if cache is not None:
                if cache[n] is not None:
                    k, v = torch.cat((cache[n][0], k), 2), torch.cat((cache[n][1], v), 2)
                cache[n] = (k, v)
            score = q @ k.transpose(2, 3)
            if mask is not None:
                score = score + mask
            out = torch.softmax(score, dim=-1) @ v
            out = out.reshape(batch, kv, group, time, dim).permute(0, 3, 1, 2, 4).reshape(batch, time, heads * dim)
            x = x + F.linear(out, b.o)
            h = RMSNorm.apply(x, b.ffn_norm, s["eps"])
            x = x + F.linear(GatedSiLU.apply(F.linear(h, torch.cat((b.gate, b.up)))), b.down)
        return RMSNorm.apply(x, self.norm, s["eps"])

    def logits(self, ids, cache=None, start=0):
        return F.linear(self.hidden(ids, cache, start), self.embed)

    def loss(self, ids, targets, weights):
        """Weighted sum of cross entropies where weights > 0; the output product is computed for those rows alone."""
        rows = self.hidden(ids).reshape(-1, self.shape["width"])
        keep = (weights.reshape(-1) > 0).nonzero().squeeze(1)
        each = F.cross_entropy(F.linear(rows[keep], self.embed), targets.reshape(-1)[keep], reduction="none")
        return each @ weights.reshape(-1)[keep]
