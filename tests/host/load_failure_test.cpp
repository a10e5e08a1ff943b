// C110 and C111: what the loader says, told so that the cause is clear.
#include "host/load_failure.hpp"

#include <dlfcn.h>
#include <doctest/doctest.h>
#include <elf.h>
#include <sys/fsuid.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "host/plugin_folder.hpp"

using holdfast::testing::bytes_of;
using holdfast::testing::error_of;
using holdfast::testing::fixture;
using holdfast::testing::PluginFolder;
using holdfast::testing::TestHost;

TEST_CASE("C110: an absent plugin is told with the folders searched and the nearest name") {
  PluginFolder folder;
  folder.add("good");
  folder.add("casts");
  TestHost test({{folder.path(), holdfast::host::Origin::kBuiltIn},
                 {folder.path() + "/none", holdfast::host::Origin::kCommandLine}});
  CHECK(test.find_error("goood") ==
        "80 error[plugin.not_found]: there is no plugin 'goood': no libholdfast_goood.so in\n    " + folder.path() +
            " (built-in)\n    " + folder.path() +
            "/none (--plugin-dir; No such file or directory)\n  hint: did you mean 'good'? available: casts, good; "
            "--plugin-dir DIR adds a folder");
  CHECK(test.notes == std::vector<std::string>{"no plugins from " + folder.path() +
                                               "/none (--plugin-dir): No such file or directory"});
}

TEST_CASE("C110: without folders, and with empty ones, the sentence says so") {
  TestHost none(std::vector<holdfast::host::SearchFolder>{});
  CHECK(none.find_error("x") ==
        "80 error[plugin.not_found]: there is no plugin 'x': no libholdfast_x.so, and no folder to look in\n  hint: no "
        "plugin is in these folders; --plugin-dir DIR adds a folder");
  PluginFolder folder;
  TestHost empty(folder);
  CHECK(empty.find_error("x") ==
        "80 error[plugin.not_found]: there is no plugin 'x': no libholdfast_x.so in\n    " + folder.path() +
            " (built-in)\n  hint: no plugin is in these folders; --plugin-dir DIR adds a folder");
}

