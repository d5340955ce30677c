#include "segre/io/fetch.h"

#include <fcntl.h>

#include <array>
#include <cerrno>
#include <fstream>
#include <memory>

#include "segre/core/error.h"
#include "segre/io/files.h"
#include "segre/io/folders.h"
#include "segre/io/lock.h"
#include "segre/io/sha256.h"

#ifdef SEGRE_FETCH
#include <curl/curl.h>
#endif

namespace segre {
namespace {

namespace fs = std::filesystem;

int64_t size_or_zero(const fs::path& path) {
  std::error_code error;
  const auto size = fs::file_size(path, error);
  return error ? 0 : static_cast<int64_t>(size);
}

// What is wrong with a downloaded file; empty if nothing is.
std::string complaint(const FetchFile& file, const fs::path& path) {
  const int64_t bytes = size_or_zero(path);
  if (bytes != file.bytes) return concat("expected ", file.bytes, " bytes, found ", bytes);
  const std::string found = sha256_of(path);
  return found == file.sha256 ? "" : concat("expected SHA-256 ", file.sha256, ", found ", found);
}

#ifdef SEGRE_FETCH

constexpr int kAttempts = 4;           // per mirror, as long as each makes progress
constexpr long kConnectSeconds = 20;   // NOLINT(google-runtime-int): libcurl's type
constexpr long kStalledSeconds = 30;   // NOLINT(google-runtime-int)
constexpr long kPartialContent = 206;  // NOLINT(google-runtime-int)
constexpr long kOutOfRange = 416;      // NOLINT(google-runtime-int)

// One transfer into the part file.
struct Transfer {
  const FetchFile& file;
  fs::path part;
  const WorkCallbacks& callbacks;
  int64_t offset;  // bytes already in the part
  CURL* curl = nullptr;
  std::ofstream out{};
  int64_t written = 0;
  std::string trouble{};
  std::exception_ptr thrown{};  // by a callback
};

// A server may ignore the requested range and send everything; then the part starts over.
bool open_part(Transfer& transfer) {
  long status = 0;  // NOLINT(google-runtime-int)
  curl_easy_getinfo(transfer.curl, CURLINFO_RESPONSE_CODE, &status);
  if (status != kPartialContent) transfer.offset = 0;
  transfer.out.open(transfer.part, std::ios::binary | (transfer.offset > 0 ? std::ios::app : std::ios::trunc));
  return static_cast<bool>(transfer.out);
}

size_t on_bytes(char* bytes, size_t size, size_t count, void* user) {
  auto& transfer = *static_cast<Transfer*>(user);
  const size_t total = size * count;
  if (!transfer.out.is_open() && !open_part(transfer)) {
    transfer.trouble = concat(transfer.part.string(), " cannot be written");
    return 0;
  }
  const int64_t have = transfer.offset + transfer.written + static_cast<int64_t>(total);
  if (have > transfer.file.bytes) {
    transfer.trouble = concat("expected ", transfer.file.bytes, " bytes, received more");
    return 0;
  }
  if (!transfer.out.write(bytes, static_cast<std::streamsize>(total))) {
    transfer.trouble = concat(transfer.part.string(), ": writing failed");
    return 0;
  }
  transfer.written += static_cast<int64_t>(total);
  try {
    transfer.callbacks.report({transfer.file.name, have, transfer.file.bytes});
  } catch (...) {
    transfer.thrown = std::current_exception();  // not through libcurl, which is C
    return 0;
  }
  return total;
}

using Curl = std::unique_ptr<CURL, decltype(&curl_easy_cleanup)>;

Curl start_curl(const std::string& url, Transfer& transfer) {
  static const CURLcode kStarted = curl_global_init(CURL_GLOBAL_DEFAULT);
  Curl curl(kStarted == CURLE_OK ? curl_easy_init() : nullptr, curl_easy_cleanup);
  if (!curl) fail("libcurl cannot be initialised");
  transfer.curl = curl.get();
  curl_easy_setopt(curl.get(), CURLOPT_URL, url.c_str());
  curl_easy_setopt(curl.get(), CURLOPT_USERAGENT, "segre");
  curl_easy_setopt(curl.get(), CURLOPT_FOLLOWLOCATION, 1L);
  curl_easy_setopt(curl.get(), CURLOPT_MAXREDIRS, 5L);
  curl_easy_setopt(curl.get(), CURLOPT_FAILONERROR, 1L);
  curl_easy_setopt(curl.get(), CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl.get(), CURLOPT_CONNECTTIMEOUT, kConnectSeconds);
  curl_easy_setopt(curl.get(), CURLOPT_LOW_SPEED_LIMIT, 1L);
  curl_easy_setopt(curl.get(), CURLOPT_LOW_SPEED_TIME, kStalledSeconds);
  curl_easy_setopt(curl.get(), CURLOPT_WRITEFUNCTION, on_bytes);
  curl_easy_setopt(curl.get(), CURLOPT_WRITEDATA, &transfer);
  return curl;
}

// Downloads as much of the part as one mirror sends; returns what went wrong, or nothing.
std::string transfer_once(const std::string& url, Transfer& transfer) {
  const Curl curl = start_curl(url, transfer);
  const std::string range = concat(transfer.offset, "-");
  if (transfer.offset > 0) curl_easy_setopt(curl.get(), CURLOPT_RANGE, range.c_str());
  std::array<char, CURL_ERROR_SIZE> message{};
  curl_easy_setopt(curl.get(), CURLOPT_ERRORBUFFER, message.data());
  const CURLcode code = curl_easy_perform(curl.get());
  if (transfer.out.is_open()) {
    transfer.out.close();
    if (!transfer.out) transfer.trouble = concat(transfer.part.string(), ": writing failed");
  }
  long status = 0;  // NOLINT(google-runtime-int)
  curl_easy_getinfo(curl.get(), CURLINFO_RESPONSE_CODE, &status);
  std::error_code ignored;
  if (status == kOutOfRange || !transfer.trouble.empty()) fs::remove(transfer.part, ignored);
  if (!transfer.trouble.empty()) return transfer.trouble;
  if (code == CURLE_OK) return "";
  return message[0] != '\0' ? message.data() : curl_easy_strerror(code);
}

// Outcome of an attempt to complete the part from one mirror.
struct Attempt {
  bool checked = false;  // the part has the right size and SHA-256
  bool again = false;    // another attempt may make progress
  std::string trouble{};
  std::exception_ptr thrown{};  // by a callback
};

// A mirror's error, or how far it got if it reported none: a truncated response without a length looks complete.
std::string said(const std::string& trouble, const FetchFile& file, int64_t bytes) {
  return trouble.empty() ? concat("expected ", file.bytes, " bytes, found ", bytes) : trouble;
}

Attempt attempt_from(const std::string& url, const FetchFile& file, const fs::path& part,
                     const WorkCallbacks& callbacks) {
  const int64_t before = size_or_zero(part);
  if (before < file.bytes) {
    Transfer transfer{.file = file, .part = part, .callbacks = callbacks, .offset = before};
    const std::string trouble = transfer_once(url, transfer);
    if (transfer.thrown) std::rethrow_exception(transfer.thrown);
    const int64_t after = size_or_zero(part);
    const bool cut = after > before;                  // the connection was lost
    const bool restarted = before > 0 && after == 0;  // the existing part does not fit this mirror
    if (after < file.bytes) return {.again = cut || restarted, .trouble = said(trouble, file, after)};
  }
  std::string trouble = complaint(file, part);
  if (trouble.empty()) return {.checked = true};
  std::error_code ignored;
  fs::remove(part, ignored);
  return {.again = before > 0, .trouble = std::move(trouble)};  // otherwise all of it came from this mirror
}

// Completes the part from one mirror: resumes lost connections, discards wrong bytes. Only `checked` means success.
Attempt fetch_from(const std::string& url, const FetchFile& file, const fs::path& part,
                   const WorkCallbacks& callbacks) {
  Attempt attempt{.again = true};
  for (int k = 0; k < kAttempts && attempt.again; ++k) attempt = attempt_from(url, file, part, callbacks);
  return attempt;
}

// Syncs a checked part to disk and moves it into place.
void keep_part(const fs::path& part, const fs::path& target) {
  Descriptor written(::open(part.c_str(), O_RDWR | O_CLOEXEC));
  int error = written ? sync_descriptor(written.number()) : errno;
  if (error == 0) error = written.close();
  if (error != 0) throw FileError(part.string(), "cannot be synced to disk", error);
  rename_file(part, target);
  sync_folder(target.parent_path().empty() ? "." : target.parent_path());
}

#endif  // SEGRE_FETCH

}  // namespace

std::string sha256_of(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) fail_input(path.string(), ": cannot be opened");
  Sha256 sum;
  std::array<char, 1 << 16> buffer;
  while (in) {
    in.read(buffer.data(), buffer.size());
    sum.add(buffer.data(), static_cast<size_t>(in.gcount()));
  }
  if (in.bad()) fail_input(path.string(), ": cannot be read");
  return sum.hex();
}

