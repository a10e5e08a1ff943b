#!/usr/bin/env python3
"""The peer of activation.py: the same gpt in PyTorch with torch.utils.checkpoint around every block but the last.

activation_peer.py DEPTH WIDTH HEADS CONTEXT BATCH UPDATES THREADS CHECKPOINT prints seconds an update and the activation
peak in bytes: live storages, seen by a dispatch mode, minus weights, moments and gradients.
"""
import json
import sys
import time
import weakref

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.checkpoint import checkpoint

DEPTH, WIDTH, HEADS, CONTEXT, BATCH, UPDATES, THREADS, CHECKPOINT = map(int, sys.argv[1:])
VOCABULARY = 256


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.proj = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.fc1, self.fc2 = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        n, t, _ = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(n, t, 3, HEADS, WIDTH // HEADS).permute(2, 0, 3, 1, 4).unbind(0)
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.proj(mixed.transpose(1, 2).reshape(n, t, WIDTH))
        return x + self.fc2(F.gelu(self.fc1(self.norm2(x)), approximate="tanh"))


class Gpt(nn.Module):
    def __init__(self):
        super().__init__()
        self.token, self.position = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(CONTEXT, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(DEPTH))
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, VOCABULARY, bias=False)

    def forward(self, tokens):
        x = self.token(tokens) + self.position.weight[: tokens.shape[1]]
        for number, block in enumerate(self.blocks):
            traded = CHECKPOINT and number + 1 < DEPTH
            x = checkpoint(block, x, use_reentrant=False) if traded else block(x)
        return self.head(self.norm(x))


class Live(TorchDispatchMode):
    """Bytes of the storages that operations made and that are alive."""

    def __init__(self):
        super().__init__()
        self.seen, self.now, self.peak = set(), 0, 0

    def freed(self, key, size):
        self.seen.discard(key)
        self.now -= size

    def __torch_dispatch__(self, function, types, arguments=(), keywords=None):
        result = function(*arguments, **(keywords or {}))
        for tensor in result if isinstance(result, (tuple, list)) else (result,):
            if isinstance(tensor, torch.Tensor):
                storage = tensor.untyped_storage()
                if storage._cdata not in self.seen:
                    self.seen.add(storage._cdata)
                    self.now += storage.nbytes()
                    weakref.finalize(storage, self.freed, storage._cdata, storage.nbytes())
                    self.peak = max(self.peak, self.now)
        return result


def main():
    torch.set_num_threads(THREADS)
    torch.manual_seed(0)
    model = Gpt()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    tokens = torch.randint(VOCABULARY, (UPDATES, BATCH, CONTEXT + 1))

    def backward(number):
        logits = model(tokens[number, :, :-1])
        F.cross_entropy(logits.flatten(0, 1), tokens[number, :, 1:].flatten(), reduction="sum").backward()

    backward(0)  # gradients exist from here on
    weights = {p.untyped_storage()._cdata for p in model.parameters()} | {p.grad.untyped_storage()._cdata for p in model.parameters()}
    live = Live()
    live.seen |= weights
    with live:
        backward(1)
    began = None
    for number in range(UPDATES):
        backward(number)
        optimizer.step()
        optimizer.zero_grad(set_to_none=False)
        began = began or time.monotonic()
    print(json.dumps(dict(seconds=(time.monotonic() - began) / (UPDATES - 1), activation=live.peak)))


main()
