#!/usr/bin/env python3
"""What PyTorch's fused AdamW and, where it is installed, DeepSpeed's CPU Adam take for one step over the same parameters.

    optimizer_peers.py [millions of parameters, 67] [threads, 2]

Prints one JSON object of milliseconds, the median of nine rounds after two to warm up. Started by optimizer.py.
"""
import json
import statistics
import sys
import time

import torch

ROUNDS, TENSORS = 9, 16


def parameters(total):
    rows = max(1, total // TENSORS // 1024)
    made = [torch.nn.Parameter(torch.randn(rows, 1024) * 0.02) for _ in range(TENSORS)]
    for parameter in made:
        parameter.grad = torch.randn(rows, 1024)
    return made


def milliseconds(optimizer):
    taken = []
    for _ in range(ROUNDS + 2):
        began = time.perf_counter()
        optimizer.step()
        taken.append(1e3 * (time.perf_counter() - began))
    return statistics.median(taken[2:])


def main(total, threads):
    torch.set_num_threads(threads)
    found = {"PyTorch fused AdamW": milliseconds(torch.optim.AdamW(parameters(total), lr=1e-3, fused=True))}
    try:
        from deepspeed.ops.adam import DeepSpeedCPUAdam
    except ImportError:
        pass
    else:
        found["DeepSpeed CPU Adam"] = milliseconds(DeepSpeedCPUAdam(parameters(total), lr=1e-3))
    print(json.dumps(found))


if __name__ == "__main__":
    words = sys.argv[1:]
    main(int(words[0] if words else 67) * 1_000_000, int(words[1] if len(words) > 1 else 2))
