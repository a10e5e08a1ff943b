"""The same network and data as a PyTorch script, for the time from process start to the first update."""
import gzip
import json
import sys
import time

import torch


def read_idx(path):
    raw = gzip.open(path).read()
    rank = raw[3]
    shape = [int.from_bytes(raw[4 + 4 * i : 8 + 4 * i], "big") for i in range(rank)]
    return torch.frombuffer(bytearray(raw[4 + 4 * rank :]), dtype=torch.uint8).view(shape)


images_path, labels_path, scale, hidden, batch, threads = sys.argv[1:]
torch.set_num_threads(int(threads))
images = read_idx(images_path).flatten(1).float().div_(float(scale))
labels = read_idx(labels_path).long()
layers, width = [], images.shape[1]
for size in map(int, hidden.split(",")):
    layers += [torch.nn.Linear(width, size), torch.nn.ReLU()]
    width = size
model = torch.nn.Sequential(*layers, torch.nn.Linear(width, 10))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
rows = torch.randperm(len(images))[: int(batch)]
torch.nn.functional.cross_entropy(model(images[rows]), labels[rows]).backward()
optimizer.step()
print(json.dumps({"first_update_at": time.clock_gettime(time.CLOCK_MONOTONIC)}))
