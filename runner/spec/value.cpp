// Looking into value trees and writing them as TOML.
#include "spec/value.hpp"

#include <array>
#include <cstdio>

#include "base/text.hpp"

namespace holdfast::spec {

const Value* Value::find(std::string_view key) const {
  for (const Entry& entry : entries)
    if (entry.key == key) return &entry.value;
  return nullptr;
}

Value* Value::find(std::string_view key) {
  for (Entry& entry : entries)
    if (entry.key == key) return &entry.value;
  return nullptr;
}

std::string quote(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (byte < 0x20 || byte == 0x7f) {
      std::array<char, 8> escape{};
      std::snprintf(escape.data(), escape.size(), "\\u%04X", static_cast<unsigned>(byte));
      out += escape.data();
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string quote_key(std::string_view key) {
  const bool bare = !key.empty() && key.find_first_not_of(
                                        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                        "0123456789_-") == std::string_view::npos;
  return bare ? std::string(key) : quote(key);
}

std::string describe_value(const Value& value) {
  switch (value.type) {
    case Value::Type::kString:
      return "the string " + base::shortened(value.written.empty() ? quote(value.text) : value.written);
    case Value::Type::kDate:
      return "the date or time " + base::shortened(value.written);
    case Value::Type::kArray:
      return value.items.empty() ? "an empty list" : "a list";
    case Value::Type::kTable:
      return "a table";
    case Value::Type::kRaw:
      return "'" + base::shortened(value.text) + "'";
    default:
      return base::shortened(value.written);
  }
}

std::string to_toml(const Value& value) {
  std::string out;
  switch (value.type) {
    case Value::Type::kString:
    case Value::Type::kRaw:
      return quote(value.text);
    case Value::Type::kArray:
      for (const Value& item : value.items) out += (out.empty() ? "" : ", ") + to_toml(item);
      return "[" + out + "]";
    case Value::Type::kTable:
      for (const Entry& entry : value.entries)
        out += (out.empty() ? "" : ", ") + quote_key(entry.key) + " = " + to_toml(entry.value);
      return out.empty() ? "{}" : "{ " + out + " }";
    default:
      return value.written;
  }
}

}  // namespace holdfast::spec
