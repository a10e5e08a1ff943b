"""The installed package, without compiling anything: what lies where, and the sentences of a find_package that fails.

package_test.py CMAKE BUILD_FOLDER TORCH_VERSION. Building with the package is the plugin template's test.
"""

import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

CMAKE, BUILD, VERSION = sys.argv[1:4]

PROJECT = """cmake_minimum_required(VERSION 3.25)
project(consumer LANGUAGES NONE)
find_package(holdfast REQUIRED COMPONENTS {component})
"""


class Package(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        self.prefix = self.folder / "prefix"
        subprocess.run([CMAKE, "--install", BUILD, "--component", "sdk", "--prefix", self.prefix], check=True, capture_output=True)

    def torch(self, version):
        """A LibTorch package that holds nothing but its version."""
        package = self.folder / "torch/share/cmake/Torch"
        package.mkdir(parents=True)
        (package / "TorchConfig.cmake").write_text("set(TORCH_INCLUDE_DIRS)\nset(TORCH_LIBRARIES)\n")
        (package / "TorchConfigVersion.cmake").write_text(f'set(PACKAGE_VERSION "{version}")\nset(PACKAGE_VERSION_COMPATIBLE TRUE)\n')
        return self.folder / "torch"

    def forget_own_torch(self):
        config = self.prefix / "lib/cmake/holdfast/holdfastConfig.cmake"
        text = re.sub(r'HINTS "[^"]*"', 'HINTS "" NO_DEFAULT_PATH', config.read_text())
        config.write_text(re.sub(r"from \S+, and no", "from /gone, and no", text))

    def configure(self, component="sdk", torch=""):
        """Exit code and output of CMake, its line breaks undone."""
        source = self.folder / "consumer"
        source.mkdir()
        (source / "CMakeLists.txt").write_text(PROJECT.format(component=component))
        done = subprocess.run([CMAKE, "-S", source, "-B", source / "build", f"-DCMAKE_PREFIX_PATH={self.prefix};{torch}"],
                              capture_output=True, text=True, check=False)
        return done.returncode, " ".join((done.stdout + done.stderr).split())

    def test_headers_and_cmake_files_lie_where_a_plugin_looks(self):
        for name in ("include/holdfast/plugin.hpp", "include/holdfast/model.hpp", "lib/cmake/holdfast/holdfastConfig.cmake",
                     "lib/cmake/holdfast/holdfastConfigVersion.cmake", "lib/cmake/holdfast/holdfastTargets.cmake",
                     "lib/cmake/holdfast/holdfast_plugin.cmake"):
            self.assertTrue((self.prefix / name).is_file(), name)

    def test_the_same_libtorch_is_accepted(self):
        code, output = self.configure(torch=self.torch(VERSION))
        self.assertEqual(code, 0, output)

    def test_another_libtorch_is_refused_with_both_versions(self):
        torch = self.torch("2.12.1")
        code, output = self.configure(torch=torch)
        self.assertEqual(code, 1)
        self.assertIn(f"holdfast was built with LibTorch {VERSION}, but LibTorch 2.12.1 was found in "
                      f"{torch}/share/cmake/Torch; add the folder of LibTorch {VERSION} to CMAKE_PREFIX_PATH, or build "
                      "holdfast with 2.12.1", output)

    def test_no_libtorch_says_which_one_is_needed(self):
        self.forget_own_torch()
        code, output = self.configure()
        self.assertEqual(code, 1)
        self.assertIn(f"holdfast was built with LibTorch {VERSION} from /gone, and no LibTorch was found; add the folder of "
                      f"LibTorch {VERSION} to CMAKE_PREFIX_PATH", output)

    def test_an_unknown_component_is_named(self):
        code, output = self.configure(component="engine")
        self.assertEqual(code, 1)
        self.assertIn("holdfast has no component 'engine'; there is one, 'sdk'", output)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
