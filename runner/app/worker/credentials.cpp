// Read once, before the run home is touched.
#include "app/worker/credentials.hpp"

#include "app/front/source.hpp"
#include "base/atomic_file.hpp"
#include "holdfast/error.hpp"

namespace holdfast::app {
namespace {

constexpr std::size_t kMostCredentials = 4096;

void take(telemetry::PushSettings& into, const std::string& where, std::string text) {
  text = text.substr(0, text.find_first_of("\r\n"));
  const auto colon = text.find(':');
  if (colon == std::string::npos || colon == 0)
    throw Error(ExitCode::kBadRecipe, "metrics.credentials", where, "does not hold USER:PASSWORD on its first line",
                "write the user's name, a colon and the password");
  into.user = text.substr(0, colon);
  into.password = text.substr(colon + 1);
}

}  // namespace

std::optional<telemetry::PushSettings> push_settings(const spec::Recipe& recipe) {
  if (!recipe.metrics.has("push")) return std::nullopt;
  telemetry::PushSettings settings;
  settings.url = recipe.metrics.string("push");
  settings.run = recipe.run.string("name");
  if (recipe.metrics.has("password_file")) {
    const std::string file = recipe.metrics.path("password_file");
    take(settings, file, base::read_file(file, kMostCredentials));
  } else if (const auto given = environment("HOLDFAST_PUSH_CREDENTIALS")) {
    take(settings, "HOLDFAST_PUSH_CREDENTIALS", *given);
  }
  return settings;
}

}  // namespace holdfast::app
