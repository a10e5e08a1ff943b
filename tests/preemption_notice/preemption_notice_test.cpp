// The hook "preemption_notice": its three sources, what a recipe may not ask for, and how it ends.
#include "preemption_notice/preemption_notice.hpp"

#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <thread>

#include "fixtures/components.hpp"
#include "preemption_notice/command_source.hpp"
#include "preemption_notice/local_url.hpp"
#include "preemption_notice/url_source.hpp"
#include "temp_folder.hpp"

using namespace holdfast;
using namespace std::chrono_literals;
using holdfast::plugins::CommandSource;
using holdfast::plugins::Ending;
using holdfast::plugins::local_url_fault;
using holdfast::plugins::Look;
using holdfast::plugins::PreemptionNotice;
using holdfast::plugins::UrlSource;
using holdfast::test::defaults;
using holdfast::test::Lender;
using holdfast::test::TempFolder;
using holdfast::test::told;

namespace {

/// An HTTP server on loopback that gives each caller the same answer, or none.
class Server {
 public:
  explicit Server(std::string answer) : answer_(std::move(answer)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socket_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    REQUIRE(::bind(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
    REQUIRE(::listen(socket_, 8) == 0);
    socklen_t size = sizeof address;
    ::getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { serve(); });
  }
  ~Server() {
    ending_ = true;
    ::shutdown(socket_, SHUT_RDWR);
    thread_.join();
    ::close(socket_);
  }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  std::string url(const std::string& path = "/notice") const {
    return "http://127.0.0.1:" + std::to_string(port_) + path;
  }
  std::string asked;  ///< the last request; read it when the server has answered

 private:
  void serve() {
    while (!ending_) {
      const int caller = ::accept4(socket_, nullptr, nullptr, SOCK_CLOEXEC);
      if (caller < 0) continue;
      char bytes[4096];
      const ssize_t got = ::recv(caller, bytes, sizeof bytes, 0);
      if (got > 0) asked.assign(bytes, static_cast<std::size_t>(got));
      while (answer_.empty() && !ending_) std::this_thread::sleep_for(5ms);
      (void)!::send(caller, answer_.data(), answer_.size(), MSG_NOSIGNAL);
      ::close(caller);
    }
  }
  std::string answer_;
  int socket_ = -1, port_ = 0;
  std::atomic<bool> ending_ = false;
  std::thread thread_;
};

std::string answer(const std::string& status, const std::string& body, const std::string& more = "") {
  return "HTTP/1.1 " + status + "\r\nContent-Length: " + std::to_string(body.size()) + "\r\nConnection: close\r\n" +
         more + "\r\n" + body;
}

Look ask(const std::string& url, const std::string& expect = "", std::vector<std::string> headers = {}) {
  Ending never;
  return UrlSource({url, std::move(headers), expect, 5s}).look(never);
}

Look run(std::vector<std::string> argv, std::chrono::nanoseconds timeout = 10s) {
  Ending never;
  return CommandSource(std::move(argv), timeout).look(never);
}

/// Begun, and asked at edges until it asks for the end.
Requests wait_for_notice(PreemptionNotice& hook) {
  hook.run_begin({});
  while (true) {
    Requests requests;
    hook.window_end({}, requests);
    if (requests.stop_code) return requests;
    std::this_thread::sleep_for(2ms);
  }
}

bool has_children() { return ::waitpid(-1, nullptr, WNOHANG) >= 0 || errno != ECHILD; }

}  // namespace

TEST_CASE("a file that appears stops the run with 75 and says what it was") {
  const TempFolder folder;
  Lender lender;
  Options options = defaults<PreemptionNotice>();
  options.set("file", folder.path() + "/notice");
  options.set("every", Duration(5ms));
  PreemptionNotice hook(options, lender.context("hook.preemption_notice"));
  hook.run_begin({});
  Requests none;
  hook.window_end({}, none);
  CHECK_FALSE(none.stop_code);
  std::ofstream(folder.path() + "/notice") << "soon";
  const Requests asked = wait_for_notice(hook);
  CHECK(asked.stop_code == ExitCode::kStoppedAfterSave);
  CHECK(asked.preemption_source == "file");
  CHECK(asked.stop_reason == "preemption notice: the file " + folder.path() + "/notice is there");
  hook.run_end(ExitCode::kStoppedAfterSave);
  CHECK(lender.log.lines == std::vector<std::string>{"preemption notice: the file " + folder.path() +
                                                     "/notice is there; the run saves and ends after this window"});
}

TEST_CASE("a command gives notice by its success alone") {
  CHECK(run({"true"}).notice == "the command 'true' succeeded");
  for (const auto& argv : {std::vector<std::string>{"false"}, {"sh", "-c", "exit 3"}, {"sh", "-c", "kill -9 $$"}}) {
    const Look look = run(argv);
    CHECK_FALSE(look.notice);
    CHECK(look.fault.empty());
  }
  CHECK_FALSE(has_children());
}

TEST_CASE("without exit codes of children no command gives notice") {
  const auto before = ::signal(SIGCHLD, SIG_IGN);
  const Look look = run({"true"});
  ::signal(SIGCHLD, before);
  CHECK_FALSE(look.notice);
  CHECK(look.fault == "the command 'true' left no exit code: SIGCHLD is ignored in this process");
}

TEST_CASE("a command sees no shell, no open files, and no signal that holdfast blocks") {
  const TempFolder folder;
  CHECK_FALSE(run({"test", "$HOME", "=", ""}).notice);
  CHECK(run({"test", "$HOME", "=", "$HOME"}).notice);
  const int leaked = ::dup(0);  // without close-on-exec
  CHECK(run({"sh", "-c", "! test -e /proc/self/fd/" + std::to_string(leaked)}).notice);
  ::close(leaked);
  CHECK(run({"sh", "-c", "test \"$(readlink /proc/self/fd/0)\" = /dev/null"}).notice);
  CHECK(run({"sh", "-c", "grep -q '^SigBlk:.0*$' /proc/self/status"}).notice);
}

TEST_CASE("what a command prints goes nowhere") {
  const TempFolder folder;
  const std::string caught = folder.path() + "/caught";
  std::fflush(stdout);
  const int before = ::dup(1), file = ::open(caught.c_str(), O_CREAT | O_RDWR, 0600);
  ::dup2(file, 1);
  const Look look = run({"sh", "-c", "echo out; echo err >&2"});
  ::dup2(before, 1);
  ::close(before);
  CHECK(look.notice);
  CHECK(::lseek(file, 0, SEEK_END) == 0);
  ::close(file);
}

TEST_CASE("a command that takes too long is killed with all that it started, and said so") {
  const TempFolder folder;
  const std::string survivor = folder.path() + "/survivor";
  const Look look = run({"sh", "-c", "(sleep 0.4; touch " + survivor + ") & sleep 600"}, 100ms);
  CHECK_FALSE(look.notice);
  CHECK(look.fault == "the command 'sh' took longer than 0.1 s and was killed");
  CHECK_FALSE(has_children());
  std::this_thread::sleep_for(700ms);
  CHECK(::access(survivor.c_str(), F_OK) != 0);
}

TEST_CASE("a command that is not there is told once and tried again") {
  CHECK(run({"/nonexistent/spot"}).fault ==
        "the command '/nonexistent/spot' cannot be started: No such file or directory");
  Lender lender;
  {
    Options options = defaults<PreemptionNotice>();
    options.set("command", std::vector<std::string>{"/nonexistent/spot"});
    options.set("every", Duration(1ms));
    PreemptionNotice hook(options, lender.context("hook.preemption_notice"));
    hook.run_begin({});
    std::this_thread::sleep_for(100ms);
  }
  CHECK(lender.log.lines == std::vector<std::string>{
                                "preemption notice: the command '/nonexistent/spot' cannot be started: No such file or "
                                "directory; it is tried again (told once)"});
}

TEST_CASE("an address gives notice by an answer of 2xx that holds the expected text") {
  const Server good(answer("200 OK", "preempted: TRUE"));
  CHECK(ask(good.url("/notice?token=secret")).notice == good.url() + " answered 200");
  CHECK(ask(good.url(), "TRUE", {"Metadata-Flavor: Google"}).notice);
  CHECK(good.asked.find("GET /notice HTTP/1.1\r\n") == 0);
  CHECK(good.asked.find("Metadata-Flavor: Google\r\n") != std::string::npos);
  CHECK_FALSE(ask(good.url(), "FALSE").notice);
  CHECK_FALSE(ask(Server(answer("404 Not Found", "nothing")).url()).notice);
  CHECK_FALSE(ask(Server(answer("302 Found", "", "Location: " + good.url() + "\r\n")).url()).notice);
  CHECK_FALSE(ask(Server("this is not HTTP").url()).notice);
  std::string nobody;
  { nobody = Server("").url(); }
  CHECK_FALSE(ask(nobody).notice);
}

TEST_CASE("a proxy of the environment is not asked") {
  const Server good(answer("204 No Content", "")), proxy(answer("200 OK", ""));
  ::setenv("http_proxy", proxy.url("").c_str(), 1);
  CHECK(ask(good.url()).notice);
  ::unsetenv("http_proxy");
  CHECK(proxy.asked.empty());
}

TEST_CASE("the end is not kept waiting: by a command that sleeps, a server that says nothing, a long pause") {
  const Server silent("");
  Options options[3] = {defaults<PreemptionNotice>(), defaults<PreemptionNotice>(), defaults<PreemptionNotice>()};
  options[0].set("command", std::vector<std::string>{"sleep", "600"});
  options[1].set("url", silent.url());
  options[2].set("file", std::string("/nonexistent/notice"));
  for (Options& each : options) {
    each.set("timeout", Duration(600s));
    each.set("every", Duration(3600s));
    Lender lender;
    PreemptionNotice hook(each, lender.context("hook.preemption_notice"));
    hook.run_begin({});
    std::this_thread::sleep_for(50ms);
    hook.run_end(ExitCode::kOk);  // with a wait for any of these this test would take ten minutes
    CHECK(lender.log.lines.empty());
  }
  CHECK_FALSE(has_children());
}

TEST_CASE("only plain http to this machine and its link may be asked") {
  for (const char* url : {"http://localhost", "http://localhost:8080/x?y=z", "http://127.0.0.1/a",
                          "http://127.8.9.1:1/", "http://[::1]:80/",
                          "http://169.254.169.254/latest/meta-data/spot/instance-action", "http://[fe80::1%25eth0]/x"})
    CHECK_MESSAGE(local_url_fault(url).empty(), url);
  for (const char* url : {"",
                          "https://localhost",
                          "ftp://localhost",
                          "file:///etc/passwd",
                          "http://",
                          "http:///x",
                          "http://example.com",
                          "http://10.0.0.1",
                          "http://127.0.0.1.example.com",
                          "http://localhost.example.com",
                          "http://127.1",
                          "http://0x7f000001",
                          "http://2130706433",
                          "http://[::ffff:127.0.0.1]/",
                          "http://[2001:db8::1]/",
                          "http://[::1",
                          "http://[::1]x/",
                          "http://localhost@example.com/",
                          "http://127.0.0.1:80@example.com/",
                          "http://localhost:x/",
                          "http://localhost:",
                          "http://localhost\\@example.com",
                          "http://local host/",
                          "HTTP://localhost",
                          "http://169.255.0.1/",
                          "http://metadata.google.internal/"})
    CHECK_MESSAGE(!local_url_fault(url).empty(), url);
}

TEST_CASE("what cannot give notice is refused with the key and what to do") {
  Lender lender;
  const auto made = [&](const std::function<void(Options&)>& set) {
    Options options = defaults<PreemptionNotice>();
    set(options);
    return told([&] { PreemptionNotice(options, lender.context("hook.preemption_notice")); });
  };
  CHECK(
      made([](Options&) {}) ==
      "78 hook.preemption_notice: error[preemption_notice.source]: nothing is said that could give notice\n  hint: set "
      "`file`, `command` or `url`");
  CHECK(made([](Options& o) { o.set("url", std::string("https://example.com")); }) ==
        "78 hook.preemption_notice: error[preemption_notice.url]: `url` cannot be asked: got 'https://example.com'; it "
        "must begin with http://\n  hint: use `command` for anything else, for example [\"curl\", \"-sf\", ...]");
  CHECK(
      made([](Options& o) { o.set("command", std::vector<std::string>{""}); }) ==
      "78 hook.preemption_notice: error[preemption_notice.command]: the first word of `command` is empty\n  hint: name "
      "a program: [\"/usr/bin/spot-notice\"]");
  CHECK(made([](Options& o) {
          o.set("url", std::string("http://localhost"));
          o.set("headers", std::vector<std::string>{"a: b\r\nc: d"});
        }) ==
        "78 hook.preemption_notice: error[preemption_notice.headers]: one of `headers` has a line break\n  hint: give "
        "each header an item of its own");
}
