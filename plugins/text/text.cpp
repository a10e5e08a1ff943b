// Opens, checks and serves windows of tokens. Knows nothing of order, epochs, models or tokenizers.
#include "text/text.hpp"

#include <xxhash.h>

#include <cstdio>
#include <memory>

namespace holdfast::plugins {
namespace {

constexpr std::int64_t kByteVocabulary = 256;
constexpr double kLargestContext = 1 << 20;
constexpr double kLargestVocabulary = 1 << 24;

TokenType type_of(const std::string& dtype) {
  if (dtype == "u16") return TokenType::kU16;
  return dtype == "u32" ? TokenType::kU32 : TokenType::kU8;
}

Part part_of(const std::string& word) {
  if (word == "train") return Part::kTrain;
  return word == "eval" ? Part::kEval : Part::kAll;
}

std::int64_t vocabulary_of(const Options& options, const Context& context) {
  const std::string& dtype = options.string("dtype");
  const bool given = options.has("vocabulary");
  if (dtype == "bytes" && given && options.integer("vocabulary") != kByteVocabulary)
    throw Error(ExitCode::kBadRecipe, "data.vocabulary", context.table,
                "`dtype` = \"bytes\" has a vocabulary of 256, but `vocabulary` is " +
                    std::to_string(options.integer("vocabulary")),
                "leave `vocabulary` out, or write `dtype` = \"u8\" for tokens of one byte");
  if (dtype == "bytes") return kByteVocabulary;
  if (!given)
    throw Error(ExitCode::kBadRecipe, "data.vocabulary", context.table,
                "`dtype` = \"" + dtype + "\" needs `vocabulary`, which is not given",
                "set it to the number of tokens that the tokenizer knows");
  return options.integer("vocabulary");
}

}  // namespace

void Text::declare(OptionTable& options) {
  options.paths("files").required().or_one().min_items(1).doc(
      "file or files, plain (mapped) or gzip (unpacked into memory); a window lies in one file");
  options.string("dtype", "bytes")
      .one_of({"bytes", "u8", "u16", "u32"})
      .doc("what the files hold: text as bytes, or raw little-endian tokens of this width");
  options.integer("vocabulary")
      .min(1)
      .max(kLargestVocabulary)
      .doc("tokens lie in 0..vocabulary-1 (256 for bytes; needed for u8, u16, u32)");
  options.integer("context", 256).min(1).max(kLargestContext).doc("tokens of a sample; a window has one more");
  options.integer("stride").min(1).max(kLargestContext).doc("tokens from a window to the next (context)");
  options.string("part", "all").one_of({"all", "train", "eval"}).doc("which part of the tokens is read");
  options.number("eval_share", 0.1).above(0).below(1).doc("share of all tokens, the last ones, that is part eval");
}

Text::Text(const Options& options, const Context& context)
    : context_(options.integer("context")), vocabulary_(vocabulary_of(options, context)) {
  const TokenType type = type_of(options.string("dtype"));
  open_files(options.strings("files"), type);
  lay_windows(options, context);
  fingerprint_ = survey(type, options.has("stride") ? options.integer("stride") : context_);
}

void Text::open_files(const std::vector<std::string>& paths, TokenType type) {
  for (const auto& path : paths) {
    const TokenFile& file = files_.emplace_back(path, type);
    if (file.tokens() > context_) continue;
    throw Error(ExitCode::kBadData, "data.too_short", file.path(),
                "holds " + std::to_string(file.tokens()) + " tokens, fewer than one window of " +
                    std::to_string(context_ + 1) + " (`context` = " + std::to_string(context_) +
                    " and the token that follows)",
                "set a smaller `context`, or leave this file out");
  }
}

void Text::lay_windows(const Options& options, const Context& context) {
  WindowRule rule;
  rule.length = context_ + 1;
  rule.stride = options.has("stride") ? options.integer("stride") : context_;
  rule.part = part_of(options.string("part"));
  rule.eval_share = options.number("eval_share");
  std::vector<std::int64_t> tokens;
  std::int64_t all = 0;
  for (const auto& file : files_) all += tokens.emplace_back(file.tokens());
  layout_.emplace(tokens, rule);
  if (layout_->windows() > 0) return;
  throw Error(ExitCode::kBadData, "data.no_window", context.table,
              "part \"" + options.string("part") + "\" is " + std::to_string(layout_->part_tokens()) + " of " +
                  std::to_string(all) + " tokens, and in no file it holds a window of " + std::to_string(rule.length) +
                  " (`context` = " + std::to_string(context_) + " and the token that follows)",
              "change `eval_share`, or set a smaller `context`");
}

DataFacts Text::facts() const {
  return {{{field::kInput, "int64", {context_}, vocabulary_}, {field::kTarget, "int64", {context_}, vocabulary_}}};
}

void Text::read(std::span<const std::int64_t> indices, BatchBuilder& into, const SampleRng&) const {
  auto* input = into.field(field::kInput, at::kLong, {context_}).mutable_data_ptr<std::int64_t>();
  auto* target = into.field(field::kTarget, at::kLong, {context_}).mutable_data_ptr<std::int64_t>();
  for (const std::int64_t index : indices) {
    const TokenRange window = layout_->at(index);
    const TokenFile& file = files_[window.file];
    file.copy(window.first, context_, input);
    file.copy(window.first + 1, context_, target);
    input += context_, target += context_;
  }
}

std::string Text::survey(TokenType type, std::int64_t stride) const {
  const std::unique_ptr<XXH3_state_t, XXH_errorcode (*)(XXH3_state_t*)> state(XXH3_createState(), &XXH3_freeState);
  XXH3_128bits_reset(state.get());
  const auto add = [&](std::span<const std::byte> bytes) {
    XXH3_128bits_update(state.get(), bytes.data(), bytes.size());
  };
  const auto add_text = [&](const std::string& text) { add(std::as_bytes(std::span(text))); };
  add_text(std::string("text ") + name_of(type) + " " + std::to_string(vocabulary_) + " " + std::to_string(context_) +
           " " + std::to_string(stride) + "\n");
  for (const TokenSpan& span : layout_->spans()) {
    add_text("span " + std::to_string(span.tokens) + "\n");
    files_[span.file].survey(span.first, span.tokens, vocabulary_, add);
  }
  const XXH128_hash_t hash = XXH3_128bits_digest(state.get());
  char text[40];
  std::snprintf(text, sizeof text, "%016llx%016llx", static_cast<unsigned long long>(hash.high64),
                static_cast<unsigned long long>(hash.low64));
  return std::string("xxh3:") + text;
}

}  // namespace holdfast::plugins
