// Rules between keys, and the formats of single ones.
#include <doctest/doctest.h>

#include "spec/fake_catalog.hpp"

using namespace holdfast;
using namespace holdfast::spec;
using namespace holdfast::spec::testing;

namespace {

/// kHead with another line in place of "epochs = 3" (line 9).
std::string with_length(const std::string& line) {
  std::string text = kHead;
  return text.replace(text.find("epochs = 3\n"), 11, line);
}

}  // namespace

TEST_CASE("epochs or updates: exactly one") {
  CHECK(faults(with_length("epochs = 3\nupdates = 5\n")) ==
        "r.toml:10:11: error[recipe.conflict]: [train] takes one of 'epochs' and 'updates': got both\n"
        "  updates = 5\n            ^\n  hint: remove one of the two");
  CHECK(faults(with_length("")) ==
        "r.toml:8:1: error[recipe.missing_key]: [train] needs one of 'epochs' and 'updates': got neither\n"
        "  [train]\n  ^\n  hint: write for example epochs = 3");
}

TEST_CASE("what is missing is named with its table") {
  CHECK(faults("[run]\nseed = 1\n") ==
        "r.toml: error[recipe.missing_key]: [train] needs the key 'batch_size'\n"
        "  hint: Samples per optimizer update.\n"
        "r.toml: error[recipe.missing_table]: the table [model] is missing\n"
        "  hint: a recipe needs at least [model], [dataset.train] and [train]\n"
        "r.toml: error[recipe.missing_table]: the table [dataset.train] is missing\n"
        "  hint: a recipe needs at least [model], [dataset.train] and [train]\n"
        "r.toml: error[recipe.missing_key]: [train] needs one of 'epochs' and 'updates': got neither\n"
        "  hint: write for example epochs = 3");
  CHECK(faults(kHead + "[dataset.eval]\nshuffle = true\n") ==
        "r.toml:12:1: error[recipe.missing_key]: [dataset.eval] needs the key 'plugin'\n  [dataset.eval]\n  ^\n"
        "  hint: The data set plugin; its options stand beside this key.");
  CHECK(faults(kHead + "[strategy.accumulate]\n") ==
        "r.toml:12:1: error[recipe.missing_key]: [strategy.accumulate] needs the key 'micro_batch_size'\n"
        "  [strategy.accumulate]\n  ^\n  hint: Samples.");
}

TEST_CASE("a warm-up longer than the run is a fault") {
  CHECK(faults(with_length("updates = 100\n") + "[schedule]\nwarmup_updates = 101\n") ==
        "r.toml:13:18: error[recipe.conflict]: 'schedule.warmup_updates' must not be longer than the run: got 101, but "
        "train.updates = 100\n  warmup_updates = 101\n                   ^");
  CHECK(faults(with_length("updates = 100\n") + "[schedule]\nwarmup_updates = 100\n") == "no fault");
  CHECK(faults(kHead + "[schedule]\nwarmup_updates = 100000\n") == "no fault");
}

TEST_CASE("a key that the chosen optimizer or schedule does not read is a fault") {
  CHECK(faults(kHead + "[optimizer]\nmomentum = 0.9\n") ==
        "r.toml:13:12: error[recipe.conflict]: 'optimizer.momentum' is for sgd only: got optimizer.name = \"adamw\"\n"
        "  momentum = 0.9\n             ^\n  hint: remove momentum or change the name");
  CHECK(faults(kHead + "[optimizer]\nname = \"sgd\"\nbetas = [0.9, 0.99]\neps = 1e-6\n") ==
        "r.toml:14:9: error[recipe.conflict]: 'optimizer.betas' is for adamw only: got optimizer.name = \"sgd\"\n"
        "  betas = [0.9, 0.99]\n          ^\n  hint: remove betas or change the name\n"
        "r.toml:15:7: error[recipe.conflict]: 'optimizer.eps' is for adamw only: got optimizer.name = \"sgd\"\n"
        "  eps = 1e-6\n        ^\n  hint: remove eps or change the name");
  CHECK(faults(kHead + "[schedule]\nmin_lr = 1e-5\n") ==
        "r.toml:13:10: error[recipe.conflict]: 'schedule.min_lr' is for linear and cosine only: got schedule.name = "
        "\"constant\"\n  min_lr = 1e-5\n           ^\n  hint: remove min_lr or change the name");
}

