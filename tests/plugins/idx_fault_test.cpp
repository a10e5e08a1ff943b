// The idx data set on bad files: one sentence each, when it is opened.
#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "idx_fixture.hpp"

using namespace holdfast::test;
using holdfast::Options;

namespace {

const std::string kAgain = "\n  hint: fetch the file again";

/// Images of a good file beside labels with this content.
std::string label_fault(const std::string& labels, std::int64_t classes = 0, std::uint32_t samples = 4) {
  IdxFolder files;
  Options options = files.images({files.put("images", idx_u8({samples, 2}))});
  options.set("labels", std::vector<std::string>{files.put("labels", labels)});
  if (classes > 0) options.set("classes", classes);
  return files.fault(options);
}

}  // namespace

TEST_CASE("C67: gzip cut at 70 % is refused when it is opened") {
  IdxFolder files;
  const std::string packed = gzip(idx_u8({500, 40}));
  const std::string cut = packed.substr(0, packed.size() * 7 / 10);
  const std::string text = files.fault_of_image(cut);
  CHECK(text.starts_with("65 DIR/images: error[data.truncated]: the gzip data breaks off at the end of the file (" +
                         std::to_string(cut.size()) + " bytes), after "));
  CHECK(text.ends_with(" unpacked bytes" + kAgain));
}

TEST_CASE("C67: a gzip file that lacks only its checksum, or has a wrong one, is refused") {
  IdxFolder files;
  const std::string packed = gzip(idx_u8({500, 40}));
  CHECK(files.fault_of_image(packed.substr(0, packed.size() - 6)) ==
        "65 DIR/images: error[data.truncated]: the gzip data breaks off at the end of the file (" +
            std::to_string(packed.size() - 6) + " bytes), after 20012 unpacked bytes" + kAgain);
  std::string wrong = packed;
  wrong[wrong.size() - 8] ^= 1;
  CHECK(files.fault_of_image(wrong) ==
        "65 DIR/images: error[data.gzip]: the gzip data is damaged after 20012 unpacked bytes: incorrect data check" +
            kAgain);
}

TEST_CASE("C67: an HTML page, a picture, an empty file and a short one are named for what they are") {
  IdxFolder files;
  const std::string hint = "\n  hint: fetch the file again; a download page saved under this name looks like this";
  CHECK(files.fault_of_image("<!DOCTYPE html><html></html>") ==
        "65 DIR/images: error[data.format]: is neither an IDX file nor gzip: it begins with '<!DO'" + hint);
  CHECK(files.fault_of_image("\x89PNG\r\n") ==
        "65 DIR/images: error[data.format]: is neither an IDX file nor gzip: it begins with bytes 89 50 4e 47" + hint);
  CHECK(files.fault_of_image(gzip("hello world")) ==
        "65 DIR/images: error[data.format]: unpacks to something that is no IDX file: it begins with 'hell'" + hint);
  CHECK(files.fault_of_image("") == "65 DIR/images: error[data.empty]: is empty" + kAgain);
  CHECK(files.fault_of_image(gzip("")) == "65 DIR/images: error[data.empty]: is empty" + kAgain);
  CHECK(files.fault_of_image(std::string(3, '\0')) ==
        "65 DIR/images: error[data.format]: is no IDX file: it holds 3 bytes, fewer than a header");
}

TEST_CASE("A plain file that is too short or too long is refused before it is read") {
  IdxFolder files;
  const std::string good = idx_u8({10, 4});
  CHECK(files.fault_of_image(good.substr(0, 40)) ==
        "65 DIR/images: error[data.truncated]: its header declares 10 x 4 values (40 bytes), but only 28 bytes follow "
        "it" +
            kAgain);
  CHECK(files.fault_of_image(good + "xy") ==
        "65 DIR/images: error[data.trailing]: its header declares 10 x 4 values (40 bytes), but 42 bytes follow it" +
            kAgain);
  CHECK(files.fault_of_image(good.substr(0, 9)) ==
        "65 DIR/images: error[data.truncated]: ends within its header" + kAgain);
}

TEST_CASE("A gzip file with fewer or more values than its header declares, or with something behind it, is refused") {
  IdxFolder files;
  const std::string good = idx_u8({10, 4});
  CHECK(files.fault_of_image(gzip(good.substr(0, 40))) ==
        "65 DIR/images: error[data.truncated]: its header declares 10 x 4 values (40 bytes), but only 28 bytes follow "
        "it" +
            kAgain);
  CHECK(files.fault_of_image(gzip(good + "x")) ==
        "65 DIR/images: error[data.trailing]: its header declares 10 x 4 values (40 bytes), but more bytes follow it" +
            kAgain);
  CHECK(files.fault_of_image(gzip(good) + "<html>") ==
        "65 DIR/images: error[data.trailing]: holds something else after its gzip data" + kAgain);
}

TEST_CASE("Absurd sizes are refused before anything is allocated for them") {
  IdxFolder files;
  const std::string huge = idx_header(0x0E, {0xffffffff, 0xffffffff, 0xffffffff});
  CHECK(files.fault_of_image(huge) ==
        "65 DIR/images: error[data.size]: its header declares 4294967295 x 4294967295 x 4294967295 values, "
        "more than any file can hold");
  CHECK(files.fault_of_image(idx_header(0x08, {0xffffffff, 784})) ==
        "65 DIR/images: error[data.truncated]: its header declares 4294967295 x 784 values (3367254359280 bytes), "
        "but only 0 bytes follow it" +
            kAgain);
  const std::string packed = gzip(idx_header(0x08, {0xffffffff, 784}));
  CHECK(files.fault_of_image(packed) ==
        "65 DIR/images: error[data.size]: its header declares 4294967295 x 784 values (3367254359280 bytes), "
        "more than a gzip file of " +
            std::to_string(packed.size()) + " bytes can hold");
}

