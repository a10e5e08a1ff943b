"""A checkpoint in Python: opened with the safetensors package, the same mlp in PyTorch gives the same logits."""

import subprocess

from harness import BUILD, Case, DIGITS, main, read_idx

try:
    import safetensors.torch
    import torch

    MISSING = ""
except ImportError as error:
    MISSING = f"{error.name} cannot be imported"


class Python(Case):
    def setUp(self):
        super().setUp()
        if MISSING:
            self.skipTest(MISSING)

    def logits(self, weights):
        """The mlp of the recipe: linear layers with ReLU between them, in the order of their names."""
        shape, pixels = read_idx(DIGITS / "test-images-idx3-ubyte.gz")
        x = torch.frombuffer(bytearray(pixels), dtype=torch.uint8).reshape(shape[0], -1).float() / 16
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
        subprocess.run([BUILD / "tests/e2e/logits_probe", recipe, weights, self.folder / "logits.safetensors"], check=True,
                       env=self.environment())
        (ours,) = safetensors.torch.load_file(self.folder / "logits.safetensors").values()
        self.assertEqual(tuple(ours.shape), (300, 10))
        self.assertLessEqual((ours - self.logits(safetensors.torch.load_file(weights))).abs().max().item(), 1e-5)

    def test_loss_and_accuracy_in_pytorch_are_those_of_holdfast(self):
        self.holdfast("run", self.recipe(target="updates = 100", eval_every="100 updates"))
        home = self.folder / "runs/digits"
        scores = self.status(home)["scores"]
        _, labels = read_idx(DIGITS / "test-labels-idx1-ubyte.gz")
        target = torch.frombuffer(bytearray(labels), dtype=torch.uint8).long()
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
