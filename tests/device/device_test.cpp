// Devices, threads, seeds, memory: what a run asks of the machine.
#include "device/device.hpp"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <c10/core/CPUAllocator.h>
#include <doctest/doctest.h>
#include <omp.h>
#include <torch/version.h>

#include <thread>

#include "device/anomaly.hpp"
#include "device/memory.hpp"
#include "device/out_of_memory.hpp"
#include "device/random.hpp"
#include "device/threads.hpp"
#include "holdfast/error.hpp"

using namespace holdfast;

TEST_CASE("a device that this build cannot use is refused, never replaced") {
  CHECK(device::select("cpu") == at::Device(at::kCPU));
  if (at::hasCUDA()) return;
  CHECK(device::select("auto") == at::Device(at::kCPU));
  for (const std::string name : {"cuda", "cuda:1"}) {
    const std::string expected =
        "run.device: error[device.unavailable]: device '" + name +
        "' was asked for, but this build of LibTorch (" TORCH_VERSION
        ") has no CUDA\n  hint: set run.device to \"cpu\", or use a build of LibTorch with CUDA "
        "on a machine with a GPU";
    try {
      device::select(name);
      FAIL("accepted " << name);
    } catch (const Error& error) {
      CHECK(std::string(error.what()) == expected);
      CHECK(error.code() == ExitCode::kUnavailable);
    }
  }
}

TEST_CASE("the switches of CUDA reach LibTorch and are taken back") {
  device::set_cuda({false, 0, true, true});
  CHECK(at::globalContext().benchmarkCuDNN());
  CHECK(at::globalContext().allowTF32CuDNN());
  CHECK(at::globalContext().allowTF32CuBLAS());
  device::set_cuda({});
  CHECK_FALSE(at::globalContext().benchmarkCuDNN());
  CHECK_FALSE(at::globalContext().allowTF32CuDNN());
  CHECK_FALSE(at::globalContext().allowTF32CuBLAS());
}

TEST_CASE("anomaly mode names the operation that made a NaN, and is off again when switched off") {
  const auto backward = [] {
    const at::Tensor x = at::zeros({2}).requires_grad_(true);
    (x.sqrt() * 0).sum().backward();
    return x.grad();
  };
  CHECK(backward().isnan().all().item<bool>());
  device::set_anomaly_mode(true);
  std::string told;
  try {
    backward();
  } catch (const std::exception& failure) {
    told = device::sentence_of(failure);
    CHECK(device::is_anomaly(told));
  }
  CHECK(told.find("SqrtBackward0") != std::string::npos);
  device::set_anomaly_mode(false);
  CHECK_FALSE(device::is_anomaly(told));
  CHECK(backward().isnan().all().item<bool>());
}

TEST_CASE("an unknown device name is a fault of the recipe") {
  CHECK_THROWS_WITH_AS(
      device::select("gpu"),
      "run.device: error[device.unknown]: got 'gpu'; a device is \"auto\", \"cpu\", \"cuda\" or \"cuda:N\"", Error);
}

TEST_CASE("a loader thread computes alone and leaves the others their number") {
  device::set_compute_threads(2);
  CHECK(at::get_num_threads() == 2);
  int alone = 0, later = 0;
  std::thread([&] {
    device::compute_alone_here();
    alone = omp_get_max_threads();
  }).join();
  std::thread([&] { later = at::get_num_threads(); }).join();
  CHECK(alone == 1);
  CHECK(later == 2);
  CHECK(at::get_num_threads() == 2);
  CHECK(device::physical_cores() >= 1);
}

TEST_CASE("random numbers depend on seed, update and sample, and on nothing else") {
  const auto draw = [](std::uint64_t seed, std::int64_t update, std::int64_t sample) {
    device::seed_generators(seed, update, sample);
    return at::rand({8});
  };
  const at::Tensor first = draw(1, 2, 3);
  at::rand({100});
  CHECK(at::equal(draw(1, 2, 3), first));
  CHECK_FALSE(at::equal(draw(2, 2, 3), first));
  CHECK_FALSE(at::equal(draw(1, 3, 3), first));
  CHECK_FALSE(at::equal(draw(1, 2, 4), first));
  CHECK_FALSE(at::equal(draw(1, 3, 2), draw(1, 2, 3)));
}

TEST_CASE("only the allocator's exception is a full device") {
  std::string text;
  const c10::OutOfMemoryError full({"f", "file", 1}, "tried to allocate 9 GiB");
  CHECK(device::is_device_out_of_memory(full, text));
  CHECK(text == "tried to allocate 9 GiB");
  CHECK_FALSE(device::is_device_out_of_memory(std::bad_alloc(), text));
  CHECK_FALSE(device::is_device_out_of_memory(c10::Error({"f", "file", 1}, "size mismatch"), text));
}

TEST_CASE("an allocation that the CPU refuses is recognised by its words") {
  std::string text;
  bool recognised = false;
  try {
    c10::GetDefaultCPUAllocator()->allocate(std::size_t{1} << 55);  // the tensors of other tests have another one
  } catch (const std::exception& failure) {
    recognised = device::is_device_out_of_memory(failure, text);
  }
  CHECK(recognised);
  CHECK(text.find("DefaultCPUAllocator: can't allocate memory: you tried to allocate 36028797018963968 bytes") !=
        std::string::npos);
}

TEST_CASE("resident memory grows with what is touched") {
  const device::ProcessMemory probe;
  const auto before = probe.read();
  const at::Tensor touched = at::ones({16 << 20}, at::kFloat);
  const auto after = probe.read();
  CHECK(before.resident_bytes > 0);
  CHECK(after.resident_bytes - before.resident_bytes > (32 << 20));
  CHECK(after.peak_resident_bytes >= after.resident_bytes - (1 << 20));
  CHECK(touched.numel() == 16 << 20);
}

TEST_CASE("deterministic is a switch of the process") {
  device::set_deterministic(true);
  CHECK(at::globalContext().deterministicAlgorithms());
  device::set_deterministic(false);
  CHECK_FALSE(at::globalContext().deterministicAlgorithms());
}
