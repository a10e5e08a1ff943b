"""Plants one violation of each kind in a small tree and sees the layering check name it, and nothing else."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

import layering

CLEAN = {
    "runner/sdk/include/holdfast/error.hpp": "#include <string>\n",
    "runner/sdk/include/holdfast/tensor.hpp": "#include <ATen/core/Tensor.h>\n",
    "runner/sdk/include/holdfast/model.hpp": '#include "holdfast/tensor.hpp"\n',
    "runner/base/log.cpp": "#include <spdlog/spdlog.h>\n",
    "runner/spec/reader.cpp": '#include <toml++/toml.h>\n#include "base/text.hpp"\n#include "holdfast/error.hpp"\n',
    "runner/host/loader.cpp": "#include <boost/dll/shared_library.hpp>\n",
    "runner/telemetry/endpoint.cpp": "#include <microhttpd.h>\n#include <prometheus/registry.h>\n",
    "runner/device/budget.cpp": "#include <c10/core/CPUAllocator.h>\n#include <torch/csrc/autograd/engine.h>\n",
    "runner/engine/step.cpp": '#include <torch/torch.h>\n#include "plan/settings.hpp"\n#include "holdfast/model.hpp"\n',
    "runner/app/front/main.cpp": '#include "spec/reader.hpp"\nauto home = std::getenv("HOME");\n',
    "runner/app/worker/main.cpp": '#include "engine/step.hpp"\n#include "host/loader.hpp"\n',
    "plugins/mlp/mlp.cpp": '#include <torch/torch.h>\n#include "holdfast/model.hpp"\n#include "layers.hpp"\n',
    "plugins/mlp/layers.hpp": "// calls getenv() no more\nconst char* text = \"getenv(\";\n",
    "tests/base/log_test.cpp": '#include "spec/reader.hpp"\n',
}


def faults_with(planted):
    with tempfile.TemporaryDirectory() as folder:
        for name, text in (CLEAN | planted).items():
            path = pathlib.Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return list(layering.faults(folder))


class Layering(unittest.TestCase):
    def expect(self, name, text, *sentences):
        self.assertEqual(faults_with({name: text}), list(sentences))

    def test_a_clean_tree_has_no_violation(self):
        self.assertEqual(faults_with({}), [])

    def test_siblings_do_not_include_each_other(self):
        self.expect("runner/spec/a.cpp", '\n#include "plan/settings.hpp"\n',
                    "runner/spec/a.cpp:2: includes 'plan/settings.hpp': the arrow from spec to plan is not drawn; "
                    "spec may include sdk, base")

    def test_arrows_do_not_point_up(self):
        self.expect("runner/base/a.hpp", '#include "spec/recipe.hpp"\n',
                    "runner/base/a.hpp:1: includes 'spec/recipe.hpp': the arrow from base to spec is not drawn; "
                    "base may include sdk")
        self.expect("runner/sdk/include/holdfast/a.hpp", '#include "base/text.hpp"\n',
                    "runner/sdk/include/holdfast/a.hpp:1: includes 'base/text.hpp': the arrow from sdk to base is not "
                    "drawn; sdk may include sdk")

    def test_the_engine_includes_only_what_is_drawn(self):
        self.expect("runner/engine/a.cpp", '#include "checkpoint/store.hpp"\n',
                    "runner/engine/a.cpp:1: includes 'checkpoint/store.hpp': the arrow from engine to checkpoint is not "
                    "drawn; engine may include sdk, base, data, device, optim, plan")

    def test_a_plugin_sees_only_the_sdk(self):
        self.expect("plugins/mlp/a.cpp", '#include "engine/step.hpp"\n',
                    "plugins/mlp/a.cpp:1: includes 'engine/step.hpp': a plugin sees only the SDK (holdfast/...)")

    def test_no_include_climbs(self):
        self.expect("runner/spec/a.cpp", '#include "../plan/settings.hpp"\n',
                    "runner/spec/a.cpp:1: includes '../plan/settings.hpp': write the path from runner/ instead of "
                    "climbing with '..'")

    def test_each_third_party_has_one_owner(self):
        for header, sentence in {
            "toml++/toml.h": "toml++ belongs to runner/spec alone",
            "boost/dll.hpp": "Boost.DLL belongs to runner/host alone",
            "spdlog/spdlog.h": "spdlog belongs to runner/base/log.cpp alone",
            "prometheus/counter.h": "prometheus-cpp belongs to runner/telemetry alone",
            "microhttpd.h": "libmicrohttpd belongs to runner/telemetry alone",
            "curl/curl.h": "libcurl belongs to (runner/telemetry|plugins/preemption_notice) alone",
            "CLI/CLI.hpp": "CLI11 belongs to runner/app alone",
            "c10/core/Allocator.h": "an allocator or CUDA header belongs to runner/device alone",
            "c10/cuda/CUDACachingAllocator.h": "an allocator or CUDA header belongs to runner/device alone",
            "cuda_runtime.h": "an allocator or CUDA header belongs to runner/device alone",
            "torch/csrc/autograd/engine.h": "an autograd-engine header belongs to runner/device alone",
        }.items():
            with self.subTest(header):
                self.expect("runner/engine/a.cpp", f"#include <{header}>\n",
                            f"runner/engine/a.cpp:1: includes '{header}': {sentence}")

    def test_spdlog_is_for_one_file(self):
        self.expect("runner/base/other.cpp", "#include <spdlog/fmt/fmt.h>\n",
                    "runner/base/other.cpp:1: includes 'spdlog/fmt/fmt.h': spdlog belongs to runner/base/log.cpp alone")

    def test_the_torch_free_half_includes_no_torch(self):
        self.expect("runner/checkpoint/a.cpp", "#include <ATen/ATen.h>\n",
                    "runner/checkpoint/a.cpp:1: includes 'ATen/ATen.h': checkpoint is free of LibTorch")
        self.expect("runner/app/front/a.cpp", "#include <torch/version.h>\n",
                    "runner/app/front/a.cpp:1: includes 'torch/version.h': app/front is free of LibTorch")
        self.expect("runner/app/front/a.cpp", '#include "engine/step.hpp"\n',
                    "runner/app/front/a.cpp:1: includes 'engine/step.hpp': app/front is free of LibTorch")

    def test_the_pools_of_device_include_no_torch_either(self):
        self.expect("runner/device/pool.cpp", '#include <c10/core/Device.h>\n',
                    "runner/device/pool.cpp:1: includes 'c10/core/Device.h': runner/device/pool.cpp is free of LibTorch")
        self.expect("runner/device/arena.hpp", '#include "device/pages.hpp"\n#include "device/device.hpp"\n',
                    "runner/device/arena.hpp:2: includes 'device/device.hpp', which may reach LibTorch: "
                    "runner/device/arena.hpp is free of LibTorch")

    def test_the_torch_free_half_reaches_no_torch_through_the_sdk(self):
        self.expect("runner/data/a.cpp", '#include "holdfast/model.hpp"\n',
                    "runner/data/a.cpp:1: includes 'holdfast/model.hpp', which reaches LibTorch: data is free of LibTorch")

    def test_no_header_includes_the_whole_of_torch(self):
        self.expect("runner/engine/a.hpp", "#  include <torch/torch.h>\n",
                    "runner/engine/a.hpp:1: includes 'torch/torch.h': it costs half a minute a file; no header may, "
                    "include what is used")

    def test_the_environment_is_read_in_app_alone(self):
        for call in ('std::getenv("HOME")', 'secure_getenv ("HOME")'):
            self.expect("runner/base/a.cpp", f"\nauto home = {call};\n",
                        "runner/base/a.cpp:2: calls getenv: the environment is read in runner/app alone and handed down")

    def test_a_file_has_at_most_350_lines(self):
        self.expect("runner/spec/a.cpp", "\n" * 350)
        self.expect("tests/spec/a.cpp", "\n" * 351, "tests/spec/a.cpp: has 351 lines; split it, 350 is the limit")

    def test_a_name_says_what_the_file_holds(self):
        self.expect("runner/base/string_utils.cpp", "",
                    "runner/base/string_utils.cpp: 'utils' says nothing; name the thing that 'string_utils.cpp' holds")
        self.expect("runner/common/a.hpp", "",
                    "runner/common/a.hpp: 'common' says nothing; name the thing that 'common' holds")
        self.expect("runner/spec/commonplace.cpp", "")

    def test_the_command_says_how_many_and_fails(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "runner/spec/a.cpp")
            path.parent.mkdir(parents=True)
            for text, code, last in (("", 0, "layering: 1 files read, 0 violations"),
                                     ('#include "host/x.hpp"\n', 1, "layering: 1 files read, 1 violations")):
                path.write_text(text)
                done = subprocess.run([sys.executable, layering.__file__, folder], capture_output=True, text=True, check=False)
                self.assertEqual((done.returncode, done.stdout.splitlines()[-1]), (code, last))


if __name__ == "__main__":
    unittest.main()
