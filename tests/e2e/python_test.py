"""A checkpoint in Python: opened with the safetensors package, the same network in PyTorch gives the same numbers."""

import collections
import math
import subprocess

from harness import BUILD, CONVNET, GPT, Case, DIGITS, main, read_idx

try:
    import safetensors.torch
    import torch

    MISSING = ""
except ImportError as error:
    MISSING = f"{error.name} cannot be imported"


def digits(part):
    """Images and labels of the bundled digits, as the recipe reads them."""
    shape, pixels = read_idx(DIGITS / f"{part}-images-idx3-ubyte.gz")
    _, labels = read_idx(DIGITS / f"{part}-labels-idx1-ubyte.gz")
    images = torch.frombuffer(bytearray(pixels), dtype=torch.uint8).reshape(shape).float() / 16
    return images, torch.frombuffer(bytearray(labels), dtype=torch.uint8).long()


class TorchCase(Case):
    def setUp(self):
        super().setUp()
        if MISSING:
            self.skipTest(MISSING)

    def probe(self, recipe, weights):
        """Logits of the eval set as holdfast computes them."""
        subprocess.run([BUILD / "tests/e2e/logits_probe", recipe, weights, self.folder / "logits.safetensors"], check=True,
                       env=self.environment())
        (logits,) = safetensors.torch.load_file(self.folder / "logits.safetensors").values()
        return logits


def convnet(weights):
    """The harness's convnet as one would write it in PyTorch, with the weights of a checkpoint."""
    nn = torch.nn

    def block(into, out):
        names = {"conv": nn.Conv2d(into, out, 3, padding="same", bias=False), "norm": nn.BatchNorm2d(out),
                 "relu": nn.ReLU(), "pool": nn.MaxPool2d(2)}
        return nn.Sequential(collections.OrderedDict(names))

    net = nn.ModuleDict({"block": nn.Sequential(block(1, 8), block(8, 16)),
                         "head": nn.Sequential(nn.Linear(16 * 2 * 2, 10))})
    net.load_state_dict(weights)  # every name and shape, in both directions
    net.forward = lambda images: net["head"](net["block"](images.unsqueeze(1)).flatten(1))
    return net


class Convnet(TorchCase):
    def test_the_same_convnet_in_pytorch_gives_the_same_logits_loss_and_accuracy(self):
        recipe = self.recipe(model=CONVNET, target="updates = 100", eval_every="100 updates")
        self.holdfast("run", recipe)
        home = self.folder / "runs/digits"
        weights = home / "current/checkpoints/latest/model.safetensors"
        images, labels = digits("test")
        logits = convnet(safetensors.torch.load_file(weights)).eval()(images)
        self.assertLessEqual((self.probe(recipe, weights) - logits).abs().max().item(), 1e-5)
        scores = self.status(home)["scores"]
        self.assertAlmostEqual(torch.nn.functional.cross_entropy(logits, labels).item(), scores["loss"], delta=1e-5)
        self.assertEqual((logits.argmax(1) == labels).float().mean().item(), torch.tensor(scores["accuracy"]).item())

    def test_an_update_in_pytorch_moves_weights_and_running_statistics_alike(self):
        recipe = self.recipe(model=CONVNET, target="updates = 2", eval_every="2 updates",
                             more='[hook.periodic_checkpoint]\nevery = "1 updates"')
        text = recipe.read_text().replace("lr = 2e-3", 'name = "sgd"\nlr = 0.5').replace('"cosine"', '"constant"')
        recipe.write_text(text.replace("[dataset.train]", "[dataset.train]\nshuffle = false"))
        self.holdfast("run", recipe)
        saved = self.folder / "runs/digits/current/checkpoints"
        before, after = (safetensors.torch.load_file(saved / f"update-{n:09}/model.safetensors") for n in (1, 2))
        net = convnet(before).train()
        images, labels = digits("train")
        torch.nn.functional.cross_entropy(net(images[32:64]), labels[32:64]).backward()
        torch.optim.SGD(net.parameters(), lr=0.5).step()
        for name, value in net.state_dict().items():
            self.assertFalse(torch.equal(before[name], after[name]), name)
            self.assertLessEqual((value - after[name]).abs().max().item(), 1e-5, name)


