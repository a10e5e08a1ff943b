// The idx data set on good files: types, shapes, scale, several files, labels, fingerprint, threads.
#include <doctest/doctest.h>

#include <bit>
#include <thread>

#include "idx_fixture.hpp"

using namespace holdfast::test;
using holdfast::Options;

namespace {

std::string words(std::uint8_t type, int bytes, const std::vector<std::uint64_t>& values) {
  std::string text = idx_header(type, {static_cast<std::uint32_t>(values.size()), 1});
  for (const auto value : values) text += big_endian(value, bytes);
  return text;
}

}  // namespace

TEST_CASE("Every IDX type is read big-endian into float32") {
  struct Row {
    const char* name;
    std::string file;
    std::vector<float> expected;
  };
  const std::vector<Row> table = {
      {"uint8, 255 becomes 1", words(0x08, 1, {0, 1, 51, 255}), {0.F, 1.F / 255.F, 0.2F, 1.F}},
      {"int8", words(0x09, 1, {0, 1, 0x80, 0xff}), {0.F, 1.F, -128.F, -1.F}},
      {"int16", words(0x0B, 2, {1, 0x0100, 0x8000, 0xfffe}), {1.F, 256.F, -32768.F, -2.F}},
      {"int32", words(0x0C, 4, {1, 0x00010000, 0x80000000, 0xffffffff}), {1.F, 65536.F, -2147483648.F, -1.F}},
      {"float32",
       words(0x0D, 4, {std::bit_cast<std::uint32_t>(1.5F), std::bit_cast<std::uint32_t>(-1e-30F)}),
       {1.5F, -1e-30F}},
      {"float64",
       words(0x0E, 8, {std::bit_cast<std::uint64_t>(0.1), std::bit_cast<std::uint64_t>(-3e20)}),
       {0.1F, -3e20F}},
  };
  for (const auto& row : table) {
    CAPTURE(row.name);
    IdxFolder files;
    const auto data = files.open(files.images({files.put("images", row.file)}));
    REQUIRE(data.size() == static_cast<std::int64_t>(row.expected.size()));
    for (std::int64_t i = 0; i < data.size(); ++i)
      CHECK(read(data, {i}).fields["input"].item<float>() == row.expected[static_cast<std::size_t>(i)]);
  }
}

TEST_CASE("Rows follow the indices asked for, in shape, with their labels") {
  IdxFolder files;
  Options options = files.images({files.put("images", idx_u8({5, 2, 3}))});
  options.set("labels", std::vector<std::string>{files.put("labels", idx_labels({4, 0, 1, 2, 2}))});
  const auto data = files.open(options);
  auto batch = read(data, {3, 0, 3});
  CHECK(batch.fields["input"].sizes() == at::IntArrayRef({3, 2, 3}));
  for (int i = 0; i < 6; ++i) {
    CHECK(batch.fields["input"].view({3, 6})[0][i].item<float>() == static_cast<float>((18 + i) * 7 % 251) / 255.F);
    CHECK(batch.fields["input"].view({3, 6})[1][i].item<float>() == static_cast<float>(i * 7 % 251) / 255.F);
  }
  CHECK(at::equal(batch.fields["target"], at::tensor({2, 4, 2}, at::kLong)));
  const auto facts = data.facts();
  REQUIRE(facts.fields.size() == 2);
  CHECK(facts.find("input")->dtype == "float32");
  CHECK(facts.find("input")->shape == std::vector<std::int64_t>{2, 3});
  CHECK(facts.find("target")->dtype == "int64");
  CHECK(facts.find("target")->shape.empty());
  CHECK(facts.find("target")->classes == 5);
}

