// The safetensors reader and writer: what is written is read, what is malformed is refused in words.
#include "checkpoint/safetensors.hpp"

#include <doctest/doctest.h>

#include <cstring>

#include "checkpoint/sample_state.hpp"
#include "holdfast/error.hpp"
#include "temp_folder.hpp"

using namespace holdfast;
using namespace holdfast::checkpoint;
using test::error_text;

namespace {

constexpr const char* kHint = "\n  hint: the file is damaged or not a safetensors file: restore it from a copy";

std::string file_of(std::uint64_t length, const std::string& header, const std::string& data = "") {
  std::string text(8, '\0');
  std::memcpy(text.data(), &length, 8);
  return text + header + data;
}
std::string file_of(const std::string& header, const std::string& data = "") {
  return file_of(header.size(), header, data);
}

struct Fixture {
  test::TempFolder temp;
  std::string path = temp / "m.safetensors";
  std::string told(const std::string& bytes) {
    test::write_text(path, bytes);
    return error_text<Error>([&] { (void)read_safetensors(path); });
  }
  std::string header_told(const std::string& header, const std::string& data = "") {
    return told(file_of(header, data));
  }
  [[nodiscard]] std::string refusal(const std::string& kind, const std::string& what) const {
    return path + ": error[safetensors." + kind + "]: " + what + kHint;
  }
};

}  // namespace

TEST_CASE("what is written is read back: all kinds of names, a scalar, an empty tensor, no tensor at all") {
  const test::TempFolder temp;
  test::SampleState state(3);
  write_safetensors(temp / "a.safetensors", state.view().model);
  const Loaded loaded = read_safetensors(temp / "a.safetensors");
  CHECK(test::same_state({loaded.state.model, {}, "", "", ""}, {state.view().model, {}, "", "", ""}));
  for (const auto& tensor : loaded.state.model)
    if (tensor.dtype == "F64") CHECK(reinterpret_cast<std::uintptr_t>(tensor.bytes.data()) % 8 == 0);
  write_safetensors(temp / "b.safetensors", {});
  CHECK(read_safetensors(temp / "b.safetensors").state.model.empty());
  CHECK(base::Folder::open(temp.path()).entries().size() == 2);
}

TEST_CASE("the same tensors in another order make the same file and the same digest") {
  const test::TempFolder temp;
  test::SampleState state(3);
  write_safetensors(temp / "a", state.view().model);
  std::reverse(state.view().model.begin(), state.view().model.end());
  write_safetensors(temp / "b", state.view().model);
  CHECK(test::read_text(temp / "a") == test::read_text(temp / "b"));
  CHECK(read_safetensors(temp / "a").digest == read_safetensors(temp / "b").digest);
}

TEST_CASE("C73: header lengths that cannot be are refused without allocation, the one valid header loads") {
  Fixture f;
  CHECK(f.told("") == f.refusal("length", "the file has 0 bytes, a safetensors file at least 10"));
  CHECK(f.told("1234567") == f.refusal("length", "the file has 7 bytes, a safetensors file at least 10"));
  CHECK(f.told(file_of(0, "{}")) == f.refusal("length", "the header is 0 bytes long, at least 2 are needed"));
  CHECK(f.told(file_of(1, "{}")) == f.refusal("length", "the header is 1 bytes long, at least 2 are needed"));
  CHECK(f.told(file_of(std::uint64_t{1} << 63, "{}")) ==
        f.refusal("length", "the header is 9223372036854775808 bytes long, at most 100000000 are allowed"));
  CHECK(f.told(file_of(UINT64_MAX - 7, "{}")) ==
        f.refusal("length", "the header is 18446744073709551608 bytes long, at most 100000000 are allowed"));
  CHECK(f.told(file_of(100'000'001, "{}")) ==
        f.refusal("length", "the header is 100000001 bytes long, at most 100000000 are allowed"));
  // The size of the file, and seven less: both reach past the end.
  CHECK(f.told(file_of(110, std::string(102, ' '))) ==
        f.refusal("length", "the header is 110 bytes long, but only 102 bytes follow"));
  CHECK(f.told(file_of(103, std::string(102, ' '))) ==
        f.refusal("length", "the header is 103 bytes long, but only 102 bytes follow"));
  std::string big_endian = file_of("{}");
  std::reverse(big_endian.begin(), big_endian.begin() + 8);
  CHECK(f.told(big_endian) ==
        f.refusal("length", "the header is 144115188075855872 bytes long, at most 100000000 are allowed"));
  test::write_text(f.path, file_of("{}" + std::string(99'998, ' ')));
  CHECK(read_safetensors(f.path).state.model.empty());
}

TEST_CASE("headers that are no tensors are refused by name of the tensor and field") {
  Fixture f;
  const auto refused = [&](const std::string& header, const std::string& what) {
    CHECK(f.header_told(header, "12345678") == f.refusal("header", what));
  };
  refused(" {}", "the header does not begin with '{'");
  refused("[1]", "the header does not begin with '{'");
  refused("{\"a\":", "not valid JSON at byte 6");
  refused("{}x", "not valid JSON at byte 3");
  refused(std::string("{\"\xff\":1}"), "not valid JSON at byte 3");
  refused(R"({"a":1})", "\"a\" has a value of the wrong type");
  refused(R"({"a":[1]})", "\"a\" has a value of the wrong type");
  refused(R"({"a":{"dtype":"F32"}})", "tensor \"a\": no field 'shape'");
  refused(R"({"a":{"dtype":"F32","shape":[2]}})", "tensor \"a\": no field 'data_offsets'");
  refused(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0]}})", "tensor \"a\": data_offsets needs two numbers");
  refused(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8,9]}})",
          "tensor \"a\": 'data_offsets' has more than two numbers");
  refused(R"({"a":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}})", "tensor \"a\": 'shape' is negative");
  refused(R"({"a":{"dtype":"F32","shape":[2.0],"data_offsets":[0,8]}})",
          "tensor \"a\": 'shape' has a value of the wrong type");
  refused(R"({"a":{"dtype":"F32","shape":[[2]],"data_offsets":[0,8]}})",
          "tensor \"a\": 'shape' has a value of the wrong type");
  refused(R"({"a":{"dtype":"F32","shape":[9223372036854775808],"data_offsets":[0,8]}})",
          "tensor \"a\": 'shape' exceeds 2^63 - 1");
  refused(R"({"a":{"dtype":4,"shape":[2],"data_offsets":[0,8]}})",
          "tensor \"a\": 'dtype' has a value of the wrong type");
  refused(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8],"extra":1}})",
          "tensor \"a\": 'extra' is no field of the format");
  refused(R"({"a":{"dtype":"F32","dtype":"F64","shape":[2],"data_offsets":[0,8]}})",
          "tensor \"a\": 'dtype' stands twice");
  refused(
      R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"\u0061":{"dtype":"F32","shape":[0],"data_offsets":[8,8]}})",
      "the name \"a\" stands twice");
  refused(R"({"__metadata__":{"k":1}})", "tensor \"__metadata__\": 'k' has a value of the wrong type");
  refused(R"({"a":{"dtype":"F8","shape":[2],"data_offsets":[0,8]}})",
          "tensor \"a\": dtype \"F8\" is not among F64 F32 F16 BF16 I64 I32 I16 I8 U8 BOOL");
}

