// libmicrohttpd in its epoll mode: one thread that never blocks on a client.
#include "telemetry/metrics/endpoint.hpp"

#include <microhttpd.h>
#include <unistd.h>

#include <cstring>
#include <exception>
#include <string_view>

#include "base/signal.hpp"
#include "telemetry/metrics/socket.hpp"

namespace holdfast::telemetry {
namespace {

constexpr unsigned kMostClients = 128;
constexpr unsigned kSilenceSeconds = 5;
constexpr std::size_t kRequestBytes = 16 * 1024;

constexpr const char* kExposition = "text/plain; version=0.0.4; charset=utf-8";
constexpr const char* kPlain = "text/plain; charset=utf-8";

struct Answer {
  unsigned status = MHD_HTTP_OK;
  const char* type = kPlain;
  std::string body;
};

MHD_Result send(MHD_Connection* connection, const Answer& answer) {
  // The library only reads the bytes: MUST_COPY. Its signature is older than const.
  MHD_Response* response =
      MHD_create_response_from_buffer(answer.body.size(), const_cast<char*>(answer.body.data()), MHD_RESPMEM_MUST_COPY);
  if (!response) return MHD_NO;
  MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, answer.type);
  MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
  if (answer.status == MHD_HTTP_METHOD_NOT_ALLOWED)
    MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
  const MHD_Result queued = MHD_queue_response(connection, answer.status, response);
  MHD_destroy_response(response);
  return queued;
}

Answer answer_to(std::string_view url, const std::function<std::string()>& text) {
  if (url == "/") return {MHD_HTTP_OK, kPlain, "holdfast: the metrics of a training run are at /metrics\n"};
  if (url != "/metrics") return {MHD_HTTP_NOT_FOUND, kPlain, "there is only /metrics here\n"};
  try {
    return {MHD_HTTP_OK, kExposition, text()};
  } catch (const std::exception& failure) {
    return {MHD_HTTP_INTERNAL_SERVER_ERROR, kPlain,
            std::string("the metrics could not be written: ") + failure.what() + "\n"};
  }
}

}  // namespace

struct Endpoint::Impl {
  base::ListenAddress address;
  std::function<std::string()> text;
  MHD_Daemon* daemon = nullptr;

  /// Called once when the headers are in, again for what follows them. A GET is answered when all of it was read, so
  /// that the connection can be used again; another method at once, whatever it still wants to send.
  static MHD_Result handle(void* self, MHD_Connection* connection, const char* url, const char* method,
                           const char* /*version*/, const char* /*upload*/, std::size_t* upload_size, void** seen) {
    if (std::strcmp(method, MHD_HTTP_METHOD_GET) != 0 && std::strcmp(method, MHD_HTTP_METHOD_HEAD) != 0)
      return send(connection, {MHD_HTTP_METHOD_NOT_ALLOWED, kPlain, "only GET and HEAD are answered here\n"});
    if (*seen == nullptr) {
      *seen = self;
      return MHD_YES;
    }
    if (*upload_size > 0) {
      *upload_size = 0;
      return MHD_YES;
    }
    return send(connection, answer_to(url, static_cast<Impl*>(self)->text));
  }
};

Endpoint::Endpoint(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

std::unique_ptr<Endpoint> Endpoint::open(const base::ListenAddress& address, std::function<std::string()> text,
                                         std::string& problem) {
  auto impl = std::make_unique<Impl>();
  impl->address = address;
  impl->text = std::move(text);
  base::File socket = listening_socket(impl->address, problem);
  if (socket.fd() < 0) return nullptr;
  {
    const base::SignalsBlocked quiet;  // the server's thread inherits this
    impl->daemon = MHD_start_daemon(MHD_USE_EPOLL_INTERNAL_THREAD, 0, nullptr, nullptr, &Impl::handle, impl.get(),
                                    MHD_OPTION_LISTEN_SOCKET, socket.fd(), MHD_OPTION_CONNECTION_LIMIT, kMostClients,
                                    MHD_OPTION_CONNECTION_TIMEOUT, kSilenceSeconds, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
                                    kRequestBytes, MHD_OPTION_END);
  }
  if (!impl->daemon) {
    problem = "the HTTP server could not be started";
    return nullptr;
  }
  socket.release();  // the server closes it
  return std::unique_ptr<Endpoint>(new Endpoint(std::move(impl)));
}

Endpoint::~Endpoint() { MHD_stop_daemon(impl_->daemon); }

const base::ListenAddress& Endpoint::address() const { return impl_->address; }

std::string Endpoint::url() const {
  base::ListenAddress shown = impl_->address;
  if (shown.host.empty() || shown.host == "0.0.0.0") shown.host = "127.0.0.1";
  if (shown.host == "::") shown.host = "::1";
  return "http://" + shown.text() + "/metrics";
}

}  // namespace holdfast::telemetry
