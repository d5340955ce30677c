#include "tests/support/http_server.h"

#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <stdexcept>

namespace segre::test {
namespace {

constexpr int kPollMs = 20;

void send_all(int connection, const std::string& bytes) {
  for (size_t sent = 0; sent < bytes.size();) {
    const ssize_t count = ::send(connection, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (count <= 0) return;
    sent += static_cast<size_t>(count);
  }
}

std::string read_request(int connection) {
  std::string request;
  char buffer[1024];
  while (request.find("\r\n\r\n") == std::string::npos) {
    const ssize_t count = ::recv(connection, buffer, sizeof buffer, 0);
    if (count <= 0) break;
    request.append(buffer, static_cast<size_t>(count));
  }
  return request;
}

std::string range_of(const std::string& request) {
  const std::string key = "Range: bytes=";
  const size_t at = request.find(key);
  if (at == std::string::npos) return "";
  return request.substr(at + key.size(), request.find("\r\n", at) - at - key.size());
}

}  // namespace

HttpServer::HttpServer(std::string body, Manner manner, size_t cut_after)
    : body_(std::move(body)), manner_(manner), cut_after_(cut_after) {
  socket_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  auto* plain = reinterpret_cast<sockaddr*>(&address);
  if (socket_ < 0 || ::bind(socket_, plain, length) != 0 || ::listen(socket_, 8) != 0 ||
      ::getsockname(socket_, plain, &length) != 0)
    throw std::runtime_error("the test's server cannot be started");
  port_ = ntohs(address.sin_port);
  thread_ = std::thread([this] { serve(); });
}

HttpServer::~HttpServer() {
  stop_ = true;
  thread_.join();
  ::close(socket_);
}

std::string HttpServer::url() const { return "http://127.0.0.1:" + std::to_string(port_) + "/file.bin"; }

std::vector<std::string> HttpServer::ranges() const {
  const std::scoped_lock lock(mutex_);
  return ranges_;
}

void HttpServer::serve() {
  while (!stop_) {
    pollfd waiting{socket_, POLLIN, 0};
    if (::poll(&waiting, 1, kPollMs) <= 0) continue;
    const int connection = ::accept4(socket_, nullptr, nullptr, SOCK_CLOEXEC);
    if (connection < 0) continue;
    answer(connection);
    ::close(connection);
  }
}

void HttpServer::answer(int connection) {
  const std::string range = range_of(read_request(connection));
  {
    const std::scoped_lock lock(mutex_);
    ranges_.push_back(range);
  }
  const std::string close = "Connection: close\r\n";
  if (manner_ == Manner::not_found)
    return send_all(connection, "HTTP/1.1 404 Not Found\r\n" + close + "Content-Length: 0\r\n\r\n");
  const bool partial = !range.empty() && manner_ != Manner::no_ranges;
  const size_t first = partial ? std::stoul(range) : 0;
  if (first >= body_.size() && partial)
    return send_all(connection, "HTTP/1.1 416 Range Not Satisfiable\r\n" + close + "Content-Length: 0\r\n\r\n");
  const bool cuts = manner_ == Manner::cuts || manner_ == Manner::unsized;
  const std::string length =
      manner_ == Manner::unsized ? "" : "Content-Length: " + std::to_string(body_.size() - first) + "\r\n";
  const std::string span = "Content-Range: bytes " + std::to_string(first) + "-" + std::to_string(body_.size() - 1) +
                           "/" + std::to_string(body_.size()) + "\r\n";
  send_all(connection,
           (partial ? "HTTP/1.1 206 Partial Content\r\n" + span : "HTTP/1.1 200 OK\r\n") + close + length + "\r\n");
  const size_t count = cuts ? std::min(cut_after_, body_.size() - first) : body_.size() - first;
  send_all(connection, body_.substr(first, count));
}

}  // namespace segre::test
