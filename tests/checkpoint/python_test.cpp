// The `safetensors` package of Python opens our files and we open its.
#include <doctest/doctest.h>

#include <cstdlib>

#include "checkpoint/sample_state.hpp"
#include "checkpoint/store.hpp"
#include "temp_folder.hpp"

using namespace holdfast;
using namespace holdfast::checkpoint;

namespace {

const std::string kPython = HOLDFAST_PYTHON;

/// What a script prints; an empty text when it fails.
std::string run(const test::TempFolder& temp, const std::string& script) {
  test::write_text(temp / "script.py", script);
  const std::string command =
      "'" + kPython + "' '" + temp / "script.py" + "' '" + temp.path() + "' > '" + temp / "out" + "'";
  return std::system(command.c_str()) == 0 ? test::read_text(temp / "out") : "";
}

}  // namespace

TEST_CASE("Python's safetensors reads what we write, bit for bit, and we read what it writes") {
  if (kPython.empty()) {
    MESSAGE("skipped: configured without HOLDFAST_PYTHON (a Python that has safetensors and numpy)");
    return;
  }
  const test::TempFolder temp;
  test::SampleState state(11);
  write_safetensors(temp / "ours.safetensors", state.view().model);
  const std::string out = run(temp, R"py(
import sys
from safetensors.numpy import load_file, save_file
folder = sys.argv[1]
tensors = load_file(folder + "/ours.safetensors")
for name, t in sorted(tensors.items()):
    print(ascii(name), t.dtype, t.shape, t.tobytes().hex()[:8])
save_file(tensors, folder + "/theirs.safetensors", {"by": "python"})
)py");
  CHECK(out.find("'empty' float16 (0, 7) \n") != std::string::npos);
  CHECK(out.find("'fc1.weight' float32 (16, 4) ") != std::string::npos);
  CHECK(out.find("'gr\\xf6\\xdfe \\u65e5\\u672c \"quoted\"\\n' int64 () ") != std::string::npos);
  const Loaded theirs = read_safetensors(temp / "theirs.safetensors");
  CHECK(theirs.digest == read_safetensors(temp / "ours.safetensors").digest);
}
