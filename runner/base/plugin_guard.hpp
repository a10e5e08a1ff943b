// The guard at the plugin border: whatever a plugin throws becomes a sentence with the plugin's name and the call.
// Torch-free: exceptions that the caller must see as they are, c10::OutOfMemoryError above all, are named by the
// caller.
#pragma once

#include <cxxabi.h>

#include <atomic>
#include <exception>
#include <new>
#include <string>
#include <string_view>
#include <typeinfo>
#include <utility>

#include "holdfast/error.hpp"

namespace holdfast::base {

/// The Error (70, [plugin.threw]) for an exception out of `call`: "plugin 'x': forward threw: <text>". A LibTorch
/// backtrace at the end of the text is cut.
[[nodiscard]] inline Error plugin_failure(std::string_view plugin, std::string_view call, std::string_view text) {
  text = text.substr(0, text.find("\nException raised from "));
  return {ExitCode::kBug, "plugin.threw", "",
          "plugin '" + std::string(plugin) + "': " + std::string(call) + " threw: " + std::string(text),
          "this is a fault of the plugin, not of the recipe; report it to its author"};
}

struct PluginCall {
  std::string_view plugin, call;
};

/// Marks a plugin call of this thread for its lifetime; calls nest.
class PluginCallScope {
 public:
  PluginCallScope(std::string_view plugin, std::string_view call) noexcept : call_{plugin, call}, before_(innermost_) {
    std::atomic_signal_fence(std::memory_order_release);  // a crash handler never sees a half-written call
    innermost_ = this;
  }
  ~PluginCallScope() { innermost_ = before_; }
  PluginCallScope(const PluginCallScope&) = delete;
  PluginCallScope& operator=(const PluginCallScope&) = delete;

  /// The call that the calling thread is in; empty names outside any. A plain thread-local of this executable and the
  /// thread's own stack: async-signal-safe.
  [[nodiscard]] static PluginCall running() noexcept { return innermost_ ? innermost_->call_ : PluginCall{}; }

 private:
  static inline thread_local constinit const PluginCallScope* innermost_ = nullptr;
  PluginCall call_;
  const PluginCallScope* before_;
};

/// What the crash handler reads: PluginCallScope::running.
inline PluginCall running_plugin_call() noexcept { return PluginCallScope::running(); }

/// Calls `function()` and returns its result. Passed through unchanged: holdfast::Error (it has its own code),
/// std::bad_alloc, thread cancellation and every type of `Pass`; anything else is thrown as plugin_failure.
///   guard<c10::OutOfMemoryError>("mlp", "forward", [&] { return model.forward(batch, segments); });
/// Costs a few stores to the stack and one to a thread-local unless something is thrown: no allocation, no copy of the
/// names, table-driven unwinding. `plugin` and `call` must outlive the call.
template <class... Pass, class Function>
decltype(auto) guard(std::string_view plugin, std::string_view call, Function&& function) {
  const PluginCallScope scope(plugin, call);
  try {
    return std::forward<Function>(function)();
  } catch (const Error&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const abi::__forced_unwind&) {
    throw;
  } catch (const std::exception& failure) {
    if ((... || (dynamic_cast<const Pass*>(&failure) != nullptr))) throw;
    throw plugin_failure(plugin, call, failure.what());
  } catch (...) {
    const std::type_info* type = abi::__cxa_current_exception_type();
    throw plugin_failure(plugin, call,
                         "something that is no std::exception" + (type ? " (" + std::string(type->name()) + ")" : ""));
  }
}

}  // namespace holdfast::base