bool fetch_file(const FetchFile& file, const fs::path& folder, [[maybe_unused]] const WorkCallbacks& callbacks) {
  const fs::path target = folder / file.name;
  if (fs::exists(target)) {
    const std::string wrong = complaint(file, target);
    if (wrong.empty()) return false;
    fail_input(target.string(), ": already exists but is a different file (", wrong, "); move it away and try again");
  }
#ifdef SEGRE_FETCH
  MadeFolders made;
  made.make(folder);
  const fs::path part = folder / (file.name + ".part");
  const ProcessLock lock(folder / concat(".", file.name, ".lock"), target.string());
  std::error_code ignored;
  if (size_or_zero(part) > file.bytes) fs::remove(part, ignored);
  std::string troubles;
  for (const std::string& url : file.mirrors) {
    const Attempt attempt = fetch_from(url, file, part, callbacks);
    if (attempt.checked) {
      keep_part(part, target);
      made.keep();
      return true;
    }
    troubles += concat(troubles.empty() ? "" : "; ", url, ": ", attempt.trouble);
  }
  fail(file.name, " could not be downloaded (", troubles, ")");
#else
  fail("this build of segre cannot download (built without libcurl, SEGRE_FETCH); download ", file.mirrors.front(),
       " some other way");
#endif
}

}  // namespace segre
