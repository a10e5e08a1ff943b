// The frame around the sections. Nothing in the page may load anything or run any script but its own, and the page says
// so to the browser.
#include <array>
#include <cstdint>

#include "base/text.hpp"
#include "report/asset.hpp"
#include "report/html.hpp"
#include "report/report.hpp"
#include "report/sections.hpp"

namespace holdfast::report {
namespace {

unsigned hex_digit(char c) { return static_cast<unsigned>(c <= '9' ? c - '0' : c - 'a' + 10); }

/// Base64 (RFC 4648) of bytes given as hexadecimal digits.
std::string base64_of_hex(std::string_view hex) {
  constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  std::uint32_t bits = 0;
  int held = 0;
  for (const char c : hex) {
    bits = bits << 4 | hex_digit(c);
    held += 4;
    if (held < 6) continue;
    held -= 6;
    out += kAlphabet[bits >> held & 63];
  }
  if (held > 0) out += kAlphabet[bits << (6 - held) & 63];
  while (out.size() % 4 != 0) out += '=';
  return out;
}

std::string head(const Material& material) {
  const std::string name = material.home.empty() ? material.generation : material.home;
  return "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
         "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
         "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
         "script-src 'sha256-" +
         base64_of_hex(kScriptSha256) + "'\">\n<meta name=\"color-scheme\" content=\"light dark\">\n<title>" +
         html(name) + " - holdfast</title>\n<style>" + kStyle + "</style></head>\n";
}

/// What the page could not show, said.
std::string gaps(const Material& material) {
  std::string text;
  if (!material.events_found) text += "events.jsonl is absent or cannot be read: there are no curves. ";
  if (material.events_torn) text += "The last line of events.jsonl is not complete and was left out. ";
  if (material.unreadable > 0)
    text += base::human_count(material.unreadable) + " lines of events.jsonl are no events and were left out. ";
  if (material.history.lost > 0)
    text += base::human_count(material.history.lost) + " events were lost while the disk was full. ";
  return text.empty() ? "" : "<p class=\"gaps\">" + html(text, 1000) + "</p>\n";
}

}  // namespace

std::string make_report(const std::string& generation_folder, const Maker& maker) {
  const Material material = gather(generation_folder, maker);
  return head(material) + "<body><main>\n" + header_section(material) + tile_section(material) + gaps(material) +
         timeline_section(material) + chart_section(material) + time_section(material) + attempt_section(material) +
         checkpoint_section(material) + happening_section(material) + sample_section(material) +
         environment_section(material) + recipe_section(material) + "<footer>Made by holdfast " + html(maker.version) +
         " at <time>" + html(maker.made_at) +
         "</time>. This file stands alone: it loads nothing.</footer>\n</main><script>" + kScript +
         "</script></body></html>\n";
}

}  // namespace holdfast::report
