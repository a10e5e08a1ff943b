// LibTorch on the pools: every tensor is counted, refusals are LibTorch's own exception, older blocks stay valid.
#include "device/allocator.hpp"

#include <doctest/doctest.h>
#include <torch/torch.h>

#include <thread>

#include "device/domain_pool.hpp"
#include "device/memory.hpp"
#include "device/out_of_memory.hpp"

using namespace holdfast;
using device::Domain;

namespace {

/// The pools as this test's own: no budget is left behind.
struct Installed {
  Installed() { device::install_allocator(); }
  ~Installed() {
    for (const auto domain : {Domain::kDevice, Domain::kHost}) device::pool_of(domain).set_budget(0);
  }
  static std::int64_t held(Domain domain = Domain::kDevice) { return device::pool_of(domain).reading().allocated; }
};

}  // namespace

TEST_CASE("blocks of the allocator before stay valid and go back to it") {
  // The default allocator's, whatever other tests installed: resize_ and the deleter are the storage's own.
  at::Tensor older = at::from_blob(std::calloc(64, 4), {64}, [](void* data) { std::free(data); }, at::kFloat);
  const Installed installed;
  const std::int64_t before = Installed::held();
  at::Tensor copy = older.clone();
  CHECK(Installed::held() == before + 256);
  older.reset();
  CHECK(copy.sum().item<float>() == 0);
  copy.reset();
  CHECK(Installed::held() == before);
}

TEST_CASE("tensors are counted to the byte, and raw allocations hold LibTorch's promise") {
  const Installed installed;
  const std::int64_t before = Installed::held();
  {
    const at::Tensor a = at::empty({1000, 3}, at::kFloat), b = at::empty({7}, at::kByte), none = at::empty({0});
    CHECK(Installed::held() == before + 12007);
    CHECK(reinterpret_cast<std::uintptr_t>(a.data_ptr()) % 64 == 0);
    CHECK(none.data_ptr() == nullptr);
  }
  CHECK(Installed::held() == before);
  at::Tensor grown = at::empty({10}, at::kFloat);
  grown.resize_({1000});
  CHECK(Installed::held() == before + 4000);
  grown.reset();
  CHECK(Installed::held() == before);
}

TEST_CASE("a host scope allocates from the host, and a free elsewhere finds its way back") {
  const Installed installed;
  const std::int64_t device_before = Installed::held(), host_before = Installed::held(Domain::kHost);
  at::Tensor made;
  std::thread([&] {
    device::set_thread_domain(Domain::kHost);
    made = at::ones({500}, at::kFloat);
  }).join();
  CHECK(Installed::held() == device_before);
  CHECK(Installed::held(Domain::kHost) == host_before + 2000);
  made.reset();
  CHECK(Installed::held(Domain::kHost) == host_before);
  const device::HostScope host;
  const at::Tensor other = at::empty({8}, at::kByte);
  CHECK(Installed::held(Domain::kHost) == host_before + 8);
}

TEST_CASE("a full device domain is LibTorch's own exception with the three numbers") {
  const Installed installed;
  const std::int64_t held = Installed::held();
  device::pool_of(Domain::kDevice).set_budget(held + (3 << 20));
  const at::Tensor fits = at::empty({2 << 20}, at::kByte);
  try {
    at::empty({2 << 20}, at::kByte);
    FAIL("served over the budget");
  } catch (const c10::OutOfMemoryError& failure) {
    std::string text;
    CHECK(device::is_device_out_of_memory(failure, text));
    CHECK(text.starts_with("device memory: wanted 2.0 MiB, free 1.0 MiB of the budget of "));
    CHECK(device::is_over_budget(failure));
  }
  CHECK(Installed::held() == held + (2 << 20));
}

TEST_CASE("a full host domain is a failure of the host's memory") {
  const Installed installed;
  device::pool_of(Domain::kHost).set_budget(Installed::held(Domain::kHost) + 100);
  const device::HostScope host;
  bool caught = false;
  try {
    at::empty({101}, at::kByte);
  } catch (const std::bad_alloc& failure) {
    caught = true;
    CHECK(std::string(failure.what()).starts_with("host memory: wanted 101 B, free 100 B of the budget of "));
    CHECK(device::is_over_budget(failure));
  }
  CHECK(caught);
}

TEST_CASE("what the system does not give is told apart from the budget") {
  const Installed installed;
  try {
    at::empty({std::int64_t{1} << 46}, at::kByte);
    FAIL("served 64 TiB");
  } catch (const c10::OutOfMemoryError& failure) {
    std::string text;
    CHECK(device::is_device_out_of_memory(failure, text));
    CHECK(text.starts_with("device memory: wanted 64.0 TiB, which the system does not give ("));
    CHECK_FALSE(device::is_over_budget(failure));
  }
}

TEST_CASE("the same work asks for the same peak every time") {
  const Installed installed;
  device::Pool& pool = device::pool_of(Domain::kDevice);
  std::vector<std::int64_t> peaks;
  for (int i = 0; i < 3; ++i) {
    torch::nn::Sequential net(torch::nn::Linear(64, 128), torch::nn::ReLU(), torch::nn::Linear(128, 10));
    const std::int64_t held = pool.reading().allocated, outer = pool.open_peak();
    net->forward(at::ones({32, 64})).sum().backward();
    peaks.push_back(pool.close_peak(outer) - held);
    device::release_caches();
  }
  CHECK(peaks[0] > 32 * 128 * 4);
  CHECK(peaks[1] == peaks[0]);
  CHECK(peaks[2] == peaks[0]);
}
