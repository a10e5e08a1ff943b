// The samples, whole in memory: images with labels, or windows of bytes with the byte that follows each place.
#pragma once

#include <torch/torch.h>
#include <zlib.h>

#include <cstdint>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

namespace bare {

struct Pair {
  torch::Tensor input, target;
};

struct Samples {
  torch::Tensor images, labels;  // of a set of images
  torch::Tensor windows;         // [N, context + 1] of a set of tokens, a view of them
  std::int64_t count() const { return (windows.defined() ? windows : images).size(0); }

  Pair split(const torch::Tensor& rows) const {
    const std::int64_t context = rows.size(1) - 1;
    return {rows.narrow(1, 0, context), rows.narrow(1, 1, context)};
  }
  Pair in_file_order(std::int64_t first, std::int64_t batch) const {
    if (windows.defined()) return split(windows.narrow(0, first, batch));
    return {images.narrow(0, first, batch), labels.narrow(0, first, batch)};
  }
  Pair chosen(const torch::Tensor& indices) const {
    if (windows.defined()) return split(windows.index_select(0, indices));
    return {images.index_select(0, indices), labels.index_select(0, indices)};
  }
};

/// An IDX file of bytes, plain or gzip, whole.
inline torch::Tensor read_idx(const std::string& path) {
  gzFile file = gzopen(path.c_str(), "rb");
  unsigned char head[4];
  if (!file || gzread(file, head, 4) != 4) throw std::runtime_error("cannot read " + path);
  std::vector<std::int64_t> shape;
  for (int i = 0; i < head[3]; ++i) {
    unsigned char word[4];
    if (gzread(file, word, 4) != 4) throw std::runtime_error("cannot read " + path);
    shape.push_back(std::int64_t{word[0]} << 24 | word[1] << 16 | word[2] << 8 | word[3]);
  }
  torch::Tensor bytes = torch::empty(shape, torch::kUInt8);
  const auto count = static_cast<unsigned>(bytes.numel());
  if (gzread(file, bytes.data_ptr(), count) != static_cast<int>(count)) throw std::runtime_error("short " + path);
  gzclose(file);
  return bytes;
}

inline Samples read_images(const std::string& images, const std::string& labels, double scale) {
  return {read_idx(images).to(torch::kFloat).div_(scale), read_idx(labels).to(torch::kLong), {}};
}

inline Samples read_tokens(const std::string& path, std::int64_t context) {
  std::ifstream file(path, std::ios::binary);
  std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
  if (bytes.empty()) throw std::runtime_error("cannot read " + path);
  const torch::Tensor tokens =
      torch::from_blob(bytes.data(), {static_cast<std::int64_t>(bytes.size())}, torch::kUInt8).to(torch::kLong);
  return {{}, {}, tokens.unfold(0, context + 1, context)};
}

}  // namespace bare
