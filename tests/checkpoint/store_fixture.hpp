// A run's folder in memory whose checkpoints a test saves, lists and reads. Knows the store from outside only.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/folder.hpp"
#include "checkpoint/sample_state.hpp"
#include "checkpoint/store.hpp"
#include "temp_folder.hpp"

namespace holdfast::test {

using Names = std::vector<std::string>;

struct StoreFixture {
  TempFolder temp{Where::kMemory};
  std::string generation = temp / kRunId;
  std::string checkpoints = generation + "/checkpoints";
  Names told;

  checkpoint::Saved save(std::int64_t update, checkpoint::Retention retention = {100, 0}, bool best = false) {
    SampleState state(update);
    return checkpoint::Store(generation, retention).save(state.view(), request_at(update, best));
  }
  std::optional<checkpoint::Loaded> newest() {
    told.clear();
    return checkpoint::Store(generation, {}).newest([&](const std::string& sentence) { told.push_back(sentence); });
  }
  [[nodiscard]] Names names() const {
    Names found;
    for (const auto& entry : base::Folder::open(checkpoints).entries()) found.push_back(entry.name);
    return found;
  }
  [[nodiscard]] std::string at(const std::string& name) const { return checkpoints + "/" + name; }
};

}  // namespace holdfast::test
