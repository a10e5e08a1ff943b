// Opens, checks and serves IDX images with their labels. Knows nothing of order, epochs or models.
#include "idx.hpp"

#include <xxhash.h>

#include <cstdio>
#include <memory>

#include "convert.hpp"

namespace holdfast::plugins {
namespace {

constexpr std::int64_t kMostInferredClasses = 65536;
constexpr double kMostClasses = 1048576;

void add_array(XXH3_state_t* state, const IdxArray& array) {
  std::string head = std::string("idx ") + name_of(array.type) + " " + std::to_string(array.samples);
  for (const auto size : array.sample_shape) head += " " + std::to_string(size);
  head += "\n";
  XXH3_128bits_update(state, head.data(), head.size());
  XXH3_128bits_update(state, array.bytes.get(), array.byte_count);
}

}  // namespace

void Idx::declare(OptionTable& options) {
  options.paths("images").required().or_one().min_items(1).doc(
      "IDX file or files, plain or gzip; several are read one after the other");
  options.paths("labels").or_one().min_items(1).doc("IDX file or files with one label a sample");
  options.number("scale").above(0).doc("stored value that becomes 1.0 (255 for uint8 files, otherwise 1: unchanged)");
  options.integer("classes")
      .min(1)
      .max(kMostClasses)
      .doc("labels lie in 0..classes-1 (1 + the largest label of these files)");
  options.integer("ignore_label").doc("stored label that means \"no label\" (none)");
}

Idx::Idx(const Options& options, const Context&) : images_(read_idx(options.strings("images"))) {
  if (images_.sample_shape.empty())
    throw Error(ExitCode::kBadData, "data.image_rank", images_.parts.front().path,
                "holds one value a sample (1 dimension), but an image needs at least one dimension besides the samples",
                "check that `images` does not name a file of labels");
  scale_ = images_.type == ElementType::kU8 ? 255 : 1;
  if (options.has("scale")) scale_ = options.number("scale");
  if (options.has("labels")) read_labels(options);
  fingerprint_ = digest();
}

void Idx::read_labels(const Options& options) {
  labels_ = read_idx(options.strings("labels"));
  if (!labels_->sample_shape.empty())
    throw Error(ExitCode::kBadData, "data.label_rank", labels_->parts.front().path,
                "has " + std::to_string(labels_->sample_shape.size() + 1) +
                    " dimensions, but labels are one number a sample (1 dimension)",
                "check that `labels` does not name a file of images");
  if (options.has("ignore_label")) ignore_ = options.integer("ignore_label");
  if (labels_->samples != images_.samples)
    throw Error(ExitCode::kBadData, "data.count", labels_->parts.front().path,
                "holds " + std::to_string(labels_->samples) + " labels, but " + images_.parts.front().path + " holds " +
                    std::to_string(images_.samples) + " images",
                "check that images and labels are files of the same set");
  check_labels(options.has("classes") ? options.integer("classes") : 0);
}

void Idx::check_labels(std::int64_t declared_classes) {
  const LabelSurvey survey = survey_labels(*labels_, declared_classes, ignore_);
  if (survey.bad_value_index >= 0) refuse_label(survey.bad_value_index, declared_classes);
  if (survey.largest < 0)
    throw Error(ExitCode::kBadData, "data.no_labels", labels_->parts.front().path,
                "every label is the ignored one, " + std::to_string(*ignore_));
  classes_ = declared_classes > 0 ? declared_classes : survey.largest + 1;
  if (declared_classes == 0 && classes_ > kMostInferredClasses)
    throw Error(ExitCode::kBadData, "data.label_range", labels_->parts.front().path,
                "its largest label is " + std::to_string(survey.largest) + ", too many classes to be taken for granted",
                "set `classes` if this is meant");
}

void Idx::refuse_label(std::int64_t value_index, std::int64_t declared_classes) const {
  const std::int64_t sample = value_index / labels_->sample_values;
  const std::string range = declared_classes > 0 ? "lies outside 0.." + std::to_string(declared_classes - 1) +
                                                       ", the range of `classes` = " + std::to_string(declared_classes)
                                                 : "is none: labels are whole numbers from 0";
  throw Error(ExitCode::kBadData, "data.label_range", labels_->path_of(sample),
              "sample " + std::to_string(sample) + ": label " + value_text(*labels_, value_index) + " " + range,
              "labels count from 0; `ignore_label` names a value that means \"no label\"");
}

DataFacts Idx::facts() const {
  DataFacts facts;
  facts.fields.push_back({field::kInput, "float32", images_.sample_shape, 0});
  if (labels_) facts.fields.push_back({field::kTarget, "int64", labels_->sample_shape, classes_});
  return facts;
}

void Idx::read(std::span<const std::int64_t> indices, BatchBuilder& into, const SampleRng&) const {
  auto* pixels = into.field(field::kInput, at::kFloat, images_.sample_shape).mutable_data_ptr<float>();
  constexpr std::size_t kAhead = 2;  // samples; memory answers in about the time in which so many are converted
  for (std::size_t i = 0; i < indices.size(); ++i) {
    if (i + kAhead < indices.size()) fetch_ahead(images_, indices[i + kAhead]);
    sample_to_float(images_, indices[i], scale_, pixels);
    pixels += images_.sample_values;
  }
  if (!labels_) return;
  auto* labels = into.field(field::kTarget, at::kLong, labels_->sample_shape).mutable_data_ptr<std::int64_t>();
  for (const std::int64_t index : indices) {
    sample_to_labels(*labels_, index, ignore_, labels);
    labels += labels_->sample_values;
  }
}

std::string Idx::digest() const {
  const std::unique_ptr<XXH3_state_t, XXH_errorcode (*)(XXH3_state_t*)> state(XXH3_createState(), &XXH3_freeState);
  XXH3_128bits_reset(state.get());
  add_array(state.get(), images_);
  if (labels_) add_array(state.get(), *labels_);
  char meaning[96];
  std::snprintf(meaning, sizeof meaning, "scale %.17g ignore %s\n", scale_,
                ignore_ ? std::to_string(*ignore_).c_str() : "none");
  XXH3_128bits_update(state.get(), meaning, std::char_traits<char>::length(meaning));
  const XXH128_hash_t hash = XXH3_128bits_digest(state.get());
  char text[40];
  std::snprintf(text, sizeof text, "%016llx%016llx", static_cast<unsigned long long>(hash.high64),
                static_cast<unsigned long long>(hash.low64));
  return std::string("xxh3:") + text;
}

}  // namespace holdfast::plugins
