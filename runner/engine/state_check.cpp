// Whether a saved state can be taken over, judged before anything of the run is changed.
#include <ATen/ATen.h>

#include <algorithm>
#include <functional>

#include "base/plugin_guard.hpp"
#include "base/text.hpp"
#include "engine/identity.hpp"
#include "engine/progress_check.hpp"
#include "engine/tensor_bytes.hpp"
#include "engine/trainer_impl.hpp"

namespace holdfast::engine {
namespace {

const std::string* find(const Texts& texts, const std::string& key) {
  const auto found = std::ranges::find(texts, key, &Texts::value_type::first);
  return found == texts.end() ? nullptr : &found->second;
}

[[noreturn]] void refuse(const std::vector<std::string>& differences) {
  std::string text;
  for (const auto& difference : differences) text += (text.empty() ? "" : "; ") + difference;
  throw Error(ExitCode::kBadRecipe, "resume.identity", "checkpoint",
              "the saved run is another one than the recipe describes: " + text,
              "put these back, or start a new run (--new)");
}

/// `part`: "model" or "optimizer". Names, shapes and dtypes follow from the identity, which was compared before.
void check_tensors(const std::string& part, const NamedTensors& mine, const NamedTensors& saved,
                   const std::string& where) {
  const auto damaged = [&](const std::string& what) {
    throw Error(ExitCode::kMissingInput, "checkpoint." + part, where, what, "use an older checkpoint");
  };
  for (const auto& [name, tensor] : mine) {
    const at::Tensor* found = saved.find(name);
    if (!found) damaged("the saved " + part + " lacks the tensor '" + name + "'");
    if (found->sizes() != tensor.sizes() || found->scalar_type() != tensor.scalar_type())
      damaged("the saved tensor '" + name + "' has another shape or dtype than its identity says");
  }
  for (const auto& [name, tensor] : saved)
    if (!mine.find(name))
      damaged("the saved " + part + " has the tensor '" + base::terminal_safe_line(name) + "', which nobody asks for");
}

/// restore() of hooks and strategies, undone when one of them throws.
class Handover {
 public:
  explicit Handover(const std::string& where) : where_(where) {}

  template <class C>
  void give(const std::string& table, C& component, const std::string& state) {
    undo_.push_back([&table, &component, before = component.state()] {
      base::guard(table, "restore", [&] { component.restore(before); });
    });
    try {
      base::guard(table, "restore", [&] { component.restore(state); });
    } catch (const Error& error) {
      undo();
      throw Error(ExitCode::kMissingInput, "checkpoint.component", where_,
                  "[" + table + "] cannot take its saved state: " + error.message(), kDamagedHint);
    }
  }
  void undo() {
    while (!undo_.empty()) {
      const std::function<void()> last = std::move(undo_.back());
      undo_.pop_back();
      last();
    }
  }

 private:
  const std::string& where_;
  std::vector<std::function<void()>> undo_;
};

/// False where another plugin stands in the table now: the state is not its own.
bool is_same_plugin(const Texts& saved_choices, const Texts& choices, const std::string& table) {
  const std::string* before = find(saved_choices, table + ".plugin");
  const std::string* now = find(choices, table + ".plugin");
  return !before || !now || *before == *now;
}

void give_all(Handover& handover, const TrainerParts& parts, const SavedProgress& saved, const Texts& saved_choices) {
  for (const auto& [table, hook] : parts.hooks)
    if (const std::string* text = find(saved.hooks, table); text && is_same_plugin(saved_choices, parts.choices, table))
      handover.give(table, *hook, *text);
  for (const auto& [table, strategy] : parts.strategies)
    if (const std::string* text = find(saved.strategies, table);
        text && is_same_plugin(saved_choices, parts.choices, table))
      handover.give(table, *strategy, *text);
}

}  // namespace

SavedProgress Trainer::Impl::checked(const base::StateView& saved, const std::string& where) {
  if (const auto differences = identity_differences(saved.identity_json, identity(), where); !differences.empty())
    refuse(differences);
  SavedProgress read = progress_from_json(saved.progress_json, where);
  check_progress(read, loader.plan(), where);
  check_tensors("model", tensors, tensors_of(saved.model, where), where);
  check_tensors("optimizer", optimizer->state(), tensors_of(saved.optimizer, where), where);
  Handover trial(where);
  give_all(trial, parts, read, extra_from_json(saved.extra_json).choices);
  trial.undo();
  return read;
}

void Trainer::Impl::restore_components(const SavedProgress& saved, const Texts& saved_choices,
                                       const std::string& where) {
  Handover handover(where);
  give_all(handover, parts, saved, saved_choices);
}

}  // namespace holdfast::engine