TEST_CASE("The scale names the value that becomes 1, divided as NumPy divides") {
  IdxFolder files;
  Options options = files.images({files.put("images", idx_header(0x08, {3, 1}) + std::string("\x10\x00\x05", 3))});
  options.set("scale", 16.0);
  const auto data = files.open(options);
  CHECK(at::equal(read(data, {0, 1, 2}).fields["input"], at::tensor({1.F, 0.F, 5.F / 16.F}).unsqueeze(1)));
  options.set("scale", 1.0);
  CHECK(at::equal(read(files.open(options), {0, 1, 2}).fields["input"], at::tensor({16.F, 0.F, 5.F}).unsqueeze(1)));
}

TEST_CASE("Several files, plain and gzip, read as one set; several gzip members as one file") {
  IdxFolder files;
  const std::string whole = idx_u8({6, 4});
  const std::string head = idx_header(0x08, {2, 4}) + whole.substr(12, 8);
  const std::string tail = idx_header(0x08, {4, 4}) + whole.substr(20);
  const auto one = files.open(files.images({files.put("whole", whole)}));
  const auto two = files.open(files.images({files.put("a", head), files.put("b.gz", gzip(tail))}));
  const auto members =
      files.open(files.images({files.put("m.gz", gzip(whole.substr(0, 15)) + gzip(whole.substr(15)))}));
  const std::vector<std::int64_t> all = {0, 1, 2, 3, 4, 5};
  CHECK(at::equal(read(one, all).fields["input"], read(two, all).fields["input"]));
  CHECK(at::equal(read(one, all).fields["input"], read(members, all).fields["input"]));
  CHECK(one.fingerprint() == two.fingerprint());
  CHECK(one.fingerprint() == members.fingerprint());
}

TEST_CASE("C67: a plain IDX file named .gz is accepted by its content") {
  IdxFolder files;
  CHECK(files.open(files.images({files.put("images.gz", idx_u8({3, 4}))})).size() == 3);
}

TEST_CASE("The fingerprint is the content's: no path, but values, shape, scale and labels") {
  IdxFolder files;
  const auto of = [&](const std::string& content) {
    return files.open(files.images({files.put("x", content)})).fingerprint();
  };
  const std::string content = idx_u8({4, 2, 3});
  const std::string base = of(content);
  CHECK(base.size() == 37);
  CHECK(base.starts_with("xxh3:"));
  CHECK(files.open(files.images({files.put("elsewhere", content)})).fingerprint() == base);
  CHECK(of(idx_u8({4, 3, 2})) != base);
  std::string changed = content;
  changed.back() ^= 1;
  CHECK(of(changed) != base);
  Options options = files.images({files.put("x", content)});
  options.set("scale", 16.0);
  CHECK(files.open(options).fingerprint() != base);
  options.set("scale", 255.0);
  CHECK(files.open(options).fingerprint() == base);
  options.set("labels", std::vector<std::string>{files.put("labels", idx_labels({0, 1, 0, 1}))});
  CHECK(files.open(options).fingerprint() != base);
}

TEST_CASE("C72: the ignored label becomes -100 and does not count as a class") {
  IdxFolder files;
  Options options = files.images({files.put("images", idx_u8({3, 2}))});
  options.set("labels", std::vector<std::string>{files.put("labels", idx_labels({1, 255, 0}))});
  options.set("ignore_label", std::int64_t{255});
  const auto data = files.open(options);
  CHECK(data.facts().find("target")->classes == 2);
  CHECK(at::equal(read(data, {0, 1, 2}).fields["target"], at::tensor({1, -100, 0}, at::kLong)));
}

TEST_CASE("Several threads read the same bytes") {
  IdxFolder files;
  const auto data = files.open(files.images({files.put("images", idx_u8({64, 30}))}));
  std::vector<std::int64_t> indices(64);
  for (std::int64_t i = 0; i < 64; ++i) indices[static_cast<std::size_t>(i)] = 63 - i;
  const at::Tensor expected = read(data, indices).fields["input"];
  std::vector<at::Tensor> results(4);
  {
    std::vector<std::jthread> threads;
    for (auto& result : results) threads.emplace_back([&] { result = read(data, indices).fields["input"]; });
  }
  for (const auto& result : results) CHECK(at::equal(result, expected));
}