TEST_CASE("the optimizer's numbers fit together") {
  CHECK(read(kHead + "[optimizer]\nname = \"sgd\"\n").optimizer.number("weight_decay") == 0.0);
  CHECK(faults(kHead + "[optimizer]\nbetas = [0.9]\n") ==
        "r.toml:13:9: error[recipe.out_of_range]: 'optimizer.betas' must have 2 items: got 1\n  betas = [0.9]\n"
        "          ^\n  hint: write for example betas = [0.9, 0.999]");
  CHECK(faults(kHead + "[optimizer]\nbetas = [0.9, 1]\n") ==
        "r.toml:13:15: error[recipe.out_of_range]: 'optimizer.betas[1]' must be at least 0 and below 1: got 1\n"
        "  betas = [0.9, 1]\n                ^");
  CHECK(faults(kHead + "[optimizer]\nname = \"sgd\"\nnesterov = true\n") ==
        "r.toml:14:12: error[recipe.conflict]: 'optimizer.nesterov' needs a momentum: got momentum = 0\n"
        "  nesterov = true\n             ^\n  hint: write for example momentum = 0.9");
  CHECK(faults(kHead + "[optimizer]\nlr = 0\n") ==
        "r.toml:13:6: error[recipe.out_of_range]: 'optimizer.lr' must be above 0 and at most 1000000: got 0\n"
        "  lr = 0\n       ^");
  CHECK(faults(kHead + "[schedule]\nname = \"cosine\"\nmin_lr = 0.1\n") ==
        "r.toml:14:10: error[recipe.conflict]: 'schedule.min_lr' must not be above optimizer.lr: got 0.1, but "
        "optimizer.lr = 0.001\n  min_lr = 0.1\n           ^");
}

TEST_CASE("early stopping needs an evaluation, a metric, a direction and a patience") {
  const std::string stop = "early_stop = { metric = \"eval.loss\", mode = \"min\", patience = 2 }\nepochs = 3\n";
  CHECK(faults(with_length(stop)) ==
        "r.toml:9:14: error[recipe.conflict]: 'train.early_stop' needs an evaluation: there is no [dataset.eval]\n"
        "  early_stop = { metric = \"eval.loss\", mode = \"min\", patience = 2 }\n               ^\n"
        "  hint: add [dataset.eval] or remove early_stop");
  const std::string eval = "[dataset.eval]\nplugin = \"mix\"\n";
  CHECK(read(with_length(stop) + eval).train.table("early_stop").string("metric") == "loss");
  CHECK(faults(with_length("early_stop = { metric = \"loss\", patience = 2 }\nepochs = 3\n") + eval) ==
        "r.toml:9:14: error[recipe.missing_key]: [train.early_stop] needs the key 'mode'\n"
        "  early_stop = { metric = \"loss\", patience = 2 }\n               ^\n  hint: Which way is better.");
  CHECK(faults(with_length("early_stop = { metric = \"\", mode = \"min\", patience = 2 }\nepochs = 3\n") + eval)
            .find("'train.early_stop.metric' names no metric: got \"\"") != std::string::npos);
  CHECK(faults(with_length("early_stop = 3\nepochs = 3\n") + eval) ==
        "r.toml:9:14: error[recipe.wrong_type]: 'train.early_stop' must be a table: got 3\n  early_stop = 3\n"
        "               ^");
}

TEST_CASE("a device is auto, cpu, cuda or cuda:N") {
  for (const std::string good : {"auto", "cpu", "cuda", "cuda:0", "cuda:15"})
    CHECK(read(kHead + "[run]\ndevice = \"" + good + "\"\n").run.string("device") == good);
  for (const std::string bad : {"gpu", "cuda:", "cuda:x", "cuda:-1", "cuda:99999", "CUDA", ""})
    CHECK(faults(kHead + "[run]\ndevice = \"" + bad + "\"\n") ==
          "r.toml:13:10: error[recipe.not_a_choice]: 'run.device' must be \"auto\", \"cpu\", \"cuda\" or \"cuda:N\": "
          "got \"" +
              bad + "\"\n  device = \"" + bad + "\"\n           ^");
}

TEST_CASE("a run's name is usable as a folder's name") {
  CHECK(read(kHead + "[run]\nname = \"gr\xC3\xB6\xC3\x9F"
                     "e 2\"\n")
            .run.string("name") ==
        "gr\xC3\xB6\xC3\x9F"
        "e 2");
  for (const std::string bad : {"", ".", "..", ".x", "a/b", " a", "a ", "a\\u0007", "a\\nb"})
    CHECK(faults(kHead + "[run]\nname = \"" + bad + "\"\n")
              .find("r.toml:13:8: error[recipe.bad_name]: 'run.name' must be usable as a folder's name: got ") == 0);
  CHECK(faults(kHead + "[run]\nname = \"a/b\"\n") ==
        "r.toml:13:8: error[recipe.bad_name]: 'run.name' must be usable as a folder's name: got \"a/b\"\n"
        "  name = \"a/b\"\n         ^\n"
        "  hint: 1 to 200 bytes without '/' and control characters, not beginning with '.' or a space");
}

