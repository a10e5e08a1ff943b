// What the command line gave, as --key value. Knows no key.
#pragma once

#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace bare {

class Settings {
 public:
  Settings(int argc, char** argv) {
    for (int i = 1; i + 1 < argc; i += 2) given_[std::string(argv[i]).substr(2)] = argv[i + 1];
  }
  bool has(const std::string& key) const { return given_.contains(key); }
  const std::string& text(const std::string& key) const {
    const auto found = given_.find(key);
    if (found == given_.end()) throw std::runtime_error("--" + key + " is missing");
    return found->second;
  }
  std::int64_t number(const std::string& key) const { return std::stoll(text(key)); }
  double real(const std::string& key) const { return std::stod(text(key)); }
  std::vector<std::int64_t> list(const std::string& key) const {
    std::vector<std::int64_t> numbers;
    const std::string& all = text(key);
    for (std::size_t at = 0; at < all.size();
         at = all.find(',', at) == std::string::npos ? all.size() : all.find(',', at) + 1)
      numbers.push_back(std::stoll(all.substr(at)));
    return numbers;
  }

 private:
  std::map<std::string, std::string> given_;
};

}  // namespace bare
