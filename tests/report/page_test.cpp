#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "report/report.hpp"
#include "temp_folder.hpp"

using namespace holdfast::report;
using holdfast::test::TempFolder;

namespace {

const Maker kMaker{"0.1.0", "2026-11-30T12:00:00Z", false};

struct Generation {
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(folder / name, std::ios::binary) << text;
  }
  [[nodiscard]] std::string page(const Maker& maker = kMaker) const { return make_report(folder.path(), maker); }
  TempFolder folder;
};

bool has(const std::string& page, const std::string& part) { return page.find(part) != std::string::npos; }

constexpr const char* kStatus =
    R"({"schema":1,"run":"digits","state":"STATE","update":100,"total_updates":200,"attempt":1,"exit_code":CODE,"cause":"CAUSE"})";

std::string status(std::string state, std::string code, std::string cause) {
  std::string text = kStatus;
  text.replace(text.find("STATE"), 5, state);
  text.replace(text.find("CODE"), 4, code);
  text.replace(text.find("CAUSE"), 5, cause);
  return text;
}

}  // namespace

TEST_CASE("a folder without any file has a page that says so") {
  const Generation generation;
  const std::string page = generation.page();
  CHECK(has(page, "status.json is absent or cannot be read; what follows comes from the other files."));
  CHECK(has(page, "events.jsonl is absent or cannot be read: there are no curves. "));
  CHECK(has(page, "Made by holdfast 0.1.0 at <time>2026-11-30T12:00:00Z</time>"));
  CHECK(page.ends_with("</script></body></html>\n"));
}

TEST_CASE("the verdict says how the run stands") {
  const Generation generation;
  const auto verdict = [&](const std::string& text, bool gone = false) {
    generation.write("status.json", text);
    const std::string page = generation.page({"0.1.0", "", gone});
    const auto begin = page.find("<p class=\"verdict\">") + 19;
    return page.substr(begin, page.find("</p>", begin) - begin);
  };
  CHECK(verdict(status("finished", "0", "the target of 200 updates is reached")) ==
        "The target of 200 updates is reached.");
  CHECK(verdict(status("stopped", "75", "SIGTERM from pid 7")) ==
        "SIGTERM from pid 7. The state is saved: the same command goes on from here.");
  CHECK(verdict(status("failed", "82", "the loss is not finite")) ==
        "Exit code 82, training diverged: the loss is not finite");
  CHECK(verdict(status("running", "null", "")) == "It was at work when this report was made.");
  CHECK(
      verdict(status("running", "null", ""), true) ==
      "Its process is gone and left no word, as after SIGKILL or a power cut. The same command goes on from the newest "
      "checkpoint.");
  CHECK(verdict(status("abandoned", "null", "")) == "A newer generation was begun before this one was finished.");
}

TEST_CASE("what is torn, foreign or lost is told and costs nothing else") {
  const Generation generation;
  generation.write("events.jsonl",
                   "{\"event\":\"start\",\"attempt\":1,\"update\":0}\nnonsense\n{\"a\":1}\n"
                   "{\"event\":\"update\",\"attempt\":1,\"update\":5,\"loss\":1}\n"
                   "{\"event\":\"lost\",\"attempt\":1,\"lines\":3}\n{\"event\":\"upda");
  const std::string page = generation.page();
  CHECK(has(page,
            "The last line of events.jsonl is not complete and was left out. 2 lines of events.jsonl are no events "
            "and were left out. 3 events were lost while the disk was full. "));
  CHECK(has(page, "<h3>Loss</h3>"));
}

