// The loop written by hand: order, batch, forward, backward, update, and the clock around a stretch of updates.
#pragma once

#include <time.h>
#include <torch/torch.h>

#include "data.hpp"
#include "settings.hpp"

namespace bare {

struct Result {
  double first_update_at = 0, window_began_at = 0, window_ended_at = 0, cpu_began = 0, cpu_ended = 0, last_loss = 0;
};

inline double clock_of(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// `updates` updates; the clock runs from the end of update `from` to the end of update `to`.
template <class Optimizer, class Net>
Result train(Net& net, const Samples& samples, const Settings& settings) {
  Optimizer optimizer(net.parameters(), settings);
  const std::int64_t batch = settings.number("batch"), from = settings.number("from"), to = settings.number("to");
  const std::int64_t per_epoch = samples.count() / batch;  // the ragged rest is dropped, as the recipe says too
  const bool shuffle = settings.text("order") == "shuffled";
  Result result;
  torch::Tensor order;
  for (std::int64_t update = 1; update <= settings.number("updates"); ++update) {
    const std::int64_t at = (update - 1) % per_epoch;
    if (shuffle && at == 0) order = torch::randperm(samples.count());
    const Pair pair =
        shuffle ? samples.chosen(order.narrow(0, at * batch, batch)) : samples.in_file_order(at * batch, batch);
    torch::Tensor loss = torch::nn::functional::cross_entropy(net.forward(pair.input), pair.target.flatten());
    loss.backward();
    optimizer.step();
    result.last_loss = loss.template item<double>();
    if (update == 1) result.first_update_at = clock_of(CLOCK_MONOTONIC);
    if (update == from)
      result.window_began_at = clock_of(CLOCK_MONOTONIC), result.cpu_began = clock_of(CLOCK_THREAD_CPUTIME_ID);
    if (update == to)
      result.window_ended_at = clock_of(CLOCK_MONOTONIC), result.cpu_ended = clock_of(CLOCK_THREAD_CPUTIME_ID);
  }
  return result;
}

}  // namespace bare
