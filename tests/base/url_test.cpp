#include "base/url.hpp"

#include <doctest/doctest.h>

using holdfast::base::url_problem;

TEST_CASE("addresses of servers are accepted") {
  for (const char* url : {"http://gateway:9091", "https://metrics.example.org/push/", "http://[::1]:9091",
                          "http://10.0.0.1", "http://a/b%20c"})
    CHECK_MESSAGE(url_problem(url).empty(), url);
}

TEST_CASE("what is none is told in words") {
  CHECK(url_problem("") == "does not begin with http:// or https://");
  CHECK(url_problem("gateway:9091") == "does not begin with http:// or https://");
  CHECK(url_problem("file:///etc/passwd") == "does not begin with http:// or https://");
  CHECK(url_problem("http://") == "has no host");
  CHECK(url_problem("http:///metrics") == "has no host");
  CHECK(url_problem("http://:9091") == "has no host");
  CHECK(url_problem("http://[::1") == "has an address without its closing bracket");
  CHECK(url_problem("http://a:b") == "has a port that is no number");
  CHECK(url_problem("http://a:") == "has a port that is no number");
  CHECK(url_problem("http://a:0") == "has a port outside of 1 to 65535");
  CHECK(url_problem("http://a:65536/x") == "has a port outside of 1 to 65535");
  CHECK(url_problem("http://me:secret@a") == "has a user name");
  CHECK(url_problem("http://a/?token=x") == "has a query or a fragment");
  CHECK(url_problem("http://a/#x") == "has a query or a fragment");
  CHECK(url_problem("http://a b") == "holds a character that URLs write in another way");
  CHECK(url_problem("http://a\n") == "holds a character that URLs write in another way");
}