TEST_CASE("texts of files are escaped wherever they stand") {
  const std::string evil = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\\\" onload=\\\"x";
  const Generation generation;
  generation.write("status.json", "{\"run\":\"" + evil + "\",\"state\":\"" + evil + "\",\"cause\":\"" + evil +
                                      "\",\"started_at\":\"" + evil + "\",\"scores\":{\"" + evil + "\":1}}");
  std::string events;
  for (const char* kind : {"start", "resume", "end", "oom", "plan_change", "eval", "checkpoint", "skip", "other"})
    events += "{\"time\":\"" + evil + "\",\"event\":\"" + kind + "\",\"attempt\":1,\"update\":3,\"what\":\"sample\"," +
              "\"source\":\"" + evil + "\",\"reason\":\"" + evil + "\",\"path\":\"" + evil + "\",\"from\":\"" + evil +
              "\",\"host\":\"" + evil + "\",\"state\":\"" + evil + "\",\"exit_code\":70,\"" + evil + "\":1}\n";
  events += "{\"event\":\"" + evil + "\",\"attempt\":1,\"text\":\"" + evil + "\\u202e\"}\n";
  generation.write("events.jsonl", events);
  generation.write("recipe.toml", "[run]\nname = \"</script><script>alert(1)</script>\" # <img src=x>\n");
  const std::string page = generation.page();
  CHECK_FALSE(has(page, "<script>alert"));
  CHECK_FALSE(has(page, "<img"));
  CHECK_FALSE(has(page, "\" onload=\"x"));
  CHECK_FALSE(has(page, "\u202e"));
  CHECK(has(page, "&lt;/script&gt;"));
}

TEST_CASE("the page stays below 1 MB whatever the files hold") {
  const Generation generation;
  const std::string longest(3000, '"');
  std::string escaped;
  for (int i = 0; i < 3000; ++i) escaped += "\\\"";
  generation.write("recipe.toml", std::string(5 << 20, '<'));
  generation.write("status.json",
                   "{\"run\":\"" + escaped + "\",\"state\":\"failed\",\"exit_code\":70,\"cause\":\"" + escaped + "\"}");
  std::string events;
  for (int i = 0; i < 4000; ++i) {
    const std::string at = std::to_string(i), frame = ",\"attempt\":" + at + ",\"update\":" + at;
    events += "{\"event\":\"start\"" + frame + ",\"from\":\"" + escaped + "\"}\n";
    events += "{\"event\":\"update\"" + frame +
              ",\"windows\":1,\"loss\":1.23456e-7,\"grad_norm\":1.23456e-7,\"learning_rate\":1.23456e-7,"
              "\"updates_per_second\":1.23456,\"loss_scale\":1.23456e-7,\"slowest_seconds\":1.2345e-7,"
              "\"forward_seconds\":1.2345e-7,\"memory_allocated\":123456,\"memory_peak\":123456,"
              "\"resident_bytes\":1234567}\n";
    events += "{\"event\":\"" + escaped + "\"" + frame + ",\"text\":\"" + escaped + "\"}\n";
    events += "{\"event\":\"eval\"" + frame + ",\"" + at + escaped + "\":1.2345e-7}\n";
    events += "{\"event\":\"oom\"" + frame + ",\"text\":\"" + escaped + "\"}\n";
    events += "{\"event\":\"skip\",\"what\":\"window\"" + frame + "}\n";
    events +=
        "{\"event\":\"skip\",\"what\":\"sample\",\"source\":\"" + escaped + "\",\"reason\":\"" + escaped + "\"}\n";
    events += "{\"event\":\"checkpoint\"" + frame + ",\"path\":\"" + escaped + "\",\"reason\":\"" + escaped + "\"}\n";
  }
  generation.write("events.jsonl", events);
  CHECK(generation.page().size() < 1000000);
}

TEST_CASE("the recipe is shown as it lies there, references included") {
  const Generation generation;
  generation.write("recipe.toml", "[dataset.train]\nimages = \"${DATA}/x.gz\" # where\n");
  const std::string page = generation.page();
  CHECK(has(page, "<span class=\"table\">[dataset.train]</span>"));
  CHECK(has(page,
            "<span class=\"name\">images</span> = <span class=\"text\">&quot;${DATA}/x.gz&quot; </span>"
            "<span class=\"comment\"># where</span>"));
}
