// An address of this machine or its link that is asked again and again: a good answer is the notice.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "source.hpp"

namespace holdfast::plugins {

/// A GET without proxy and without following redirects. An answer of 2xx whose first 64 KiB hold `expect` is the
/// notice; anything else is none, and so is nobody who answers.
class UrlSource : public NoticeSource {
 public:
  struct Request {
    std::string url;
    std::vector<std::string> headers;  ///< "Metadata-Flavor: Google"
    std::string expect;                ///< empty: any answer
    std::chrono::nanoseconds timeout{};
  };
  explicit UrlSource(Request request) : request_(std::move(request)) {}
  [[nodiscard]] const char* name() const override { return "url"; }
  Look look(Ending& ending) override;

 private:
  Request request_;
};

}  // namespace holdfast::plugins
