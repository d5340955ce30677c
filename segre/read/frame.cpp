#include "segre/read/frame.h"

#include <algorithm>

#include "segre/core/error.h"
#include "segre/core/utf8.h"
#include "segre/read/read_table.h"
#include "segre/read/table_items.h"

namespace segre {
namespace {

void check_options(const Frame& frame, const SourceName& options) {
  for (const char* option : {"delimiter", "encoding", "header", "dictionary"})
    if (options.has(option))
      fail_input("data source ", options.text(), ": ", option, "= is for files, but ", frame.called,
                 " is a table in memory");
  std::vector<SourceOption> known;
  for (const char* option :
       {"columns", "without", "missing", "labels", "bins", "numbers", "max_labels", "unseen", "limit"})
    known.push_back({option, ""});
  options.require_known_options(known);
}

// As in a file, so that what is written to one can be read again.
void check_text(const std::string& what, const std::string& text) {
  if (text.find('\0') != std::string::npos || find_invalid_utf8(text) != std::string::npos)
    fail_input(what, " '", printable(text), "', UTF-8 without NULs was expected");
}

// The codes, contiguous.
torch::Tensor checked_codes(const Frame& frame, const std::string& name, const FrameColumn& column) {
  const torch::Tensor& codes = column.codes;
  const std::string place = concat(frame.called, ": column ", printable(name));
  const std::string has_text = place + " has the text";
  for (const std::string& text : column.texts) check_text(has_text, text);
  if (!codes.defined() || !codes.device().is_cpu() || codes.scalar_type() != torch::kInt32 ||
      codes.sizes() != at::IntArrayRef{frame.n_rows})
    fail_input(place, ": codes are ",
               codes.defined()
                   ? concat(c10::toString(codes.scalar_type()), " of shape ", codes.sizes(), " on ", codes.device())
                   : "no tensor",
               ", Int of shape [", frame.n_rows, "] on cpu was expected");
  auto contiguous = codes.contiguous();
  const auto* const begin = contiguous.const_data_ptr<int32_t>();
  const auto n_texts = static_cast<int64_t>(column.texts.size());
  const auto* const bad =
      std::find_if(begin, begin + frame.n_rows, [&](int32_t code) { return code < -1 || code >= n_texts; });
  if (bad != begin + frame.n_rows)
    fail_input(frame.called, ": row ", bad - begin, ": column ", printable(name), " has the code ", *bad, ", -1 to ",
               n_texts - 1, " was expected");
  return contiguous;
}

// The rows of a table in memory.
class FrameRows final : public TableRows {
 public:
  FrameRows(const Frame& frame, const SourceName& options) : TableRows(options, frame.called), frame_(frame) {
    check_options(frame, options);
    if (frame.columns.empty()) fail_input(frame.called, ": has no columns");
    if (frame.n_rows < 1) fail_input(frame.called, ": has no rows");
    std::vector<std::string> names;
    for (const FrameColumn& column : frame.columns) {
      names.push_back(column.name.empty() ? concat("x", names.size() + 1) : column.name);
      check_text(frame.called + ": a column has the name", names.back());
      kept_.push_back(checked_codes(frame, names.back(), column));
      codes_.push_back(kept_.back().const_data_ptr<int32_t>());
    }
    set_columns(options, std::move(names), {.place = frame.called});
    for (const TableColumn& at : columns())
      if (const FrameColumn& column = frame.columns[at.field]; column.declared) declare(at.name, column.texts);
  }

  bool next() override { return ++row_ < frame_.n_rows; }
  std::string_view field(int64_t i) const override {
    return code(i) < 0 ? std::string_view() : frame_.columns[i].texts[code(i)];
  }
  int32_t code(int64_t i) const override { return codes_[i][row_]; }
  int64_t line() const override { return row_; }
  Origin origin(ItemNumbers numbers) const override { return Origin::rows(file(), std::move(numbers)); }

 private:
  const Frame& frame_;
  std::vector<torch::Tensor> kept_;    // what codes_ points to
  std::vector<const int32_t*> codes_;  // by column
  int64_t row_ = -1;
};

}  // namespace

Dataset read_frame(const Frame& frame, const SourceName& options) {
  FrameRows rows(frame, options);
  return read_table(options, rows, OptionStyle::python);
}

std::unique_ptr<TableRows> frame_rows(const Frame& frame, const SourceName& options) {
  return std::make_unique<FrameRows>(frame, options);
}

Dataset read_frame_for(const Frame& frame, const SourceName& options, const Space& space, const std::string& what,
                       Unknowns unknowns, Lacking lacking) {
  FrameRows rows(frame, options);
  return read_table_for(options, rows, space, what, /*most=*/0, unknowns, lacking);
}

}  // namespace segre
