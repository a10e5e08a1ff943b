#include "app/worker/table.hpp"

#include <doctest/doctest.h>

using namespace holdfast;

TEST_CASE("columns are as wide as their widest word, figures flush right, no blanks at the end of a line") {
  app::Table table({"name", ">bytes", "note"});
  table.add({"a", "12 B", ""});
  table.add({"longer", "1.5 KiB", "of one"});
  CHECK(table.text() ==
        "name      bytes  note\n"
        "a          12 B\n"
        "longer  1.5 KiB  of one\n");
}
