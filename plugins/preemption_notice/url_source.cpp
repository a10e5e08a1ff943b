// libcurl's multi interface with one transfer: only that can be left at any moment.
#include "url_source.hpp"

#include <curl/curl.h>

#include <algorithm>
#include <memory>

#include "local_url.hpp"

namespace holdfast::plugins {
namespace {

constexpr std::size_t kMostBody = 65536;
constexpr int kSliceMilliseconds = 20;

struct HandleEnd {  // CURL and CURLM are both void
  void operator()(CURL* handle) const { curl_easy_cleanup(handle); }
};
struct MultiEnd {
  void operator()(CURLM* multi) const { curl_multi_cleanup(multi); }
};
struct ListEnd {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};

std::size_t keep_body(char* bytes, std::size_t size, std::size_t count, void* into) {
  auto& body = *static_cast<std::string*>(into);
  body.append(bytes, std::min(size * count, kMostBody - body.size()));
  return size * count;
}

std::unique_ptr<curl_slist, ListEnd> list_of(const std::vector<std::string>& headers) {
  std::unique_ptr<curl_slist, ListEnd> list;
  for (const std::string& header : headers)
    if (curl_slist* longer = curl_slist_append(list.get(), header.c_str())) (void)list.release(), list.reset(longer);
  return list;
}

void configure(CURL* handle, const UrlSource::Request& request, curl_slist* headers, std::string& body) {
  const auto milliseconds =
      static_cast<long>(std::chrono::duration_cast<std::chrono::milliseconds>(request.timeout).count());
  curl_easy_setopt(handle, CURLOPT_URL, request.url.c_str());
  curl_easy_setopt(handle, CURLOPT_PROTOCOLS_STR, "http");
  curl_easy_setopt(handle, CURLOPT_PROXY, "");
  curl_easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(handle, CURLOPT_FRESH_CONNECT, 1L);
  curl_easy_setopt(handle, CURLOPT_TIMEOUT_MS, std::max(1L, milliseconds));
  curl_easy_setopt(handle, CURLOPT_HTTPHEADER, headers);
  curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, keep_body);
  curl_easy_setopt(handle, CURLOPT_WRITEDATA, &body);
}

/// False when the end came first, or libcurl failed.
bool carry_out(CURLM* multi, Ending& ending) {
  int running = 1;
  while (running > 0) {
    if (curl_multi_perform(multi, &running) != CURLM_OK) return false;
    if (running == 0) return true;
    if (curl_multi_poll(multi, nullptr, 0, kSliceMilliseconds, nullptr) != CURLM_OK) return false;
    if (ending.within(std::chrono::nanoseconds{0})) return false;
  }
  return true;
}

}  // namespace

Look UrlSource::look(Ending& ending) {
  const std::unique_ptr<CURLM, MultiEnd> multi(curl_multi_init());
  const std::unique_ptr<CURL, HandleEnd> handle(curl_easy_init());
  const auto headers = list_of(request_.headers);
  if (!multi || !handle) return {{}, "libcurl could not begin"};
  std::string body;
  configure(handle.get(), request_, headers.get(), body);
  if (curl_multi_add_handle(multi.get(), handle.get()) != CURLM_OK) return {{}, "libcurl could not begin"};
  const bool done = carry_out(multi.get(), ending);
  int more = 0;
  const CURLMsg* message = done ? curl_multi_info_read(multi.get(), &more) : nullptr;
  const bool well = message != nullptr && message->msg == CURLMSG_DONE && message->data.result == CURLE_OK;
  long status = 0;
  curl_easy_getinfo(handle.get(), CURLINFO_RESPONSE_CODE, &status);
  curl_multi_remove_handle(multi.get(), handle.get());
  if (!well || status < 200 || status > 299 || body.find(request_.expect) == std::string::npos) return {};
  return {shown_url(request_.url) + " answered " + std::to_string(status), {}};
}

}  // namespace holdfast::plugins
