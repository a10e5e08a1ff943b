// Keeps LibTorch from raising an OpenMP team for work that is smaller than the team's own cost.
#pragma once

#include <omp.h>

namespace holdfast::optim {

/// While it lives, operators called by this thread run on it alone, if `wanted`. Other threads notice nothing.
/// LibTorch's fused optimizer kernels raise a team for every tensor, even one of ten numbers.
class SingleThread {
 public:
  explicit SingleThread(bool wanted) : before_(wanted ? omp_get_max_threads() : 0) {
    if (before_ > 1) omp_set_num_threads(1);
  }
  ~SingleThread() {
    if (before_ > 1) omp_set_num_threads(before_);
  }
  SingleThread(const SingleThread&) = delete;
  SingleThread& operator=(const SingleThread&) = delete;

 private:
  int before_;
};

}  // namespace holdfast::optim
