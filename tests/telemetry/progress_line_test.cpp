#include "telemetry/progress_line.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "telemetry/quantity.hpp"

using namespace holdfast::telemetry;

namespace {

Snapshot half_way() {
  Snapshot at;
  at.run = "digits";
  at.update = 705;
  at.total = 1410;
  at.epoch = 14;
  at.epochs = 30;
  at.loss = 0.12345;
  at.updates_per_second = 850;
  at.memory_bytes = 312LL << 20;
  return at;
}

std::size_t columns(const std::string& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](unsigned char c) { return (c & 0xC0) != 0x80; }));
}

}  // namespace

TEST_CASE("the sentence for logs names position, epoch, loss, rate, time left and memory") {
  CHECK(progress_sentence(half_way()) ==
        "update 705/1410 (50 %), epoch 15/30, loss 0.1235, 850 updates/s, 0.83 s left, 312.0 MiB");
}

TEST_CASE("without a known total the sentence promises nothing") {
  Snapshot at = half_way();
  at.total = at.epochs = 0;
  at.loss.reset();
  CHECK(progress_sentence(at) == "update 705, epoch 15, 850 updates/s, 312.0 MiB");
}

TEST_CASE("the bar shows everything on a wide terminal") {
  CHECK(progress_bar(half_way(), 120) ==
        "digits ▕████████████            ▏ 50 % · 705/1410 · loss 0.1235 · 0.83 s left · 850/s · epoch 15/30 · 312.0 "
        "MiB");
}

TEST_CASE("the bar leaves out facts instead of wrapping, at any width") {
  Snapshot at = half_way();
  at.run = "ein-sehr-langer-näme-für-einen-lauf";
  for (int width = 1; width < 200; ++width)
    CHECK(columns(progress_bar(at, width)) <= std::size_t(std::max(width - 1, 1)));
}

TEST_CASE("the bar is full at the target and never longer") {
  Snapshot at = half_way();
  at.update = 2000;
  CHECK(progress_bar(at, 60).find("████████") != std::string::npos);
  CHECK_FALSE(seconds_left(at).has_value());
}

TEST_CASE("numbers keep about four digits and never a locale's comma") {
  CHECK(number_text(0.12345) == "0.1235");
  CHECK(number_text(12.345) == "12.35");
  CHECK(number_text(1234.5) == "1234");
  CHECK(number_text(3.2e-5) == "3.2e-05");
  CHECK(number_text(0) == "0.0000");
  CHECK(number_text(std::nan("")) == "nan");
  CHECK(number_text(-INFINITY) == "-inf");
  CHECK(rate_text(0.831) == "0.83");
  CHECK(rate_text(1234.4) == "1234");
}
