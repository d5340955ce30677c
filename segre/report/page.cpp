#include "segre/report/page.h"

#include "segre/core/error.h"
#include "segre/io/files.h"
#include "segre/report/style.h"

namespace segre {
namespace {

// JSON inside a script element must not close it.
std::string for_script(const nlohmann::json& value) {
  std::string text = value.dump();
  for (size_t at = text.find("</"); at != std::string::npos; at = text.find("</", at + 3)) text.replace(at, 2, "<\\/");
  return text;
}

std::string table_row(const std::vector<std::string>& cells, const char* tag) {
  std::string row = "<tr>";
  for (const auto& cell : cells) row += concat("<", tag, ">", escape_html(cell), "</", tag, ">");
  return row + "</tr>\n";
}

std::string base64(const std::string& bytes) {
  static const char* const kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (size_t k = 0; k < bytes.size(); k += 3) {
    uint32_t word = 0;
    for (size_t j = 0; j < 3; ++j)
      word = (word << 8) | (k + j < bytes.size() ? static_cast<uint8_t>(bytes[k + j]) : 0u);
    for (size_t j = 0; j < 4; ++j) out += k + j <= bytes.size() ? kDigits[(word >> (18 - 6 * j)) & 63u] : '=';
  }
  return out;
}

std::string image(const std::string& png, const char* size) {
  return concat("<img style=\"", size, "; image-rendering: pixelated\" src=\"data:image/png;base64,", base64(png),
                "\">");
}

}  // namespace

std::string escape_html(const std::string& text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

void Page::heading(const std::string& text) { body_ += concat("<h2>", escape_html(text), "</h2>\n"); }
void Page::text(const std::string& text) { body_ += concat("<p>", escape_html(text), "</p>\n"); }
void Page::caption(const std::string& text) { body_ += concat("<p class=\"caption\">", escape_html(text), "</p>\n"); }

void Page::picture(const std::string& png) { body_ += image(png, "max-width: 100%") + "\n"; }

void Page::picture_row(const std::string& title, const std::vector<std::string>& pngs,
                       const std::vector<std::string>& captions) {
  body_ += concat("<p class=\"caption\">", escape_html(title), "</p>\n<div class=\"pictures\">\n");
  for (size_t k = 0; k < pngs.size(); ++k)
    body_ += concat("<figure>", image(pngs[k], "width: 100%"), "<figcaption>", escape_html(captions.at(k)),
                    "</figcaption></figure>\n");
  body_ += "</div>\n";
}

void Page::table(const std::vector<std::string>& header, const std::vector<std::vector<std::string>>& rows) {
  body_ += "<table>\n" + table_row(header, "th");
  for (const auto& row : rows) body_ += table_row(row, "td");
  body_ += "</table>\n";
}

void Page::chart(const nlohmann::json& traces, nlohmann::json layout) {
  const auto height = layout.value("height", 420);
  body_ += concat("<div class=\"chart\" id=\"chart", n_charts(), "\" style=\"height:", height, "px\"></div>\n");
  charts_.push_back({{"traces", traces}, {"layout", std::move(layout)}});
}

void Page::write(const std::filesystem::path& path, const std::filesystem::path& plotly) const {
  const std::string library = read_file(plotly);
  write_file_whole(path, [&](std::ostream& out) {
    out << "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
        << "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
        << "<title>" << escape_html(title_) << "</title>\n<style>" << kPageStyle
        << "</style>\n</head>\n<body>\n<main>\n"
        << "<h1>" << escape_html(title_) << "</h1>\n"
        << body_ << "</main>\n"
        << "<script>" << library << "</script>\n"
        << "<script type=\"application/json\" id=\"charts\">" << for_script(charts_) << "</script>\n"
        << "<script>" << kPageScript << "</script>\n</body>\n</html>\n";
  });
}

}  // namespace segre
