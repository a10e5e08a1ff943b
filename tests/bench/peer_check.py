"""Trains the model of the peers with their optimizer, from given weights and in file order; prints the last loss.

Runs in the peers' Python. Shows that both sides do the same arithmetic; takes no time.
"""
import json
import sys

folder, weights_path, scale, updates = sys.argv[1:]
sys.path.insert(0, folder)
import models  # noqa: E402  (the peers' own)
import torch  # noqa: E402


def read_weights(path):
    raw = open(path, "rb").read()
    size = int.from_bytes(raw[:8], "little")
    found = {}
    for name, entry in json.loads(raw[8 : 8 + size]).items():
        begin, end = (8 + size + offset for offset in entry["data_offsets"])
        found[name] = torch.frombuffer(bytearray(raw[begin:end]), dtype=torch.float32).view(entry["shape"])
    return found


torch.set_num_threads(1)
model = models.make_model("mlp")
model.load_state_dict(read_weights(weights_path))
optimizer, batch = models.make_opt("mlp", model.parameters()), models.batch_size("mlp")
images = torch.from_numpy(models.idx("train-images-idx3-ubyte", 16)).float().div_(float(scale)).view(-1, 784)
labels = torch.from_numpy(models.idx("train-labels-idx1-ubyte", 8)).long()
for update in range(int(updates)):
    at = update % (len(images) // batch) * batch
    optimizer.zero_grad()
    loss = models.loss_fn(model(images[at : at + batch]), labels[at : at + batch])
    loss.backward()
    optimizer.step()
print(json.dumps({"last_loss": loss.item()}))