def gpt(weights, context, heads):
    """The harness's gpt as one would write it in PyTorch, with the weights of a checkpoint."""
    nn = torch.nn
    vocabulary, width = weights["token.weight"].shape

    class Attention(nn.Module):
        def __init__(self):
            super().__init__()
            self.qkv, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.register_buffer("mask", torch.ones(context, context).tril().bool(), persistent=False)

        def forward(self, x):
            n, t, c = x.shape
            q, k, v = (part.view(n, t, heads, c // heads).transpose(1, 2) for part in self.qkv(x).split(width, dim=2))
            scores = (q @ k.transpose(2, 3) / (c // heads) ** 0.5).masked_fill(~self.mask[:t, :t], float("-inf"))
            return self.proj((scores.softmax(3) @ v).transpose(1, 2).reshape(n, t, c))

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm1, self.attention, self.norm2 = nn.LayerNorm(width), Attention(), nn.LayerNorm(width)
            layers = {"fc1": nn.Linear(width, 4 * width), "gelu": nn.GELU(approximate="tanh"), "fc2": nn.Linear(4 * width, width)}
            self.mlp = nn.Sequential(collections.OrderedDict(layers))

        def forward(self, x):
            x = x + self.attention(self.norm1(x))
            return x + self.mlp(self.norm2(x))

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.token, self.position = nn.Embedding(vocabulary, width), nn.Embedding(context, width)
            depth = 1 + max(int(name.split(".")[1]) for name in weights if name.startswith("block."))
            self.block, self.norm = nn.Sequential(*(Block() for _ in range(depth))), nn.LayerNorm(width)

        def forward(self, tokens):
            x = self.token(tokens) + self.position(torch.arange(tokens.shape[1]))
            return nn.functional.linear(self.norm(self.block(x)), self.token.weight)

    net = Net()
    net.load_state_dict(weights)  # every name and shape, in both directions
    return net


class Gpt(TorchCase):
    CONTEXT, HEADS = 16, 4

    def windows(self, part):
        """Inputs and targets of a part of the harness's text: its last tenth is eval."""
        text = torch.tensor(list((self.folder / "words.txt").read_bytes()))
        cut = len(text) - int(len(text) * 0.1 + 0.5)
        text = text[:cut] if part == "train" else text[cut:]
        count = (len(text) - 1) // self.CONTEXT
        shape = (count, self.CONTEXT)
        return text[: count * self.CONTEXT].view(shape), text[1 : count * self.CONTEXT + 1].view(shape)

    def loss(self, net, inputs, targets):
        return torch.nn.functional.cross_entropy(net(inputs).flatten(0, 1), targets.flatten())

    def test_the_same_gpt_in_pytorch_gives_the_same_logits_loss_and_perplexity(self):
        recipe = self.recipe(model=GPT, tables=self.text_tables(), dropout=0.1, target="updates = 100", eval_every="100 updates")
        self.holdfast("run", recipe)
        home = self.folder / "runs/digits"
        weights = home / "current/checkpoints/latest/model.safetensors"
        net = gpt(safetensors.torch.load_file(weights), self.CONTEXT, self.HEADS).eval()
        inputs, targets = self.windows("eval")
        with torch.no_grad():
            logits, loss = net(inputs), self.loss(net, inputs, targets).item()
        ours = self.probe(recipe, weights)
        self.assertEqual(ours.shape, logits.shape)
        self.assertGreater(logits.std().item(), 0.5)  # it learned something, so that the comparison means something
        self.assertLessEqual((ours - logits).abs().max().item(), 1e-5)
        scores = self.status(home)["scores"]
        self.assertAlmostEqual(loss, scores["loss"], delta=1e-5)
        self.assertAlmostEqual(math.exp(loss), scores["perplexity"], delta=1e-4)

    def test_the_gradients_in_pytorch_are_those_of_holdfast(self):
        """With plain SGD and lr 1, an update subtracts the gradient."""
        recipe = self.recipe(model=GPT, tables=self.text_tables(), target="updates = 2", eval_every="2 updates",
                             more='[hook.periodic_checkpoint]\nevery = "1 updates"')
        text = recipe.read_text().replace("lr = 2e-3", 'name = "sgd"\nlr = 1.0').replace('"cosine"', '"constant"')
        recipe.write_text(text.replace("[dataset.train]", "[dataset.train]\nshuffle = false"))
        self.holdfast("run", recipe)
        saved = self.folder / "runs/digits/current/checkpoints"
        before, after = (safetensors.torch.load_file(saved / f"update-{n:09}/model.safetensors") for n in (1, 2))
        net = gpt(before, self.CONTEXT, self.HEADS)
        inputs, targets = self.windows("train")
        self.loss(net, inputs[32:64], targets[32:64]).backward()
        for name, parameter in net.named_parameters():
            ours = before[name] - after[name]
            self.assertGreater(ours.abs().max().item(), 1e-5, name)
            self.assertLessEqual((parameter.grad - ours).abs().max().item(), 1e-5, name)


class Mlp(TorchCase):
    def logits(self, weights):
        """The mlp of the recipe: linear layers with ReLU between them, in the order of their names."""
        x = digits("test")[0].flatten(1)
        layers = sorted(name[: -len(".weight")] for name in weights if name.endswith(".weight"))
        for number, layer in enumerate(layers):
            x = torch.nn.functional.linear(x, weights[layer + ".weight"], weights[layer + ".bias"])
            if number + 1 < len(layers):
                x = torch.relu(x)
        return x

    def test_the_same_mlp_in_pytorch_gives_the_same_logits(self):
        recipe = self.recipe(target="updates = 100", eval_every="100 updates")
        self.holdfast("run", recipe)
        weights = self.folder / "runs/digits/current/checkpoints/latest/model.safetensors"
        ours = self.probe(recipe, weights)
        self.assertEqual(tuple(ours.shape), (300, 10))
        self.assertLessEqual((ours - self.logits(safetensors.torch.load_file(weights))).abs().max().item(), 1e-5)

    def test_loss_and_accuracy_in_pytorch_are_those_of_holdfast(self):
        self.holdfast("run", self.recipe(target="updates = 100", eval_every="100 updates"))
        home = self.folder / "runs/digits"
        scores = self.status(home)["scores"]
        _, target = digits("test")
        for path in (home / "current/checkpoints/latest/model.safetensors", home / "current/model.safetensors"):
            logits = self.logits(safetensors.torch.load_file(path))
            loss = torch.nn.functional.cross_entropy(logits, target).item()
            self.assertAlmostEqual(loss, scores["loss"], delta=1e-5)
            self.assertEqual((logits.argmax(1) == target).float().mean().item(), torch.tensor(scores["accuracy"]).item())

    def test_optimizer_state_opens_too(self):
        self.holdfast("run", self.recipe(target="updates = 3"))
        newest = self.folder / "runs/digits/current/checkpoints/latest"
        state = safetensors.torch.load_file(newest / "optimizer.safetensors")
        self.assertTrue(state)
        self.assertTrue(all(torch.isfinite(tensor.float()).all() for tensor in state.values()))


if __name__ == "__main__":
    main()
