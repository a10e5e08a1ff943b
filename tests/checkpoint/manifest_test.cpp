// The manifest: format gate, unknown, missing and mistyped fields.
#include <doctest/doctest.h>

#include <string>

#include "checkpoint/digest.hpp"
#include "checkpoint/store.hpp"
#include "checkpoint/store_fixture.hpp"
#include "holdfast/error.hpp"
#include "temp_folder.hpp"

using namespace holdfast;
using namespace holdfast::checkpoint;
using test::error_text;
using test::Names;
using test::StoreFixture;

namespace {

/// Changes the manifest's text and closes it with a fitting hash again.
void edit_manifest(const std::string& path, const std::string& from, const std::string& to) {
  std::string text = test::read_text(path);
  const std::size_t trailer = text.find("  \"manifest_xxh3_128\"");
  text.resize(trailer);
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  text.replace(at, from.size(), to);
  test::write_text(path, text + "  \"manifest_xxh3_128\": \"" + hash_of(text) + "\"\n}\n");
}

constexpr const char* kDamageHint =
    "\n  hint: the checkpoint is damaged: use another one (--resume CHECKPOINT) or restore it from a copy";

}  // namespace

TEST_CASE("C43: a newer format is refused with both numbers, and no older checkpoint is taken in its place silently") {
  StoreFixture f;
  f.save(1);
  f.save(2);
  const std::string manifest = f.at("update-000000002/manifest.json");
  edit_manifest(manifest, "\"format_version\": 1", "\"format_version\": 2");
  CHECK(error_text<Error>([&] { (void)Store::load(f.at("update-000000002")); }) ==
        manifest +
            ": error[checkpoint.version]: the checkpoint has format version 2, this holdfast reads up to version "
            "1\n  hint: use the holdfast that wrote it, or a newer one");
  CHECK(error_text<Error>([&] { (void)f.newest(); }) ==
        manifest +
            ": error[checkpoint.version]: the checkpoint has format version 2, this holdfast reads up to version "
            "1\n  hint: use the holdfast that wrote it, or a newer one");
}

TEST_CASE("C43: an unknown field is ignored with a note, a missing or mistyped one is named") {
  StoreFixture f;
  f.save(2);
  const std::string manifest = f.at("update-000000002/manifest.json");
  edit_manifest(manifest, "\"attempt\": 1", "\"attempt\": 1,\n  \"shiny\": true");
  CHECK(f.newest()->counters.update == 2);
  CHECK(f.told == Names{manifest + ": unknown field \"shiny\" ignored"});
  const auto told = [&](const std::string& from, const std::string& to) {
    f.save(2);
    edit_manifest(manifest, from, to);
    return error_text<Error>([&] { (void)Store::load(f.at("update-000000002")); });
  };
  const auto refusal = [&](const std::string& what) {
    return manifest + ": error[checkpoint.manifest]: " + what + kDamageHint;
  };
  CHECK(told("  \"epoch\": 0,\n", "") == refusal("no field 'epoch'"));
  CHECK(told("\"update\": 2", "\"update\": \"2\"") == refusal("field 'update' is not a count"));
  CHECK(told("\"update\": 2", "\"update\": -2") == refusal("field 'update' is not a count"));
  CHECK(told("\"update\": 2", "\"update\": 18446744073709551615") == refusal("field 'update' is not a count"));
  CHECK(told("\"best\": false", "\"best\": 0") == refusal("field 'best' is not true or false"));
  CHECK(told("\"reason\": \"periodic\"", "\"reason\": []") == refusal("field 'reason' is not a string"));
  CHECK(told("\"world_size\": 1", "\"world_size\": 4") ==
        refusal("it is a part of a checkpoint of 4 ranks; this holdfast reads single ones"));
  CHECK(told("\"digest\": \"", "\"digest\": \"zz") == refusal("field 'digest' is not 32 hexadecimal digits"));
  CHECK(told("holdfast-checkpoint", "other") == refusal("field 'format' is not \"holdfast-checkpoint\""));
  CHECK(told("\"state.json\"", "\"../../etc/passwd\"") == refusal("no field 'files.state.json'"));
}