TEST_CASE("what checkpoints cannot do yet is refused in words") {
  CHECK(faults(kHead + "[checkpoint]\nasync = true\nkeep_every = \"500 updates\"\n") == "no fault");
  CHECK(faults(kHead + "[checkpoint]\nkeep_every = \"1 epochs\"\n") ==
        "r.toml:13:14: error[recipe.not_built]: 'checkpoint.keep_every' counts updates; epochs and times are not yet "
        "built: got \"1 epoch\"\n  keep_every = \"1 epochs\"\n               ^\n"
        "  hint: write for example keep_every = \"1000 updates\"");
  CHECK(faults(kHead + "[checkpoint]\nbest = \"accuracy\"\n") ==
        "r.toml:13:8: error[recipe.bad_metric]: 'checkpoint.best' must be a metric and a direction: \"accuracy\" does "
        "not "
        "end in \":min\" or \":max\"\n  best = \"accuracy\"\n         ^\n"
        "  hint: write for example \"eval.loss:min\" or \"eval.accuracy:max\"");
}

TEST_CASE("C94: an address of the endpoint that cannot be one is refused at its place") {
  CHECK(faults(kHead + "[metrics]\nlisten = \"127.0.0.1:70000\"\n") ==
        "r.toml:13:10: error[recipe.bad_address]: 'metrics.listen' must be an address and a port: \"127.0.0.1:70000\" "
        "has "
        "a port above 65535\n  listen = \"127.0.0.1:70000\"\n           ^\n"
        "  hint: write for example \"127.0.0.1:9464\", \"[::1]:9464\", or \":9464\" for every address");
  CHECK(faults(kHead + "[metrics]\nlisten = \"\"\n").find("must be an address and a port: \"\" has no port") !=
        std::string::npos);
  CHECK(faults(kHead + "[metrics]\nlisten = \"[::1]:0\"\n") == "no fault");
}

TEST_CASE("sinks of metrics that cannot be are refused at their place") {
  CHECK(faults(kHead + "[metrics]\ntextfile = \"x\"\n") ==
        "r.toml:13:12: error[recipe.bad_textfile]: 'metrics.textfile' must end in .prom: got \"x\"\n  textfile = "
        "\"x\"\n             ^\n  hint: node_exporter reads only files of that ending; write for example textfile = "
        "\"/var/lib/prometheus/node-exporter/holdfast_mnist.prom\"");
  CHECK(faults(kHead + "[metrics]\npush = \"gateway:9091\"\n") ==
        "r.toml:13:8: error[recipe.bad_url]: 'metrics.push' must be the URL of a gateway: \"gateway:9091\" does not "
        "begin with http:// or https://\n  push = \"gateway:9091\"\n         ^\n  hint: write for example "
        "\"http://gateway:9091\"");
  const std::string secret = faults(kHead + "[metrics]\npush = \"http://me:s3cret@gateway\"\n");
  CHECK(secret.find("has a user name") != std::string::npos);
  CHECK(secret.find("hint: write USER:PASSWORD into a file and name it in metrics.password_file") != std::string::npos);
  CHECK(faults(kHead + "[metrics]\npassword_file = \"x\"\n") ==
        "r.toml:13:17: error[recipe.useless]: 'metrics.password_file' is for 'metrics.push', which is not given\n  "
        "password_file = \"x\"\n                  ^\n  hint: leave the key out, or give push the gateway's URL");
  CHECK(faults(kHead + "[metrics]\ntextfile = \"x.prom\"\npush = \"http://g:9091\"\npassword_file = \"p\"\n") ==
        "no fault");
}

TEST_CASE("algorithms chosen by their time are refused where equal runs must give equal bits") {
  CHECK(faults("[run]\ncudnn_benchmark = true\n" + kHead) ==
        "r.toml:2:19: error[recipe.conflict]: 'run.cudnn_benchmark' takes algorithms by their time, so equal runs may "
        "differ: got run.deterministic = true\n  cudnn_benchmark = true\n                    ^\n"
        "  hint: set deterministic = false, or remove cudnn_benchmark");
  CHECK(faults("[run]\ncudnn_benchmark = true\ndeterministic = false\n" + kHead) == "no fault");
}

TEST_CASE("the ladder holds only rungs that there are, each once") {
  CHECK(faults(kHead + "[memory]\non_oom = [\"offload_activations\", \"sav\", \"save\", \"save\"]\n") ==
        "r.toml:13:10: error[recipe.not_a_choice]: 'memory.on_oom' holds no such rung: got \"sav\"; did you mean "
        "\"save\"?\n"
        "  on_oom = [\"offload_activations\", \"sav\", \"save\", \"save\"]\n           ^\n"
        "  hint: there are \"retry\", \"halve_micro_batch\", \"recompute\", \"offload_activations\", "
        "\"offload_optimizer\", \"save\"\n"
        "r.toml:13:10: error[recipe.conflict]: 'memory.on_oom' names the rung \"save\" twice\n"
        "  on_oom = [\"offload_activations\", \"sav\", \"save\", \"save\"]\n           ^");
}
