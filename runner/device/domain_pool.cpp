// Both pools over the system's pages.
#include "device/domain_pool.hpp"

#include <pthread.h>

namespace holdfast::device {
namespace {

struct Pools {
  Pools() { pthread_atfork(&before_fork, &after_fork, &after_fork); }
  static void before_fork();
  static void after_fork();

  SystemPages pages;
  Pool device{Domain::kDevice, pages};
  Pool host{Domain::kHost, pages};
};

Pools& pools() {
  static Pools& both = *new Pools;
  return both;
}

void Pools::before_fork() {
  pools().device.lock();
  pools().host.lock();
}

void Pools::after_fork() {
  pools().host.unlock();
  pools().device.unlock();
}

}  // namespace

Pool& pool_of(Domain domain) { return domain == Domain::kDevice ? pools().device : pools().host; }

}  // namespace holdfast::device
