// Manifest text both ways.
#include "checkpoint/manifest.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "checkpoint/digest.hpp"
#include "checkpoint/json.hpp"
#include "holdfast/error.hpp"

namespace holdfast::checkpoint {
namespace {

using nlohmann::json;

constexpr std::string_view kTrailerStart = "  \"manifest_xxh3_128\": \"";
constexpr std::string_view kTrailerEnd = "\"\n}\n";
constexpr std::size_t kHashSize = 32;

[[noreturn]] void refuse(const std::string& where, const std::string& what) {
  throw Error(ExitCode::kMissingInput, "checkpoint.manifest", where, base::terminal_safe_line(what),
              "the checkpoint is damaged: use another one (--resume CHECKPOINT) or restore it from a copy");
}

/// Typed fields of one object, by name; remembers which were asked for.
class Fields {
 public:
  Fields(const json& object, std::string prefix, const std::string& where)
      : object_(object), prefix_(std::move(prefix)), where_(where) {}

  const json& get(const char* name) {
    known_.emplace_back(name);
    const auto found = object_.find(name);
    if (found == object_.end()) refuse(where_, "no field '" + prefix_ + name + "'");
    return *found;
  }
  std::string text(const char* name) {
    const json& value = get(name);
    if (!value.is_string()) refuse(where_, "field '" + prefix_ + name + "' is not a string");
    return value.get<std::string>();
  }
  bool flag(const char* name) {
    const json& value = get(name);
    if (!value.is_boolean()) refuse(where_, "field '" + prefix_ + name + "' is not true or false");
    return value.get<bool>();
  }
  std::int64_t count(const char* name) {
    const json& value = get(name);
    if (!value.is_number_integer() || value < 0 ||
        (value.is_number_unsigned() && value.get<std::uint64_t>() > std::uint64_t{INT64_MAX}))
      refuse(where_, "field '" + prefix_ + name + "' is not a count");
    return value.get<std::int64_t>();
  }
  std::string hash(const char* name) {
    std::string value = text(name);
    const bool hex = std::all_of(value.begin(), value.end(),
                                 [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
    if (value.size() != kHashSize || !hex)
      refuse(where_, "field '" + prefix_ + name + "' is not 32 hexadecimal digits");
    return value;
  }
  Fields below(const char* name) {
    const json& value = get(name);
    if (!value.is_object()) refuse(where_, "field '" + prefix_ + name + "' is not an object");
    return {value, prefix_ + name + ".", where_};
  }
  void note_unknown(std::vector<std::string>& notes) const {
    for (const auto& item : object_.items())
      if (std::find(known_.begin(), known_.end(), item.key()) == known_.end())
        notes.push_back(where_ + ": unknown field " + base::json_string(prefix_ + item.key()) + " ignored");
  }

 private:
  const json& object_;
  std::string prefix_;
  const std::string& where_;
  std::vector<std::string> known_;
};

/// What is wrong with the closing hash; empty when it fits.
std::string hash_fault(std::string_view text) {
  const std::size_t trailer = kTrailerStart.size() + kHashSize + kTrailerEnd.size();
  if (text.size() < trailer || !text.ends_with(kTrailerEnd) ||
      text.substr(text.size() - trailer, kTrailerStart.size()) != kTrailerStart)
    return "it does not end with its own hash: cut or changed";
  const std::string_view told = text.substr(text.size() - kTrailerEnd.size() - kHashSize, kHashSize);
  const std::string real = hash_of(text.substr(0, text.size() - trailer));
  return told == real ? ""
                      : "its bytes hash to " + real + ", but it says " + std::string(told) + ": changed or damaged";
}

/// `fault` is what hash_fault said: a changed digit must not pass for a newer format.
void check_version(const json& object, const std::string& where, const std::string& fault) {
  const auto found = object.find("format_version");
  if (found == object.end() || !found->is_number_integer()) return;  // told as damage or as a missing field
  if (*found <= kFormatVersion) return;
  const std::string what = "the checkpoint has format version " + found->dump() +
                           ", this holdfast reads up to version " + std::to_string(kFormatVersion);
  if (!fault.empty()) refuse(where, what + "; " + fault);
  throw Error(ExitCode::kMissingInput, "checkpoint.version", where, what,
              "use the holdfast that wrote it, or a newer one");
}

}  // namespace

std::string render_manifest(const Manifest& manifest) {
  nlohmann::ordered_json object;
  object["format"] = "holdfast-checkpoint";
  object["format_version"] = kFormatVersion;
  object["run_id"] = manifest.run_id;
  object["update"] = manifest.counters.update;
  object["epoch"] = manifest.counters.epoch;
  object["samples_seen"] = manifest.counters.samples_seen;
  object["reason"] = manifest.reason;
  object["best"] = manifest.best;
  object["attempt"] = manifest.attempt;
  object["rank"] = 0;
  object["world_size"] = 1;
  object["saved_at"] = manifest.saved_at;
  object["digest"] = manifest.digest;
  for (std::size_t i = 0; i < kFiles.size(); ++i)
    object["files"][kFiles[i]] = {{"size", manifest.files[i].size}, {"xxh3_128", manifest.files[i].hash}};
  std::string text = object.dump(2);
  text.resize(text.size() - 2);  // "\n}": the hash stands before it
  text += ",\n";
  return text + std::string(kTrailerStart) + hash_of(text) + std::string(kTrailerEnd);
}

Manifest parse_manifest(std::string_view text, const std::string& where) {
  const std::string fault = hash_fault(text);
  const json object = [&] {
    try {
      return foreign_json(text, where);
    } catch (const Error&) {
      if (!fault.empty()) refuse(where, fault);
      throw;
    }
  }();
  check_version(object, where, fault);
  if (!fault.empty()) refuse(where, fault);

  Manifest manifest;
  Fields fields(object, "", where);
  if (fields.text("format") != "holdfast-checkpoint") refuse(where, "field 'format' is not \"holdfast-checkpoint\"");
  if (fields.count("format_version") < 1) refuse(where, "field 'format_version' is 0; versions start at 1");
  fields.get("manifest_xxh3_128");
  manifest.run_id = fields.text("run_id");
  manifest.counters = {fields.count("update"), fields.count("epoch"), fields.count("samples_seen")};
  manifest.reason = fields.text("reason");
  manifest.best = fields.flag("best");
  manifest.attempt = static_cast<int>(std::min<std::int64_t>(fields.count("attempt"), INT32_MAX));
  const std::int64_t ranks = fields.count("world_size");
  if (fields.count("rank") != 0 || ranks != 1)
    refuse(where,
           "it is a part of a checkpoint of " + std::to_string(ranks) + " ranks; this holdfast reads single ones");
  manifest.saved_at = fields.text("saved_at");
  manifest.digest = fields.hash("digest");
  Fields files = fields.below("files");
  for (std::size_t i = 0; i < kFiles.size(); ++i) {
    Fields file = files.below(kFiles[i]);
    manifest.files[i] = {static_cast<std::uint64_t>(file.count("size")), file.hash("xxh3_128")};
    file.note_unknown(manifest.notes);
  }
  files.note_unknown(manifest.notes);
  fields.note_unknown(manifest.notes);
  return manifest;
}

}  // namespace holdfast::checkpoint
