#include "report/record.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace holdfast::report;

TEST_CASE("an event's fields are read by name and type") {
  const auto record = read_record(R"({"event":"update","update":7,"loss":0.5,"ok":true,"why":null,"loss":0.25})");
  REQUIRE(record);
  CHECK(record->text("event") == "update");
  CHECK(record->integer("update") == 7);
  CHECK(record->number("update") == 7.0);
  CHECK(record->number("loss") == 0.25);
  CHECK(record->flag("ok"));
  CHECK_FALSE(record->number("why"));
  CHECK_FALSE(record->number("absent"));
  CHECK(record->text("update").empty());
  CHECK(record->integer("loss", -1) == -1);
}

TEST_CASE("objects inside are flattened and arrays left out") {
  const auto record = read_record(R"({"scores":{"loss":1.5,"deep":{"er":2}},"list":[1,{"a":2},[3]],"last":4})");
  REQUIRE(record);
  CHECK(record->fields.size() == 3);
  CHECK(record->number("scores.loss") == 1.5);
  CHECK(record->number("scores.deep.er") == 2.0);
  CHECK(record->number("last") == 4.0);
}

TEST_CASE("what is no object of strict JSON is none") {
  for (const char* text :
       {"", "7", "\"a\"", "[]", "[{\"a\":1}]", "{\"a\":NaN}", "{\"a\":1", "{\"a\":1}}", "{a:1}", "nul"})
    CHECK_MESSAGE(!read_record(text), text);
  CHECK_FALSE(read_record(std::string("{\"a\":\"\xff\"}")));
}

TEST_CASE("nesting deeper than 8 is refused, a hundred thousand brackets too") {
  std::string eight = "1", nine = "1";
  for (int i = 0; i < 8; ++i) eight = "{\"a\":" + eight + "}";
  for (int i = 0; i < 9; ++i) nine = "{\"a\":" + nine + "}";
  CHECK(read_record(eight));
  CHECK_FALSE(read_record(nine));
  CHECK_FALSE(read_record("{\"a\":" + std::string(100000, '[')));
}

TEST_CASE("integers beyond 64 bits become numbers, and fields beyond 200 are dropped") {
  const auto record = read_record(R"({"big":18446744073709551615,"huge":1e400})");
  if (record) CHECK(record->number("big") == doctest::Approx(1.8446744073709552e19));
  std::string many = "{\"first\":1";
  for (int i = 0; i < 1000; ++i) many += ",\"k" + std::to_string(i) + "\":1";
  CHECK(read_record(many + "}")->fields.size() == 200);
}
