// Datagrams to a service manager that the test plays.
#include "base/service_socket.hpp"

#include <doctest/doctest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <string>

#include "temp_folder.hpp"

using holdfast::base::ServiceSocket;

namespace {

/// A bound datagram socket; "@name" is abstract.
class Listener {
 public:
  explicit Listener(const std::string& name) : fd_(::socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, name.data(), name.size());
    if (name[0] == '@') address.sun_path[0] = '\0';
    const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
    REQUIRE(::bind(fd_, reinterpret_cast<const sockaddr*>(&address), size) == 0);
  }
  ~Listener() { ::close(fd_); }
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;
  [[nodiscard]] std::string next() const {
    std::string text(4096, '\0');
    const ssize_t size = ::recv(fd_, text.data(), text.size(), 0);
    text.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
    return text;
  }

 private:
  int fd_;
};

}  // namespace

TEST_CASE("messages arrive at a path and at an abstract name, one datagram each") {
  const holdfast::test::TempFolder temp;
  for (const std::string& name : {temp / "notify", "@holdfast-test-" + std::to_string(::getpid())}) {
    const Listener listener(name);
    ServiceSocket manager(name);
    CHECK(manager.listens());
    manager.send("READY=1\nSTATUS=training");
    manager.send("STOPPING=1");
    CHECK(listener.next() == "READY=1\nSTATUS=training");
    CHECK(listener.next() == "STOPPING=1");
  }
}

TEST_CASE("without a listener, or when it reads nothing, sending neither waits nor fails") {
  const holdfast::test::TempFolder temp;
  for (const std::string& name :
       {std::string(), std::string("relative"), std::string("@"), temp / "nobody", "/" + std::string(200, 'x')}) {
    ServiceSocket manager(name);
    CHECK(!manager.listens());
    manager.send("READY=1");
  }
  const Listener listener(temp / "slow");
  ServiceSocket manager(temp / "slow");
  for (int i = 0; i < 10'000; ++i) manager.send("WATCHDOG=1");
  CHECK(listener.next() == "WATCHDOG=1");
}
