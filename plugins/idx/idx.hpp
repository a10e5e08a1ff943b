// The data set "idx": images and labels from IDX files, kept in memory as stored, converted batch by batch.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "holdfast/dataset.hpp"
#include "idx_file.hpp"

namespace holdfast::plugins {

/// Field "input": float32, value / scale. Field "target", where there are labels: int64, -100 where there is none.
/// Everything is read and checked by the constructor; read() cannot fail and is safe from any number of threads.
class Idx : public Dataset {
 public:
  static void declare(OptionTable& options);
  Idx(const Options& options, const Context& context);

  [[nodiscard]] std::int64_t size() const override { return images_.samples; }
  [[nodiscard]] Fingerprint fingerprint() const override { return fingerprint_; }
  [[nodiscard]] DataFacts facts() const override;
  void read(std::span<const std::int64_t> indices, BatchBuilder& into, const SampleRng& rng) const override;

 private:
  void read_labels(const Options& options);
  void check_labels(std::int64_t declared_classes);
  [[noreturn]] void refuse_label(std::int64_t value_index, std::int64_t declared_classes) const;
  [[nodiscard]] std::string digest() const;

  IdxArray images_;
  std::optional<IdxArray> labels_;
  std::optional<std::int64_t> ignore_;
  double scale_ = 1;
  std::int64_t classes_ = 0;
  std::string fingerprint_;
};

}  // namespace holdfast::plugins
