// What a save in the background costs: how long the training thread waits for its copy, next to a plain memcpy of the
// same bytes, and how fast the writer is, next to a plain write + fsync of them in the same folder. One JSON object.
//   save_stall FOLDER [megabytes, 1024] [threads, 2] [rounds, 5]
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "checkpoint/store.hpp"
#include "checkpoint/writer.hpp"
#include "device/allocator.hpp"
#include "device/domain.hpp"
#include "engine/tensor_copies.hpp"

namespace {

using namespace holdfast;
using Clock = std::chrono::steady_clock;

constexpr std::int64_t kTensors = 24;

double seconds_since(Clock::time_point began) { return std::chrono::duration<double>(Clock::now() - began).count(); }

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.at(values.size() / 2);
}

std::string list(const std::vector<double>& values) {
  std::string text;
  for (const double value : values) text += (text.empty() ? "" : ", ") + std::to_string(value);
  return "[" + text + "]";
}

/// Plain copies of the same tensors into memory that was touched before.
double plain_copy(const NamedTensors& tensors, std::vector<std::vector<std::byte>>& into) {
  const auto began = Clock::now();
  for (std::size_t i = 0; i < into.size(); ++i)
    std::memcpy(into[i].data(), tensors[i].tensor.const_data_ptr(), into[i].size());
  return seconds_since(began);
}

double plain_write(const std::string& path, const std::vector<std::vector<std::byte>>& bytes) {
  const auto began = Clock::now();
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  for (const auto& piece : bytes)
    for (std::size_t at = 0; at < piece.size();) {
      const ssize_t put = ::write(fd, piece.data() + at, piece.size() - at);
      if (put < 0) std::exit(74);
      at += static_cast<std::size_t>(put);
    }
  if (::fsync(fd) != 0) std::exit(74);
  ::close(fd);
  const double took = seconds_since(began);
  ::unlink(path.c_str());
  return took;
}

base::StateView state_of(std::vector<base::TensorView> model) {
  base::StateView state;
  state.model = std::move(model);
  state.progress_json = state.identity_json = "{}";
  return state;
}

struct Figures {
  std::vector<double> stall, copy, background, write, verify;
};

void round_trip(const std::string& folder, const NamedTensors& tensors, engine::TensorCopies& copies,
                checkpoint::Store& store, checkpoint::Writer& writer, std::vector<std::vector<std::byte>>& plain,
                std::int64_t number, Figures& figures) {
  const auto began = Clock::now();
  base::StateView state = state_of(copies.take(tensors));
  writer.begin([&store, number, state = std::move(state)] {
    checkpoint::SaveRequest request;
    request.counters.update = number;
    request.run_id = "20261130T101500Z-3f2a";
    return store.save(state, request);
  });
  const double stall = seconds_since(began);
  const auto result = writer.take(true);
  if (result->failure) {
    std::fprintf(stderr, "%s\n", result->failure->what());
    std::exit(static_cast<int>(result->failure->code()));
  }
  const double copy = plain_copy(tensors, plain);
  const double write = plain_write(folder + "/plain", plain);
  if (number == 1) return;  // the first save takes its memory from the system
  figures.stall.push_back(stall);
  figures.copy.push_back(copy);
  figures.background.push_back(result->saved->seconds);
  figures.verify.push_back(result->saved->verify_seconds);
  figures.write.push_back(write);
}

}  // namespace

int main(int count, char** words) {
  if (count < 2) return std::fprintf(stderr, "usage: save_stall FOLDER [megabytes] [threads] [rounds]\n"), 64;
  const std::string folder = words[1];
  const std::int64_t megabytes = count > 2 ? std::atoll(words[2]) : 1024;
  at::set_num_threads(count > 3 ? std::atoi(words[3]) : 2);
  const int rounds = count > 4 ? std::atoi(words[4]) : 5;
  device::install_allocator();
  NamedTensors tensors;
  std::vector<std::vector<std::byte>> plain;
  for (std::int64_t i = 0; i < kTensors; ++i) {
    tensors.push_back({"t" + std::to_string(i), at::randn({megabytes * (1 << 18) / kTensors})});
    plain.emplace_back(tensors[static_cast<std::size_t>(i)].tensor.nbytes());
  }
  engine::TensorCopies copies;
  checkpoint::Store store(folder + "/20261130T101500Z-3f2a", {1, 0});
  Figures figures;
  {
    checkpoint::Writer writer;
    for (int i = 1; i <= rounds + 1; ++i) round_trip(folder, tensors, copies, store, writer, plain, i, figures);
  }
  std::printf(
      "{\"megabytes\": %lld, \"stall\": %s, \"memcpy\": %s, \"background\": %s, \"write\": %s, \"verify\": %s,\n"
      " \"stall_to_memcpy\": %.3f, \"write_to_background\": %.3f, \"stall_median\": %.6f}\n",
      static_cast<long long>(megabytes), list(figures.stall).c_str(), list(figures.copy).c_str(),
      list(figures.background).c_str(), list(figures.write).c_str(), list(figures.verify).c_str(),
      median(figures.stall) / median(figures.copy), median(figures.write) / median(figures.background),
      median(figures.stall));
  return 0;
}
