// How a run stands, in a word and a sentence. Private to this folder.
#pragma once

#include <string>

#include "report/material.hpp"

namespace holdfast::report {

struct Verdict {
  std::string word;      ///< "finished"
  std::string mood;      ///< class of the style sheet: "good", "warn", "bad", "calm"
  std::string sentence;  ///< plain text
};

Verdict verdict_of(const Material&);

}  // namespace holdfast::report
