// A batch builder that keeps plain tensors: what a data set put into a batch, to look at.
#pragma once

#include <ATen/ATen.h>

#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "holdfast/dataset.hpp"

namespace holdfast::test {

struct KeptBatch : BatchBuilder {
  explicit KeptBatch(std::int64_t samples) : rows(samples) {}
  at::Tensor field(std::string_view name, at::ScalarType dtype, at::IntArrayRef shape) override {
    std::vector<std::int64_t> sizes = {rows};
    sizes.insert(sizes.end(), shape.begin(), shape.end());
    return fields[std::string(name)] = at::empty(sizes, dtype);
  }
  void fail(std::size_t, std::string, std::string) override {
    throw std::logic_error("this data set never fails a sample");
  }
  std::int64_t rows;
  std::map<std::string, at::Tensor> fields;
};

inline KeptBatch read(const Dataset& data, const std::vector<std::int64_t>& indices) {
  KeptBatch batch(static_cast<std::int64_t>(indices.size()));
  data.read(indices, batch, SampleRng(0, 0));
  return batch;
}

}  // namespace holdfast::test