TEST_CASE("offsets with a gap, an overlap, an overflow or a wrong size are refused with both sides") {
  Fixture f;
  const auto refused = [&](const std::string& header, const std::string& what) {
    CHECK(f.header_told(header, "12345678") == f.refusal("header", what));
  };
  refused(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})",
          "tensor \"a\": F32 of shape [2] takes 8 bytes, but its offsets are 0 to 4");
  refused(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}})",
          "tensor \"a\": F32 of shape [2] takes 8 bytes, but its offsets are 8 to 0");
  refused(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})",
          "tensor \"a\" begins at byte 4 of the data where 0 is due: gap or overlap");
  refused(
      R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"b":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})",
      "tensor \"b\" begins at byte 4 of the data where 8 is due: gap or overlap");
  refused(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})",
          "the tensors cover 4 bytes of data, but the file has 8");
  refused(R"({"a":{"dtype":"F32","shape":[4],"data_offsets":[0,16]}})",
          "the tensors cover 16 bytes of data, but the file has 8");
  refused(R"({"a":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,0]}})",
          "tensor \"a\": shape [4294967296, 4294967296] overflows");
  refused(R"({"a":{"dtype":"F32","shape":[0,4294967296,4294967296],"data_offsets":[0,0]}})",
          "tensor \"a\": shape [0, 4294967296, 4294967296] overflows");
  CHECK(f.header_told("{}", "x") == f.refusal("header", "the tensors cover 0 bytes of data, but the file has 1"));
}

TEST_CASE("a header nested a million levels deep is refused without a crash") {
  Fixture f;
  CHECK(f.header_told("{\"a\":" + std::string(1'000'000, '[')) ==
        f.refusal("header", "\"a\" has a value of the wrong type"));
  CHECK(f.header_told("{" + std::string(1'000'000, '{')) == f.refusal("header", "not valid JSON at byte 2"));
}

TEST_CASE("a sparse file that claims more than memory is refused in words") {
  Fixture f;
  const std::string header =
      R"({"a":{"dtype":"U8","shape":[4611686018427387904],"data_offsets":[0,4611686018427387904]}})";
  test::write_text(f.path, file_of(header));
  const std::string told = error_text<Error>([&] { (void)read_safetensors(f.path); });
  CHECK(told == f.refusal("header", "the tensors cover 4611686018427387904 bytes of data, but the file has 0"));
}

TEST_CASE("the writer refuses states that it could not read back") {
  const test::TempFolder temp;
  const std::vector<std::byte> bytes(8);
  const auto told = [&](std::vector<base::TensorView> tensors) {
    return error_text<Error>([&] { write_safetensors(temp / "x", tensors); });
  };
  CHECK(told({{"a", "F32", {3}, bytes}}) ==
        "error[checkpoint.tensor]: tensor \"a\": F32 of shape [3] does not take the 8 bytes given");
  CHECK(told({{"a", "float", {2}, bytes}}) ==
        "error[checkpoint.tensor]: tensor \"a\": dtype 'float' is not among F64 F32 F16 BF16 I64 I32 I16 I8 U8 BOOL");
  CHECK(told({{"a", "F32", {2}, bytes}, {"a", "F32", {2}, bytes}}) ==
        "error[checkpoint.tensor]: tensor \"a\": the name stands twice in one file");
  CHECK(told({{"__metadata__", "F32", {2}, bytes}}) ==
        "error[checkpoint.tensor]: tensor \"__metadata__\": the format reserves this name");
  CHECK(told({{"\xff", "F32", {2}, bytes}}) ==
        "error[checkpoint.tensor]: tensor \"\xEF\xBF\xBD\": its name is not UTF-8");
  CHECK(base::Folder::open(temp.path()).entries().empty());
}

TEST_CASE("a file that is not there is 66 with its absolute path") {
  const test::TempFolder temp;
  CHECK(error_text<Error>([&] { (void)read_safetensors(temp / "no"); }) ==
        temp / "no" +
            ": error[io.missing]: cannot read: No such file or directory (ENOENT)\n  hint: check the path; "
            "relative paths in a recipe start at its folder");
}
