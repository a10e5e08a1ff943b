// Asks aftermath, prints.
#include "app/front/why.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "app/front/aftermath.hpp"
#include "base/folder.hpp"
#include "base/io_error.hpp"
#include "checkpoint/home.hpp"

namespace holdfast::app {

Why why_of(const supervise::System& system, const std::string& path) {
  (void)checkpoint::RunHome::home_of(path);  // its Error 66 says what is wrong with the path
  const auto trace = trace_of(path);
  Why why;
  why.verdict = verdict_on(system, trace);
  why.text = verdict_text(why.verdict);
  why.json = verdict_json(why.verdict);
  if (trace.locked)
    if (const auto before = supervise::kept_verdict(trace.generation))
      why.text += "the attempt before it: " + verdict_text(*before);
  return why;
}

void write_termination_log(const std::string& path, const supervise::Verdict& verdict) {
  const std::string text = short_text(verdict);
  const base::File file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0644));
  if (file.fd() < 0) throw base::io_error(base::Doing::kCreate, path, errno);
  if (::write(file.fd(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    throw base::io_error(base::Doing::kWrite, path, errno);
}

}  // namespace holdfast::app
