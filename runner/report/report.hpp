// One HTML file that shows a run: summary, verdict, curves, tables, recipe. Needs no network and no other file; its
// plots are SVG, readable without its script. Reads the files of a generation; knows nobody who wrote them.
#pragma once

#include <string>

namespace holdfast::report {

struct Maker {
  std::string version;        ///< of the holdfast that makes the report
  std::string made_at;        ///< RFC 3339
  bool process_gone = false;  ///< status.json says "running", but its process does not exist
};

/// The page, below 1 MB whatever the files hold. Files that are absent, cut or damaged cost their part of the page and
/// are named there; texts from files are escaped. Reads events.jsonl once, in bounded memory. Throws only for want of
/// memory.
std::string make_report(const std::string& generation_folder, const Maker& maker);

}  // namespace holdfast::report
