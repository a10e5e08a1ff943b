// The endpoint seen by clients that behave, and by those that do not.
#include "telemetry/metrics/endpoint.hpp"

#include <dirent.h>
#include <doctest/doctest.h>
#include <fcntl.h>

#include <atomic>
#include <csignal>
#include <fstream>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#include "telemetry/client.hpp"

using namespace holdfast;
using namespace holdfast::telemetry;
using holdfast::test::ask;
using holdfast::test::Client;

namespace {

std::unique_ptr<Endpoint> serve(
    std::function<std::string()> text = [] { return std::string("a 1\n"); }, const char* address = "127.0.0.1:0") {
  std::string problem;
  auto endpoint = Endpoint::open(*base::parse_listen_address(address).address, std::move(text), problem);
  REQUIRE_MESSAGE(endpoint, problem);
  return endpoint;
}

std::set<std::string> threads() {
  std::set<std::string> ids;
  DIR* folder = opendir("/proc/self/task");
  while (const dirent* entry = readdir(folder))
    if (entry->d_name[0] != '.') ids.insert(entry->d_name);
  closedir(folder);
  return ids;
}

std::size_t descriptors() {
  std::size_t count = 0;
  DIR* folder = opendir("/proc/self/fd");
  while (readdir(folder) != nullptr) ++count;
  closedir(folder);
  return count;
}

std::string blocked_signals(const std::string& thread) {
  std::ifstream status("/proc/self/task/" + thread + "/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("SigBlk:")) return line.substr(line.find_last_of(" \t") + 1);
  return {};
}

}  // namespace

TEST_CASE("GET /metrics gives the text with its content type") {
  const auto endpoint = serve();
  const std::string answer = ask(endpoint->address().port, "GET", "/metrics");
  CHECK(answer.starts_with("HTTP/1.1 200 OK\r\n"));
  CHECK(answer.find("Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n") != std::string::npos);
  CHECK(answer.ends_with("\r\n\r\na 1\n"));
  CHECK(endpoint->url() == "http://127.0.0.1:" + std::to_string(endpoint->address().port) + "/metrics");
}

TEST_CASE("HEAD gives the head alone, / points to the metrics, the rest is 404 or 405") {
  const auto endpoint = serve();
  const int port = endpoint->address().port;
  const std::string head = ask(port, "HEAD", "/metrics");
  CHECK(head.starts_with("HTTP/1.1 200 OK\r\n"));
  CHECK(head.find("Content-Length: 4\r\n") != std::string::npos);
  CHECK(head.ends_with("\r\n\r\n"));
  CHECK(ask(port, "GET", "/").ends_with("\r\n\r\nholdfast: the metrics of a training run are at /metrics\n"));
  CHECK(ask(port, "GET", "/metrics?x=1").starts_with("HTTP/1.1 200 "));
  CHECK(ask(port, "GET", "/metrics/../etc/passwd").starts_with("HTTP/1.1 404 "));
  CHECK(ask(port, "GET", "/other").ends_with("\r\n\r\nthere is only /metrics here\n"));
  const std::string posted = ask(port, "POST", "/metrics", "Content-Length: 3\r\n");
  CHECK(posted.starts_with("HTTP/1.1 405 "));
  CHECK(posted.find("Allow: GET, HEAD\r\n") != std::string::npos);
  CHECK(ask(port, "DELETE", "/").starts_with("HTTP/1.1 405 "));
}

TEST_CASE("a connection serves one scrape after another") {
  const auto endpoint = serve();
  const Client client(endpoint->address().port);
  client.send("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\nGET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  const std::string both = client.rest();
  CHECK(both.find("a 1\nHTTP/1.1 200 OK\r\n") != std::string::npos);
}

TEST_CASE("a text that cannot be made is a 500 with the reason") {
  const auto endpoint = serve([]() -> std::string { throw std::runtime_error("no figures"); });
  const std::string answer = ask(endpoint->address().port, "GET", "/metrics");
  CHECK(answer.starts_with("HTTP/1.1 500 "));
  CHECK(answer.ends_with("\r\n\r\nthe metrics could not be written: no figures\n"));
}

TEST_CASE("C97: a good scrape is answered while 25 clients stall") {
  const auto endpoint = serve([] { return std::string(1'000'000, 'x') + "\n"; });
  const int port = endpoint->address().port;
  std::vector<Client> stalled;
  for (int i = 0; i < 25; ++i) {
    stalled.emplace_back(port);
    if (i % 3 == 1) stalled.back().send("GET /met");
    if (i % 3 == 2) stalled.back().send("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");  // and never reads
  }
  const std::string answer = ask(port, "GET", "/metrics");
  CHECK(answer.starts_with("HTTP/1.1 200 OK\r\n"));
  CHECK(answer.size() > 1'000'000);
}

TEST_CASE("C97: a request that is too large is refused, garbage is closed, and the next scrape is answered") {
  const auto endpoint = serve();
  const int port = endpoint->address().port;
  const Client large(port);
  large.send("GET /metrics HTTP/1.1\r\nHost: x\r\nX: ");
  large.send(std::string(1 << 20, 'y'));
  const std::string refused = large.rest();
  CHECK((refused.empty() || refused.starts_with("HTTP/1.1 4")));
  for (const auto& garbage :
       {std::string("\0\xff\n\n", 4), std::string("GET\r\n\r\n"), std::string("\x16\x03\x01 TLS\r\n\r\n")}) {
    const Client client(port);
    client.send(garbage);
    client.done();
    (void)client.rest();
  }
  CHECK(ask(port, "GET", "/metrics").ends_with("a 1\n"));
}

TEST_CASE("C97: a burst of a thousand scrapes is answered and leaves no descriptor behind") {
  const auto endpoint = serve();
  const int port = endpoint->address().port;
  REQUIRE(ask(port, "GET", "/metrics").ends_with("a 1\n"));
  const auto before = descriptors();
  std::atomic<int> answered{0};
  std::vector<std::thread> clients;
  for (int i = 0; i < 50; ++i)
    clients.emplace_back([&] {
      for (int k = 0; k < 20; ++k)
        if (ask(port, "GET", "/metrics").ends_with("a 1\n")) ++answered;
    });
  for (auto& client : clients) client.join();
  CHECK(answered == 1000);
  REQUIRE(ask(port, "GET", "/metrics").ends_with("a 1\n"));  // those before it have been closed by now
  CHECK(descriptors() <= before + 1);
}

TEST_CASE("it ends with clients connected, and the port can be had again at once") {
  auto endpoint = serve();
  const int port = endpoint->address().port;
  std::vector<Client> stalled;
  for (int i = 0; i < 25; ++i) {
    stalled.emplace_back(port);
    if (i % 2 == 1) stalled.back().send("GET /metrics HTTP/1.1\r\n");
  }
  CHECK(ask(port, "GET", "/metrics").ends_with("a 1\n"));
  endpoint.reset();
  CHECK(stalled.back().rest().empty());  // closed, not merely forgotten
  endpoint = serve([] { return std::string("b 2\n"); }, ("127.0.0.1:" + std::to_string(port)).c_str());
  CHECK(ask(port, "GET", "/metrics").ends_with("b 2\n"));
}

TEST_CASE("C94: a port that another listens on cannot be had, in the system's words") {
  const auto endpoint = serve();
  std::string problem;
  CHECK_FALSE(Endpoint::open(endpoint->address(), [] { return std::string(); }, problem));
  CHECK(problem == "Address already in use");
  CHECK_FALSE(
      Endpoint::open(*base::parse_listen_address("192.0.2.1:0").address, [] { return std::string(); }, problem));
  CHECK(problem == "Cannot assign requested address");
}

TEST_CASE("IPv6 and every address are served where the machine has them") {
  std::string problem;
  const auto v6 =
      Endpoint::open(*base::parse_listen_address("[::1]:0").address, [] { return std::string("a 1\n"); }, problem);
  if (v6) {
    const Client client(v6->address().port, true);
    client.send("GET /metrics HTTP/1.0\r\n\r\n");
    CHECK(client.rest().ends_with("a 1\n"));
    CHECK(v6->url() == "http://[::1]:" + std::to_string(v6->address().port) + "/metrics");
  } else {
    CHECK((problem == "Cannot assign requested address" || problem == "Address family not supported by protocol"));
  }
  const auto every = serve([] { return std::string("a 1\n"); }, ":0");
  CHECK(ask(every->address().port, "GET", "/metrics").ends_with("a 1\n"));
  CHECK(every->url() == "http://127.0.0.1:" + std::to_string(every->address().port) + "/metrics");
}

TEST_CASE("the server's thread takes no signal, and this one takes what it took before") {
  sigset_t before{}, after{};
  pthread_sigmask(SIG_BLOCK, nullptr, &before);
  const auto others = threads();
  const auto endpoint = serve();
  CHECK(ask(endpoint->address().port, "GET", "/").starts_with("HTTP/1.1 200"));  // it runs: its mask is its own
  pthread_sigmask(SIG_BLOCK, nullptr, &after);
  int fresh = 0;
  for (const auto& thread : threads()) {
    if (others.contains(thread)) continue;
    ++fresh;
    const auto mask = std::stoull(blocked_signals(thread), nullptr, 16);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGCHLD, SIGPIPE})
      CHECK((mask >> (signal - 1) & 1) == 1);
    CHECK((mask >> (SIGSEGV - 1) & 1) == 0);
  }
  CHECK(fresh == 1);
  CHECK(sigismember(&before, SIGTERM) == sigismember(&after, SIGTERM));
}

TEST_CASE("its sockets do not outlive an exec") {
  const auto endpoint = serve();
  const Client client(endpoint->address().port);
  CHECK(ask(endpoint->address().port, "GET", "/").starts_with("HTTP/1.1 200"));
  DIR* folder = opendir("/proc/self/fd");
  while (const dirent* entry = readdir(folder)) {
    char target[64] = {};
    const std::string link = std::string("/proc/self/fd/") + entry->d_name;
    if (entry->d_name[0] == '.' || readlink(link.c_str(), target, sizeof target - 1) < 0) continue;
    const std::string what = target;
    if (!what.starts_with("socket:") && !what.starts_with("anon_inode:")) continue;
    CAPTURE(what);
    CHECK((fcntl(std::stoi(entry->d_name), F_GETFD) & FD_CLOEXEC) != 0);
  }
  closedir(folder);
}
