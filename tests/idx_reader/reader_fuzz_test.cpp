// The idx reader on files damaged at random: it reads them or says a sentence, whatever the bytes. Torch-free, so that
// it runs under the sanitizers.
#include <doctest/doctest.h>

#include <random>

#include "holdfast/error.hpp"
#include "idx/convert.hpp"
#include "idx/idx_file.hpp"
#include "plugins/idx_bytes.hpp"
#include "temp_folder.hpp"

namespace {

using namespace holdfast::plugins;
using namespace holdfast::test;

struct Outcomes {
  int read = 0, refused = 0;
};

/// Reads the file and, when that works, every value of it.
void try_to_read(const std::string& path, Outcomes& outcomes) {
  try {
    const IdxArray array = read_idx({path});
    std::vector<float> values(static_cast<std::size_t>(array.sample_values));
    std::vector<std::int64_t> labels(values.size());
    for (std::int64_t i = 0; i < array.samples; ++i) {
      sample_to_float(array, i, 3.0, values.data());
      if (survey_labels(array, 0, 7).bad_value_index < 0) sample_to_labels(array, i, 7, labels.data());
    }
    ++outcomes.read;
  } catch (const holdfast::Error& error) {
    CHECK(error.where() == path);
    CHECK_FALSE(error.message().empty());
    const auto code = error.code();
    CHECK((code == holdfast::ExitCode::kBadData || code == holdfast::ExitCode::kHostOutOfMemory));
    ++outcomes.refused;
  }
}

/// One to four changes: a byte replaced, a cut, bytes put in.
std::string damaged(std::string content, std::mt19937& random) {
  const auto below = [&](std::size_t bound) {
    return std::uniform_int_distribution<std::size_t>(0, bound - 1)(random);
  };
  for (std::size_t changes = 1 + below(4); changes > 0 && !content.empty(); --changes) {
    const std::size_t at = below(2) == 0 ? below(content.size()) : below(std::min<std::size_t>(content.size(), 20));
    const std::size_t kind = below(8);
    if (kind == 0)
      content.resize(at);
    else if (kind == 1)
      content.insert(at, std::string(1 + below(20), static_cast<char>(below(256))));
    else
      content[at] = static_cast<char>(below(256));
  }
  return content;
}

void attack(const std::string& seed, unsigned number) {
  const TempFolder folder;
  std::mt19937 random(number);
  Outcomes outcomes;
  try_to_read((write_text(folder / "f", seed), folder / "f"), outcomes);
  REQUIRE(outcomes.read == 1);
  for (int round = 0; round < 600; ++round) {
    write_text(folder / "f", damaged(seed, random));
    try_to_read(folder / "f", outcomes);
  }
  CHECK(outcomes.refused > 200);  // the damage was felt
}

}  // namespace

TEST_CASE("Damaged plain files are read or refused, never worse") { attack(idx_u8({12, 5, 7}), 1); }

TEST_CASE("Damaged files of wide values are read or refused, never worse") {
  attack(idx_header(0x0E, {3, 2}) + std::string(48, '\x3f'), 2);
  attack(idx_header(0x0D, {6}) + std::string(24, '\x7f'), 3);
}

TEST_CASE("Damaged gzip files, of one member or two, are read or refused, never worse") {
  const std::string content = idx_u8({12, 5, 7});
  attack(gzip(content), 4);
  attack(gzip(content.substr(0, 100)) + gzip(content.substr(100)), 5);
}

TEST_CASE("A gzip file that unpacks to more than its header declares is stopped there") {
  const TempFolder folder;
  write_text(folder / "bomb", gzip(idx_header(0x08, {1, 4}) + std::string(64 << 20, '\0')));
  CHECK(error_text<holdfast::Error>([&] { read_idx({folder / "bomb"}); }) ==
        (folder / "bomb") +
            ": error[data.trailing]: its header declares 1 x 4 values (4 bytes), but more bytes follow "
            "it\n  hint: fetch the file again");
}
