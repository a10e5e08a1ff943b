// Whether this machine can carry a run: the checks of `holdfast doctor`. Pure judgement on what System gives.
#pragma once

#include <string>
#include <vector>

#include "supervise/system.hpp"

namespace holdfast::supervise {

enum class Grade { kOk, kWarning, kFault };
std::string_view grade_name(Grade grade);  ///< "ok", "warning", "fault"

struct Check {
  std::string name;
  Grade grade = Grade::kOk;
  std::string reason;  ///< one clause: what was found
  std::string remedy;  ///< what to do; empty when all is well
};

/// What the caller knows of the run and of this process.
struct CheckupFacts {
  std::string libtorch;                ///< version that the worker was built with: "2.13.0", "2.14.1+cu130"
  bool worker = true;                  ///< the worker is installed
  std::string device = "auto";         ///< run.device of the recipe
  std::string output;                  ///< where the run will write
  std::int64_t checkpoint_bytes = -1;  ///< of one checkpoint, from an earlier one; negative: not known
  std::int64_t keep = 3;               ///< checkpoints kept
  bool terminal = false;               ///< on a terminal whose end sends SIGHUP
};

/// All checks, in the order in which they are told.
std::vector<Check> check_up(const System& system, const CheckupFacts& facts);
bool has_fault(const std::vector<Check>& checks);

std::string checkup_text(const std::vector<Check>& checks);
/// {"checks": [{name, grade, reason, remedy}], "fault": bool}, with a final new line.
std::string checkup_json(const std::vector<Check>& checks);

}  // namespace holdfast::supervise