TEST_CASE("C110: a folder, a FIFO, a socket, a device and a dangling link in place of a plugin are named at once") {
  PluginFolder folder;
  std::filesystem::create_directory(folder.file("folder"));
  REQUIRE(::mkfifo(folder.file("fifo").c_str(), 0644) == 0);
  std::filesystem::create_symlink("/dev/zero", folder.file("device"));
  std::filesystem::create_symlink("nowhere", folder.file("dangling"));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string socket_path = folder.file("socket");
  REQUIRE(socket_path.size() < sizeof address.sun_path);
  std::copy(socket_path.begin(), socket_path.end(), address.sun_path);
  const int descriptor = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  REQUIRE(::bind(descriptor, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  TestHost test(folder);
  const auto expect = [&](const char* name, const std::string& text) {
    CHECK(test.find_error(name) == "80 " + folder.file(name) + ": " + text);
  };
  expect("folder", "error[plugin.not_regular]: a folder, not a shared library");
  expect("fifo", "error[plugin.not_regular]: a FIFO, not a shared library");
  expect("device", "error[plugin.not_regular]: a device, not a shared library");
  expect("socket", "error[plugin.not_regular]: a socket or device, not a shared library");
  expect("dangling", "error[plugin.absent]: there is no such file");
  ::close(descriptor);
}

TEST_CASE("C110: a text file, an empty file and another architecture are named") {
  PluginFolder folder;
  const std::string text = folder.write("text", "GROUP ( libfoo.so.3 )\n"), empty = folder.write("empty", "");
  std::vector<std::byte> foreign = bytes_of(fixture("good"));
  foreign[offsetof(Elf64_Ehdr, e_machine)] = std::byte{EM_RISCV};
  const std::string riscv = folder.write("riscv", foreign);
  TestHost test(folder);
  CHECK(test.find_error("text") ==
        "80 " + text + ": error[plugin.not_elf]: not a shared library: it begins with 'GROUP ( libfoo.s'");
  CHECK(test.find_error("empty") == "80 " + empty + ": error[plugin.not_elf]: not a shared library: it is empty");
  const std::string start = "80 " + riscv + ": error[plugin.wrong_machine]: built for riscv, but this holdfast is ";
  CHECK(test.find_error("riscv").starts_with(start));
  CHECK(test.find_error("riscv").ends_with("\n  hint: build the plugin for this machine"));
}

TEST_CASE("C110: an unreadable file gives the system's reason") {
  PluginFolder folder;
  const std::string path = folder.add("good");
  ::chmod(path.c_str(), ::geteuid() == 0 ? 0600 : 0);
  TestHost test(folder);
  // Root reads everything; a file system id of somebody else takes that power from this thread.
  if (::geteuid() == 0) ::setfsuid(65534);
  const std::string text = test.find_error("good");
  ::setfsuid(::geteuid());
  CHECK(text == "80 " + path +
                    ": error[plugin.unreadable]: the file cannot be read: Permission denied\n  hint: grant this user "
                    "read access to the file and search access to its folders");
}

TEST_CASE("C110: an absent dependency is told from an absent plugin") {
  PluginFolder folder;
  const std::string path = folder.add("missing_dependency");
  TestHost test(folder);
  CHECK(
      test.find_error("missing_dependency") ==
      "80 " + path +
          ": error[plugin.missing_dependency]: the plugin is there, but it needs libfoo.so.3, which is not found; the "
          "loader said: libfoo.so.3: cannot open shared object file: No such file or directory\n  hint: install "
          "libfoo.so.3, or add its folder to LD_LIBRARY_PATH or to the plugin's RUNPATH");
}

TEST_CASE("C110: an undefined symbol is named, readable, when the plugin is loaded and not when it is called") {
  PluginFolder folder;
  const std::string path = folder.add("undefined_symbol");
  TestHost test(folder);
  CHECK(test.find_error("undefined_symbol") ==
        "80 " + path +
            ": error[plugin.undefined_symbol]: the plugin needs the symbol _ZN9elsewhere7computeEi "
            "(elsewhere::compute(int)), which no library defines; the loader said: " +
            path +
            ": undefined symbol: _ZN9elsewhere7computeEi\n  hint: link the plugin with the library that defines "
            "it");
}

TEST_CASE("C110: a file whose tail is cut off is told as truncated, with its size") {
  PluginFolder folder;
  std::vector<std::byte> bytes = bytes_of(fixture("good"));
  bytes.resize(bytes.size() - 1);
  const std::string path = folder.write("cut", bytes);
  TestHost test(folder);
  CHECK(test.find_error("cut") ==
        "80 " + path +
            ": error[plugin.damaged_elf]: the file is truncated or damaged: the section table lies past its end (" +
            std::to_string(bytes.size()) + " bytes)\n  hint: build or copy the plugin again");
}

TEST_CASE("other words of the loader are passed on whole") {
  const auto text = [](const char* said) {
    return error_of([&] { throw holdfast::host::load_failure("/p.so", said); });
  };
  CHECK(text("/lib/libc.so.6: version `GLIBC_2.99' not found (required by /p.so)") ==
        "80 /p.so: error[plugin.load_failed]: the plugin cannot be loaded; the loader said: /lib/libc.so.6: version "
        "`GLIBC_2.99' not found (required by /p.so)");
  CHECK(text("/p.so: cannot open shared object file: Permission denied") ==
        "80 /p.so: error[plugin.load_failed]: the plugin cannot be loaded; the loader said: /p.so: cannot open shared "
        "object file: Permission denied");
  CHECK(text("") == "80 /p.so: error[plugin.load_failed]: the plugin cannot be loaded; the loader said: nothing");
}

TEST_CASE("C111: an older failure of the loader is neither told again nor taken for one of a good plugin") {
  PluginFolder folder;
  folder.add("good");
  folder.add("no_entry");
  const std::string dependency = folder.add("missing_dependency");
  TestHost test(folder);
  CHECK(::dlsym(RTLD_DEFAULT, "holdfast_no_such_symbol") == nullptr);  // leaves a text in dlerror()
  CHECK(test.find_error("good") == "nothing");
  CHECK(::dlsym(RTLD_DEFAULT, "holdfast_no_such_symbol") == nullptr);
  CHECK(test.find_error("missing_dependency").find("no_such_symbol") == std::string::npos);
  CHECK(test.find_error("no_entry").find("libfoo") == std::string::npos);
  CHECK(test.find_error("good") == "nothing");
}
