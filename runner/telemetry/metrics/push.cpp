// libcurl's easy interface, a handle a delivery: there are a few of them in a run.
#include "telemetry/metrics/push.hpp"

#include <curl/curl.h>

#include <array>
#include <cctype>
#include <cstdint>
#include <memory>

#include "base/text.hpp"

namespace holdfast::telemetry {
namespace {

constexpr std::size_t kMostAnswer = 2000;
constexpr const char* kType = "Content-Type: text/plain; version=0.0.4; charset=utf-8";

struct HandleEnd {
  void operator()(CURL* handle) const { curl_easy_cleanup(handle); }
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};
using Handle = std::unique_ptr<CURL, HandleEnd>;
using Headers = std::unique_ptr<curl_slist, HandleEnd>;

bool is_unreserved(unsigned char c) { return std::isalnum(c) != 0 || c == '-' || c == '.' || c == '_' || c == '~'; }

std::string percent_encoded(const std::string& text) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string out;
  for (const char each : text) {
    const auto c = static_cast<unsigned char>(each);
    if (is_unreserved(c))
      out += each;
    else
      out += {'%', kDigits[c >> 4], kDigits[c & 15]};
  }
  return out;
}

/// RFC 4648, section 5, padded.
std::string base64url(const std::string& text) {
  constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  std::string out;
  std::uint32_t bits = 0;
  int held = 0;
  for (const char c : text) {
    bits = bits << 8 | static_cast<unsigned char>(c);
    for (held += 8; held >= 6; held -= 6) out += kAlphabet[bits >> (held - 6) & 63];
  }
  if (held > 0) out += kAlphabet[bits << (6 - held) & 63];
  while (out.size() % 4 != 0) out += '=';
  return out;
}

std::size_t keep_answer(char* bytes, std::size_t size, std::size_t count, void* into) {
  auto& answer = *static_cast<std::string*>(into);
  answer.append(bytes, std::min(size * count, kMostAnswer - std::min(kMostAnswer, answer.size())));
  return size * count;
}

long milliseconds(Duration time) {
  return static_cast<long>(std::chrono::duration_cast<std::chrono::milliseconds>(time).count());
}

void configure(CURL* handle, const PushSettings& settings, const std::string& url, const std::string& body,
               curl_slist* headers) {
  curl_easy_setopt(handle, CURLOPT_URL, url.c_str());
  curl_easy_setopt(handle, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);  // or a name lookup's timeout would be an alarm(2)
  curl_easy_setopt(handle, CURLOPT_CONNECTTIMEOUT_MS, milliseconds(settings.connect));
  curl_easy_setopt(handle, CURLOPT_TIMEOUT_MS, milliseconds(settings.whole));
  curl_easy_setopt(handle, CURLOPT_POST, 1L);
  curl_easy_setopt(handle, CURLOPT_POSTFIELDS, body.data());
  curl_easy_setopt(handle, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body.size()));
  curl_easy_setopt(handle, CURLOPT_HTTPHEADER, headers);
  if (settings.user.empty() && settings.password.empty()) return;
  curl_easy_setopt(handle, CURLOPT_HTTPAUTH, CURLAUTH_BASIC);
  curl_easy_setopt(handle, CURLOPT_USERNAME, settings.user.c_str());
  curl_easy_setopt(handle, CURLOPT_PASSWORD, settings.password.c_str());
}

}  // namespace

std::string push_url(const PushSettings& settings) {
  std::string url = settings.url;
  while (url.ends_with('/')) url.pop_back();
  url += "/metrics/job/holdfast/run";
  const std::string run = base::valid_utf8(settings.run);
  // The gateway splits the path after decoding it, and an empty part would be lost.
  const bool plain = !run.empty() && run.find('/') == std::string::npos && run != "." && run != "..";
  return url + (plain ? "/" + percent_encoded(run) : "@base64/" + (run.empty() ? "=" : base64url(run)));
}

std::string push(const PushSettings& settings, const std::string& exposition) {
  const Handle handle(curl_easy_init());
  const Headers headers(curl_slist_append(nullptr, kType));
  if (!handle || !headers) return "libcurl could not begin";
  const std::string url = push_url(settings);
  configure(handle.get(), settings, url, exposition, headers.get());
  std::array<char, CURL_ERROR_SIZE> words{};
  std::string answer;
  curl_easy_setopt(handle.get(), CURLOPT_ERRORBUFFER, words.data());
  curl_easy_setopt(handle.get(), CURLOPT_WRITEFUNCTION, keep_answer);
  curl_easy_setopt(handle.get(), CURLOPT_WRITEDATA, &answer);
  const CURLcode result = curl_easy_perform(handle.get());
  if (result != CURLE_OK) return words[0] != '\0' ? words.data() : curl_easy_strerror(result);
  long status = 0;
  curl_easy_getinfo(handle.get(), CURLINFO_RESPONSE_CODE, &status);
  if (status >= 200 && status < 300) return {};
  return "the answer is " + std::to_string(status) + (answer.empty() ? "" : ": " + base::shortened(answer, 200));
}

}  // namespace holdfast::telemetry