TEST_CASE("A header without samples, without dimensions or of an unknown type is refused") {
  IdxFolder files;
  CHECK(files.fault_of_image(idx_header(0x08, {0, 28, 28})) ==
        "65 DIR/images: error[data.empty]: holds no values: its header declares 0 x 28 x 28");
  CHECK(files.fault_of_image(idx_header(0x08, {})) ==
        "65 DIR/images: error[data.format]: is an IDX file of no dimensions, so it holds no samples");
  CHECK(files.fault_of_image(idx_header(0x0A, {1}) + "x")
            .starts_with("65 DIR/images: error[data.format]: is neither an IDX file nor gzip: it begins with bytes "
                         "00 00 0a 01"));
}

TEST_CASE("A missing file, a folder, a FIFO and a file without permission are refused without waiting") {
  IdxFolder files;
  CHECK(files.fault(files.images({files.folder / "none"})) ==
        "66 DIR/none: error[data.missing]: cannot be opened: No such file or directory\n"
        "  hint: relative paths start at the recipe's folder");
  std::filesystem::create_directory(files.folder / "sub");
  CHECK(files.fault(files.images({files.folder / "sub"})) ==
        "66 DIR/sub: error[data.not_a_file]: is a folder, not a regular file");
  REQUIRE(::mkfifo((files.folder / "pipe").c_str(), 0600) == 0);
  CHECK(files.fault(files.images({files.folder / "pipe"})) ==
        "66 DIR/pipe: error[data.not_a_file]: is a FIFO, not a regular file");
  const std::string locked = files.put("locked", idx_u8({2, 2}));
  REQUIRE(::chmod(locked.c_str(), 0) == 0);
  if (::geteuid() != 0)  // root may read everything
    CHECK(files.fault(files.images({locked})) ==
          "66 DIR/locked: error[data.unreadable]: cannot be opened: Permission denied\n"
          "  hint: give this user permission to read it and to enter its folders");
}

TEST_CASE("Files of one list must hold the same kind of samples") {
  IdxFolder files;
  const auto a = files.put("a", idx_u8({2, 4})), b = files.put("b", idx_u8({2, 5}));
  CHECK(files.fault(files.images({a, b})) ==
        "65 DIR/b: error[data.mismatch]: holds samples of 5 uint8, but DIR/a holds samples of 4 uint8");
}

TEST_CASE("Images and labels must be as many") {
  CHECK(label_fault(idx_labels({0, 1, 2})) ==
        "65 DIR/labels: error[data.count]: holds 3 labels, but DIR/images holds 4 images\n"
        "  hint: check that images and labels are files of the same set");
}

TEST_CASE("C72: labels 1..10 for 10 classes, -1, 255 and 1.5 are refused when the set is opened") {
  const std::string hint = "\n  hint: labels count from 0; `ignore_label` names a value that means \"no label\"";
  CHECK(label_fault(idx_labels({1, 5, 10, 2}), 10) ==
        "65 DIR/labels: error[data.label_range]: sample 2: label 10 lies outside 0..9, the range of `classes` = 10" +
            hint);
  CHECK(label_fault(idx_labels({1, 5, 9, 255}), 10) ==
        "65 DIR/labels: error[data.label_range]: sample 3: label 255 lies outside 0..9, the range of `classes` = 10" +
            hint);
  CHECK(label_fault(idx_header(0x09, {4}) + std::string("\x01\xff\x00\x00", 4)) ==
        "65 DIR/labels: error[data.label_range]: sample 1: label -1 is none: labels are whole numbers from 0" + hint);
  const std::string halves = idx_header(0x0D, {4}) + big_endian(0x3f800000, 4) + big_endian(0x3fc00000, 4) +
                             big_endian(0, 4) + big_endian(0, 4);
  CHECK(label_fault(halves) ==
        "65 DIR/labels: error[data.label_range]: sample 1: label 1.5 is none: labels are whole numbers from 0" + hint);
}

TEST_CASE("A file of labels is no file of images, and the other way round") {
  IdxFolder files;
  CHECK(
      files.fault_of_image(idx_labels({1, 2, 3})) ==
      "65 DIR/images: error[data.image_rank]: holds one value a sample (1 dimension), but an image needs at least one "
      "dimension besides the samples\n  hint: check that `images` does not name a file of labels");
  CHECK(label_fault(idx_u8({4, 2, 2})) ==
        "65 DIR/labels: error[data.label_rank]: has 3 dimensions, but labels are one number a sample (1 dimension)\n"
        "  hint: check that `labels` does not name a file of images");
}

TEST_CASE("Labels that are all ignored, or would mean absurdly many classes, are refused") {
  IdxFolder files;
  Options options = files.images({files.put("images", idx_u8({2, 2}))});
  options.set("labels", std::vector<std::string>{files.put("labels", idx_labels({9, 9}))});
  options.set("ignore_label", std::int64_t{9});
  CHECK(files.fault(options) == "65 DIR/labels: error[data.no_labels]: every label is the ignored one, 9");
  CHECK(label_fault(idx_header(0x0C, {4}) + big_endian(2000000000, 4) + std::string(12, '\0')) ==
        "65 DIR/labels: error[data.label_range]: its largest label is 2000000000, too many classes to be taken for "
        "granted\n  hint: set `classes` if this is meant");
}
