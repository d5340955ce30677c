#include "segre/report/convergence_page.h"

#include <cmath>
#include <iomanip>

namespace segre {

void write_convergence_csv(std::ostream& out, const std::vector<ConvergencePoint>& points) {
  out << "draws,relative_error,sd\n" << std::setprecision(8);
  for (const auto& point : points) {
    out << point.draws << ',' << point.mean << ',';
    if (!std::isnan(point.sd)) out << point.sd;  // a single item has no spread
    out << '\n';
  }
}

Page convergence_page(const std::vector<ConvergencePoint>& points, const std::string& setting) {
  nlohmann::json x = nlohmann::json::array();
  nlohmann::json mean = x;
  nlohmann::json above = x;
  nlohmann::json below = x;
  for (const auto& point : points) {
    x.push_back(point.draws);
    mean.push_back(100.0 * point.mean);
    above.push_back(100.0 * (point.mean + point.sd));
    below.push_back(100.0 * std::max(0.0, point.mean - point.sd));
  }
  const auto line = [&](const char* name, const nlohmann::json& y, const char* fill, double width) {
    return nlohmann::json{{"type", "scatter"},
                          {"mode", "lines"},
                          {"name", name},
                          {"x", x},
                          {"y", y},
                          {"fill", fill},
                          {"fillcolor", "rgba(31,95,191,0.15)"},
                          {"line", {{"color", "#1f5fbf"}, {"width", width}}}};
  };
  Page page("Convergence of importance sampling");
  page.text(setting);
  page.chart(
      {line("mean + sd", above, "none", 0.0), line("mean - sd", below, "tonexty", 0.0),
       line("mean over items", mean, "none", 2.0)},
      {{"height", 440},
       {"showlegend", false},
       {"xaxis", {{"type", "log"}, {"title", {{"text", "draws per item"}}}, {"gridcolor", "#e6eaef"}}},
       {"yaxis", {{"title", {{"text", "relative error, %"}}}, {"rangemode", "tozero"}, {"gridcolor", "#e6eaef"}}}});
  page.caption(
      "Mean and standard deviation over items of the distance to the limit of many draws, estimated by the mean of "
      "all draws (corrected for the draws they share), relative to it or to 1 nat if it is less; lower is better.");
  return page;
}

}  // namespace segre
