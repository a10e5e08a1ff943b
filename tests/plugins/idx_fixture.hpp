// A folder with IDX files and the idx data set over them; a batch builder that keeps plain tensors.
#pragma once

#include <torch/torch.h>

#include <map>
#include <string>
#include <vector>

#include "fixtures/components.hpp"
#include "idx/idx.hpp"
#include "idx_bytes.hpp"
#include "temp_folder.hpp"

namespace holdfast::test {

struct KeptBatch : BatchBuilder {
  explicit KeptBatch(std::int64_t samples) : rows(samples) {}
  at::Tensor field(std::string_view name, at::ScalarType dtype, at::IntArrayRef shape) override {
    std::vector<std::int64_t> sizes = {rows};
    sizes.insert(sizes.end(), shape.begin(), shape.end());
    return fields[std::string(name)] = torch::empty(sizes, dtype);
  }
  void fail(std::size_t, std::string, std::string) override { throw std::logic_error("idx never fails a sample"); }
  std::int64_t rows;
  std::map<std::string, at::Tensor> fields;
};

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

inline KeptBatch read(const Dataset& data, const std::vector<std::int64_t>& indices) {
  KeptBatch batch(static_cast<std::int64_t>(indices.size()));
  data.read(indices, batch, SampleRng(0, 0));
  return batch;
}

}  // namespace holdfast::test
