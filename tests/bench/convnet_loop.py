#!/usr/bin/env python3
"""The convnet of configs/mnist-convnet.toml as a plain PyTorch loop over preloaded tensors. Started by convnet.py.

Reads its settings as one JSON object from standard input and prints one: the seconds between the ends of the updates
`begin` and `end`, and the last loss. With `init`, a safetensors file of first weights, batches come in file order.
"""
import json
import sys
import time

import numpy
import torch
from torch import nn

settings = json.load(sys.stdin)
torch.set_num_threads(settings["threads"])
torch.manual_seed(7)


class Block(nn.Module):
    def __init__(self, width, out):
        super().__init__()
        self.conv, self.norm = nn.Conv2d(width, out, 3, padding=1, bias=False), nn.BatchNorm2d(out)

    def forward(self, x):
        return nn.functional.max_pool2d(torch.relu(self.norm(self.conv(x))), 2)


class Convnet(nn.Module):
    def __init__(self, channels, hidden, dropout):
        super().__init__()
        widths = [1, *channels]
        self.block = nn.ModuleList(Block(*pair) for pair in zip(widths, widths[1:]))
        widths = [channels[-1] * (28 >> len(channels)) ** 2, *hidden, 10]
        self.head = nn.ModuleList(nn.Linear(*pair) for pair in zip(widths, widths[1:]))
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        for block in self.block:
            x = block(x)
        x = x.flatten(1)
        for number, layer in enumerate(self.head):
            x = layer(self.dropout(torch.relu(x) if number else x))
        return x


def read_idx(path, offset):
    return torch.from_numpy(numpy.fromfile(path, dtype=numpy.uint8)[offset:].copy())


def read_weights(path):
    raw = open(path, "rb").read()
    size = int.from_bytes(raw[:8], "little")
    kinds, found = dict(F32=torch.float32, I64=torch.int64), {}
    for name, entry in json.loads(raw[8 : 8 + size]).items():
        begin, end = (8 + size + offset for offset in entry["data_offsets"])
        found[name] = torch.frombuffer(bytearray(raw[begin:end]), dtype=kinds[entry["dtype"]]).view(entry["shape"])
    return found


images = read_idx(settings["images"], 16).float().div_(settings["scale"]).view(-1, 1, 28, 28)
labels = read_idx(settings["labels"], 8).long()
model = Convnet(settings["channels"], settings["hidden"], settings["dropout"])
if settings["init"]:
    model.load_state_dict(read_weights(settings["init"]))
groups = [dict(params=[p for p in model.parameters() if p.dim() > 1], weight_decay=settings["weight_decay"]),
          dict(params=[p for p in model.parameters() if p.dim() <= 1], weight_decay=0.0)]
optimizer = torch.optim.AdamW(groups, lr=settings["lr"])
batch, clock = settings["batch"], {}
for update in range(settings["updates"]):
    place = update % (len(images) // batch) * batch
    if place == 0:
        order = torch.arange(len(images)) if settings["init"] else torch.randperm(len(images))
    chosen = order[place : place + batch]
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(images.index_select(0, chosen)), labels.index_select(0, chosen))
    loss.backward()
    optimizer.step()
    last = loss.item()
    clock[update + 1] = time.perf_counter()
print(json.dumps(dict(seconds=clock[settings["end"]] - clock[settings["begin"]], last_loss=last)))
