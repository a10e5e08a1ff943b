// Deliveries to a Pushgateway: where they go, what is in them, and that no gateway can hold anybody up.
#include "telemetry/metrics/push.hpp"

#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "telemetry/metrics/pusher.hpp"

using namespace holdfast;
using namespace holdfast::telemetry;
using namespace std::chrono_literals;

namespace {

/// Listens on loopback; answers one request with `answer`, or accepts nothing when that is empty.
class Gateway {
 public:
  explicit Gateway(std::string answer) : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof at;
    REQUIRE(bind(fd_, reinterpret_cast<sockaddr*>(&at), size) == 0);
    REQUIRE(listen(fd_, 4) == 0);
    REQUIRE(getsockname(fd_, reinterpret_cast<sockaddr*>(&at), &size) == 0);
    port_ = ntohs(at.sin_port);
    if (!answer.empty()) thread_ = std::thread([this, answer] { serve(answer); });
  }
  ~Gateway() {
    if (thread_.joinable()) thread_.join();
    close(fd_);
  }
  Gateway(const Gateway&) = delete;
  Gateway& operator=(const Gateway&) = delete;

  [[nodiscard]] std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }
  /// After the answer.
  std::string request() {
    thread_.join();
    return request_;
  }

 private:
  void serve(const std::string& answer) {
    const int client = accept(fd_, nullptr, nullptr);
    char part[4096];
    while (request_.find("\n# end\n") == std::string::npos) {
      const ssize_t got = recv(client, part, sizeof part, 0);
      if (got <= 0) break;
      request_.append(part, static_cast<std::size_t>(got));
    }
    (void)!write(client, answer.data(), answer.size());
    close(client);
  }
  int fd_, port_ = 0;
  std::string request_;
  std::thread thread_;
};

PushSettings to(const std::string& url) {
  PushSettings settings;
  settings.url = url;
  settings.run = "digits";
  return settings;
}

constexpr const char* kText = "holdfast_run_update{run=\"digits\"} 7\n# end\n";

}  // namespace

TEST_CASE("the group is job and run, encoded as the gateway reads them") {
  const auto url = [](const std::string& base, const std::string& run) {
    PushSettings settings = to(base);
    settings.run = run;
    return push_url(settings);
  };
  CHECK(url("http://g:9091", "mnist-2.0_a") == "http://g:9091/metrics/job/holdfast/run/mnist-2.0_a");
  CHECK(url("http://g:9091/below//", "a b?c#d%e") == "http://g:9091/below/metrics/job/holdfast/run/a%20b%3Fc%23d%25e");
  CHECK(url("http://g", "\xc3\xbc") == "http://g/metrics/job/holdfast/run/%C3%BC");
  CHECK(url("http://g", "a/b") == "http://g/metrics/job/holdfast/run@base64/YS9i");
  CHECK(url("http://g", "a/bc") == "http://g/metrics/job/holdfast/run@base64/YS9iYw==");
  CHECK(url("http://g", "..") == "http://g/metrics/job/holdfast/run@base64/Li4=");
  CHECK(url("http://g", "") == "http://g/metrics/job/holdfast/run@base64/=");
}

TEST_CASE("a delivery is one POST with the text, the type and the credentials") {
  Gateway gateway("HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n");
  PushSettings settings = to(gateway.url());
  settings.user = "me";
  settings.password = "s3:cret";
  CHECK(push(settings, kText).empty());
  const std::string request = gateway.request();
  CHECK(request.starts_with("POST /metrics/job/holdfast/run/digits HTTP/1.1\r\n"));
  CHECK(request.find("\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n") != std::string::npos);
  CHECK(request.find("\r\nAuthorization: Basic bWU6czM6Y3JldA==\r\n") != std::string::npos);
  CHECK(request.ends_with(std::string("\r\n\r\n") + kText));
}

TEST_CASE("what the gateway objects to is told in its words, escaped and short") {
  Gateway gateway("HTTP/1.1 400 Bad Request\r\nContent-Length: 12\r\n\r\ntext \x1b[2J bad");
  CHECK(push(to(gateway.url()), kText) == "the answer is 400: text \\x1b[2J ba");
}

TEST_CASE("a redirect is not followed") {
  Gateway other("HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n"),
      gateway("HTTP/1.1 307 Moved\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n");
  CHECK(push(to(gateway.url()), kText) == "the answer is 307");
  CHECK(push(to(other.url()), kText).empty());
}

TEST_CASE("a gateway that is not there, and one that says nothing, are failures in bounded time") {
  CHECK(push(to("http://127.0.0.1:1"), kText).find("Failed to connect") != std::string::npos);
  const Gateway silent("");
  PushSettings settings = to(silent.url());
  settings.whole = 200ms;
  CHECK(push(settings, kText).find("timed out") != std::string::npos);
}

TEST_CASE("whoever offers never waits, the newest offer goes, and the end waits for it") {
  std::mutex mutex;
  std::condition_variable wake;
  bool open = false;
  std::vector<std::string> sent, told;
  {
    std::atomic<bool> begun{false};
    Pusher pusher(
        [&](const std::string& text) {
          begun = true;
          std::unique_lock lock(mutex);
          wake.wait(lock, [&] { return open; });
          sent.push_back(text);
          return text == "3" ? std::string() : "not taken";
        },
        [&](const std::string& problem) { told.push_back(problem); });
    pusher.offer("1");
    while (!begun) std::this_thread::yield();
    pusher.offer("2");
    pusher.offer("3");
    {
      const std::lock_guard lock(mutex);
      open = true;
    }
    wake.notify_all();
    pusher.finish();
    pusher.offer("4");
  }
  CHECK(sent == std::vector<std::string>{"1", "3"});
  CHECK(told == std::vector<std::string>{"not taken", ""});
}
