// Seeded mutations of header and manifest: an Error with code 66 or a sound result, nothing else. Worth most under
// ASan.
#include <doctest/doctest.h>

#include <random>

#include "checkpoint/digest.hpp"
#include "checkpoint/json.hpp"
#include "checkpoint/manifest.hpp"
#include "checkpoint/safetensors.hpp"
#include "checkpoint/sample_state.hpp"
#include "holdfast/error.hpp"

using namespace holdfast;
using namespace holdfast::checkpoint;

namespace {

/// One to four random edits: flip, overwrite, insert, erase, duplicate a piece, drop in a dangerous word.
std::string mutated(std::string text, std::mt19937& random) {
  static const std::vector<std::string> kWords = {"{",
                                                  "}",
                                                  "[",
                                                  "]",
                                                  "\"",
                                                  ",",
                                                  ":",
                                                  "-1",
                                                  "0",
                                                  "18446744073709551615",
                                                  "9223372036854775807",
                                                  "1e9",
                                                  "null",
                                                  "\\",
                                                  "true",
                                                  "\0",
                                                  "\xff",
                                                  "\"\"",
                                                  "{}",
                                                  "[[[[[[",
                                                  "\"dtype\":",
                                                  "\"data_offsets\":[0,8]"};
  const auto at = [&] { return text.empty() ? 0 : random() % text.size(); };
  for (unsigned edits = 1 + random() % 4; edits > 0; --edits) {
    const std::size_t place = at();
    switch (random() % 6) {
      case 0:
        if (!text.empty()) text[place] = static_cast<char>(text[place] ^ (1 << (random() % 8)));
        break;
      case 1:
        if (!text.empty()) text[place] = static_cast<char>(random());
        break;
      case 2:
        text.insert(place, 1, static_cast<char>(random()));
        break;
      case 3:
        text.erase(place, 1 + random() % 8);
        break;
      case 4:
        text.insert(place, text.substr(at(), random() % 40));
        break;
      default:
        text.insert(place, kWords[random() % kWords.size()]);
    }
  }
  return text;
}

/// True when `call` succeeds, false when it refuses with 66; anything else fails the test.
template <class F>
bool accepted(F&& call) {
  try {
    call();
    return true;
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::kMissingInput);
    CHECK(!error.message().empty());
    return false;
  }
}

}  // namespace

TEST_CASE("mutated safetensors headers are refused, or describe tensors that tile the data exactly") {
  test::SampleState state(1);
  std::vector<const base::TensorView*> order;
  const std::string header = compose_header(state.view().model, order).substr(8);
  std::uint64_t size = 0;
  for (const auto* tensor : order) size += tensor->bytes.size();
  std::mt19937 random(1);
  int taken = 0, refused = 0;
  for (int i = 0; i < 20'000; ++i) {
    const std::string text = mutated(header, random);
    const bool ok = accepted([&] {
      std::uint64_t covered = 0;
      for (const HeaderTensor& tensor : parse_header(text, size, "x")) {
        CHECK(tensor.begin == covered);
        covered = tensor.end;
      }
      CHECK(covered == size);
    });
    ++(ok ? taken : refused);
  }
  CHECK(refused > 10'000);
  CHECK(taken > 100);  // mutated names and spaces
}

TEST_CASE("mutated manifests are refused; with a fitting hash they are refused or read by their fields") {
  Manifest manifest;
  manifest.run_id = test::kRunId;
  manifest.counters = {5, 1, 320};
  manifest.digest = std::string(32, 'a');
  for (WrittenFile& file : manifest.files) file = {100, std::string(32, 'b')};
  const std::string whole = render_manifest(manifest);
  CHECK(parse_manifest(whole, "x").counters.samples_seen == 320);
  const std::size_t trailer = whole.find("  \"manifest_xxh3_128\"");
  std::mt19937 random(2);
  int taken = 0;
  for (int i = 0; i < 20'000; ++i) {
    const std::string bare = mutated(whole, random);
    if (bare != whole) CHECK(!accepted([&] { (void)parse_manifest(bare, "x"); }));
    const std::string head = mutated(whole.substr(0, trailer), random);
    const std::string closed = head + "  \"manifest_xxh3_128\": \"" + hash_of(head) + "\"\n}\n";
    std::int64_t update = 0;
    if (accepted([&] { update = parse_manifest(closed, "x").counters.update; })) ++taken;
    CHECK(update >= 0);
  }
  CHECK(taken > 100);
}

TEST_CASE("mutated JSON is refused or parsed, whatever its depth") {
  std::mt19937 random(3);
  const std::string json = R"({"progress":{"a":[1,2.5,{"b":"c"}],"d":null},"identity":{},"extra":{"x":true}})";
  for (int i = 0; i < 20'000; ++i) {
    const std::string text = mutated(json, random);
    bool object = true;
    (void)accepted([&] { object = foreign_json(text, "x").is_object(); });
    CHECK(object);
  }
  for (const char* open : {"[", "{\"a\":", "[{\"a\":"}) {
    std::string deep = "{\"x\":";
    for (int i = 0; i < 200'000; ++i) deep += open;
    CHECK(!accepted([&] { (void)foreign_json(deep, "x"); }));
  }
}
