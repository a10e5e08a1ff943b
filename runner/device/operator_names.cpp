// at::RecordFunction's callbacks, as the profiler uses them.
#include "device/operator_names.hpp"

#include <ATen/record_function.h>

#include <memory>
#include <vector>

namespace holdfast::device {
namespace {

thread_local std::vector<const char*> running;

std::unique_ptr<at::ObserverContext> begin(const at::RecordFunction& function) {
  running.push_back(function.name());
  return nullptr;
}

void end(const at::RecordFunction&, at::ObserverContext*) {
  if (!running.empty()) running.pop_back();
}

}  // namespace

OperatorNames::OperatorNames()
    : handle_(
          at::addThreadLocalCallback(at::RecordFunctionCallback(&begin, &end).scopes({at::RecordScope::FUNCTION}))) {}

OperatorNames::~OperatorNames() {
  at::removeCallback(handle_);
  running.clear();
}

std::string_view OperatorNames::current() {
  if (running.empty()) return {};
  const std::string_view name = running.back();
  const auto colon = name.rfind(':');
  return colon == std::string_view::npos ? name : name.substr(colon + 1);
}

}  // namespace holdfast::device
