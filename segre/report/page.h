#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace segre {

/// A self-contained web page: text, tables and interactive charts, with plotly.js inlined.
///
///   Page page("What was learned");
///   page.heading("Samples");
///   page.text("Target left, samples right.");
///   page.chart({{{"type", "heatmap"}, {"z", z}}}, {{"height", 400}});
///   page.write("report.html", "plotly.min.js");
///
/// Once all charts are drawn, the root element gets the attribute data-charts-drawn with their number; a script error
/// is stored in data-error. Tests and curious users can check both.
class Page {
 public:
  explicit Page(std::string title) : title_(std::move(title)) {}

  /// Plain text; special characters are escaped.
  void heading(const std::string& text);
  void text(const std::string& text);
  /// A picture, given as the bytes of a PNG file.
  void picture(const std::string& png);
  /// Small pictures (bytes of PNG files) in a row under their own heading, each with a line of text below.
  void picture_row(const std::string& title, const std::vector<std::string>& pngs,
                   const std::vector<std::string>& captions);
  /// A caption below the chart or picture before it.
  void caption(const std::string& text);
  /// Numbers in rows under a header; columns after the first are right-aligned.
  void table(const std::vector<std::string>& header, const std::vector<std::vector<std::string>>& rows);
  /// A plotly figure: traces and layout, in plotly's own terms. The page adds its fonts and margins.
  void chart(const nlohmann::json& traces, nlohmann::json layout);
  int n_charts() const { return static_cast<int>(charts_.size()); }

  /// Writes the page, whole or not at all; `plotly` is the path of plotly.min.js.
  void write(const std::filesystem::path& path, const std::filesystem::path& plotly) const;

 private:
  std::string title_;
  std::string body_;
  nlohmann::json charts_ = nlohmann::json::array();
};

/// Escapes & < > and quotes for HTML.
std::string escape_html(const std::string& text);

}  // namespace segre
