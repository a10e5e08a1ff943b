// Which of the two memory domains the calling thread allocates from. Knows no allocator.
#pragma once

#include <cstdint>

namespace holdfast::device {

enum class Domain : std::uint8_t {
  kDevice,  ///< weights, gradients, activations, moments: what the device budget limits
  kHost,    ///< batches on their way, data sets, copies for checkpoints
};

namespace detail {
inline thread_local Domain current_domain = Domain::kDevice;
inline thread_local int allocation_forbidden = 0;
}  // namespace detail

/// Every thread begins in the device domain: the threads that compute need not say so.
inline Domain current_domain() noexcept { return detail::current_domain; }

/// For a thread that works for the host all its life.
inline void set_thread_domain(Domain domain) noexcept { detail::current_domain = domain; }

/// The calling thread allocates from `domain` until the scope ends. Scopes nest. What was allocated stays accounted to
/// the domain it came from, whoever frees it.
class DomainScope {
 public:
  explicit DomainScope(Domain domain) noexcept : before_(detail::current_domain) { detail::current_domain = domain; }
  ~DomainScope() { detail::current_domain = before_; }
  DomainScope(const DomainScope&) = delete;
  DomainScope& operator=(const DomainScope&) = delete;

 private:
  Domain before_;
};

class HostScope : public DomainScope {
 public:
  HostScope() noexcept : DomainScope(Domain::kHost) {}
};

/// Device allocations of the calling thread inside this scope are served, but counted as forbidden
/// (MemoryReading::forbidden): a promise of the code that tests hold it to.
class NoAllocationScope {
 public:
  NoAllocationScope() noexcept { ++detail::allocation_forbidden; }
  ~NoAllocationScope() { --detail::allocation_forbidden; }
  NoAllocationScope(const NoAllocationScope&) = delete;
  NoAllocationScope& operator=(const NoAllocationScope&) = delete;
};

}  // namespace holdfast::device
