"""Weights that both sides start from, as a safetensors file. Parameters stand first, in the order of the bare nets."""
import array
import json
import random


def linear(name, out, width, bias=True):
    """What nn.Linear and nn.Conv2d draw: uniform by fan-in."""
    spread = width ** -0.5
    yield f"{name}.weight", [out, width], spread
    if bias:
        yield f"{name}.bias", [out], spread


def norm(name, width):
    yield f"{name}.weight", [width], 1
    yield f"{name}.bias", [width], 0


def mlp(work):
    for layer, (width, out) in enumerate(zip(work.widths, work.widths[1:])):
        yield from linear(str(2 * layer), out, width)


def convnet(work):
    width, side = 1, 28
    for block, out in enumerate(work.model["channels"]):
        yield f"block.{block}.conv.weight", [out, width, 3, 3], (9 * width) ** -0.5
        yield from norm(f"block.{block}.norm", out)
        width, side = out, side // 2
    width *= side * side
    for layer, out in enumerate([*work.model["hidden"], 10]):
        yield from linear(f"head.{layer}", out, width)
        width = out


def gpt(work):
    width, context = work.model["width"], work.data["context"]
    yield "token.weight", [256, width], 0.03
    yield "position.weight", [context, width], 0.03
    for block in (f"block.{i}" for i in range(work.model["depth"])):
        yield from norm(f"{block}.norm1", width)
        yield from linear(f"{block}.attention.qkv", 3 * width, width)
        yield from linear(f"{block}.attention.proj", width, width)
        yield from norm(f"{block}.norm2", width)
        yield from linear(f"{block}.mlp.fc1", 4 * width, width)
        yield from linear(f"{block}.mlp.fc2", width, 4 * width)
    yield from norm("norm", width)
    yield from linear("head", 256, width, bias=False)


def buffers(work):
    """Running statistics as BatchNorm begins with; the bare net has them of itself."""
    for block, out in enumerate(work.model.get("channels", [])):
        yield f"block.{block}.norm.running_mean", "F32", [out], array.array("f", [0] * out).tobytes()
        yield f"block.{block}.norm.running_var", "F32", [out], array.array("f", [1] * out).tobytes()
        yield f"block.{block}.norm.num_batches_tracked", "I64", [], bytes(8)


def first_weights(folder, work):
    """The path of the file; written once. A spread of 0 or 1 stands for that value, any other for a uniform range."""
    path = folder / f"first-{work.name}.safetensors"
    if path.exists():
        return str(path)
    noise, header, body = random.Random(2), {}, b""

    def add(name, dtype, shape, raw):
        nonlocal body
        header[name] = dict(dtype=dtype, shape=shape, data_offsets=[len(body), len(body) + len(raw)])
        body += raw

    for name, shape, spread in dict(mlp=mlp, convnet=convnet, gpt=gpt)[work.net](work):
        count = 1
        for size in shape:
            count *= size
        draw = [float(spread)] * count if spread in (0, 1) else [noise.uniform(-spread, spread) for _ in range(count)]
        add(name, "F32", shape, array.array("f", draw).tobytes())
    for name, dtype, shape, raw in buffers(work):
        add(name, dtype, shape, raw)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(len(text).to_bytes(8, "little") + text + body)
    return str(path)
