// Inspections as table and JSON.
#include "checkpoint/inspection.hpp"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "checkpoint/digest.hpp"
#include "checkpoint/sample_state.hpp"
#include "temp_folder.hpp"

using namespace holdfast;
using namespace holdfast::checkpoint;

TEST_CASE("the table shows counters, digest and every tensor, with hostile names made harmless") {
  Inspection inspection;
  inspection.path = "/runs/x/checkpoints/update-000001500";
  inspection.digest = std::string(32, 'd');
  inspection.run_id = test::kRunId;
  inspection.reason = "periodic";
  inspection.saved_at = "2026-11-30T10:15:00.000Z";
  inspection.attempt = 2;
  inspection.best = true;
  inspection.counters = {1500, 2, 96000};
  inspection.tensors = {{"fc.weight", "model.safetensors", "F32", {2, 3}, std::string(32, 'a')},
                        {"\x1b[2J", "model.safetensors", "BOOL", {}, std::string(32, 'b')}};
  CHECK(inspection_table(inspection) ==
        "/runs/x/checkpoints/update-000001500\n"
        "  update        1,500\n"
        "  epoch         2\n"
        "  samples seen  96,000\n"
        "  digest        dddddddddddddddddddddddddddddddd\n"
        "  run           20261130T101500Z-3f2a, attempt 2\n"
        "  saved         2026-11-30T10:15:00.000Z, reason: periodic, best so far\n"
        "  tensors       2, 25 B\n"
        "\n"
        "name       dtype  shape   digest                            file\n"
        "fc.weight  F32    [2, 3]  aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa  model.safetensors\n"
        "\\x1b[2J    BOOL   []      bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb  model.safetensors\n");
}

TEST_CASE("the JSON holds the fields of the contract, and digests equal the content") {
  const test::TempFolder temp;
  test::SampleState state(5);
  const Saved saved = Store(temp / test::kRunId, {}).save(state.view(), test::request_at(5));
  const auto json = nlohmann::json::parse(inspection_json(Store::inspect(saved.path)));
  CHECK(json["update"] == 5);
  CHECK(json["epoch"] == 0);
  CHECK(json["samples_seen"] == 320);
  CHECK(json["digest"] == saved.digest);
  CHECK(json["run_id"] == test::kRunId);
  CHECK(json["reason"] == "periodic");
  CHECK(json["progress"]["scaler"] == 65536.0);
  CHECK(json["extra"]["threads"] == 2);
  REQUIRE(json["tensors"].size() == 7);
  CHECK(json["tensors"][0] == nlohmann::json({{"name", "empty"},
                                              {"file", "model.safetensors"},
                                              {"dtype", "F16"},
                                              {"shape", {0, 7}},
                                              {"digest", "99aa06d3014798d86001c324468d497f"}}));
  CHECK(json["tensors"][2]["name"] == "fc1.weight");
  CHECK(json["tensors"][2]["digest"] == hash_of(state.view().model[0].bytes));
  CHECK(json["tensors"][6]["file"] == "optimizer.safetensors");
}
