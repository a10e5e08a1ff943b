// A folder with IDX files and the idx data set over them.
#pragma once

#include <string>
#include <vector>

#include "fixtures/components.hpp"
#include "idx/idx.hpp"
#include "idx_bytes.hpp"
#include "kept_batch.hpp"
#include "temp_folder.hpp"

namespace holdfast::test {

struct IdxFolder {
  TempFolder folder;
  Lender lender;

  std::string put(const std::string& name, const std::string& content) {
    write_text(folder / name, content);
    return folder / name;
  }
  Options images(std::vector<std::string> paths) {
    Options options = defaults<plugins::Idx>();
    options.set("images", std::move(paths));
    return options;
  }
  plugins::Idx open(const Options& options) { return {options, lender.context("dataset.train")}; }
  /// The sentence of opening with these options, with the folder's name taken out.
  std::string fault(const Options& options) {
    std::string text = told([&] { open(options); });
    for (auto at = text.find(folder.path()); at != std::string::npos; at = text.find(folder.path()))
      text.replace(at, folder.path().size(), "DIR");
    return text;
  }
  std::string fault_of_image(const std::string& content) { return fault(images({put("images", content)})); }
};

}  // namespace holdfast::test
