#pragma once  // internal

namespace segre {

/// The style sheet of every page.
inline constexpr const char* kPageStyle = R"css(
:root { color-scheme: light; --ink: #1d2430; --soft: #5b6675; --rule: #dfe4ea; --paper: #ffffff; }
* { box-sizing: border-box; }
body { margin: 0; background: #f4f6f8; color: var(--ink); font: 16px/1.55 system-ui, "Helvetica Neue", Arial, sans-serif; }
main { max-width: 1120px; margin: 0 auto; padding: 32px 28px 64px; background: var(--paper); }
h1 { font-size: 28px; line-height: 1.25; margin: 0 0 6px; }
h2 { font-size: 20px; margin: 44px 0 6px; padding-top: 18px; border-top: 1px solid var(--rule); }
p { margin: 6px 0 12px; max-width: 76ch; }
.caption { color: var(--soft); font-size: 14px; margin: 2px 0 18px; }
.chart { width: 100%; }
.pictures { display: flex; gap: 8px; margin: 0 0 14px; }
.pictures figure { flex: 1 1 0; min-width: 0; margin: 0; }
.pictures figcaption { color: var(--soft); font-size: 13px; text-align: center; font-variant-numeric: tabular-nums; }
table { border-collapse: collapse; margin: 12px 0 18px; font-variant-numeric: tabular-nums; font-size: 15px; }
th, td { padding: 5px 18px 5px 0; text-align: right; border-bottom: 1px solid var(--rule); }
th:first-child, td:first-child { text-align: left; }
th { color: var(--soft); font-weight: 600; }
)css";

/// Draws the charts and signals when it is done.
inline constexpr const char* kPageScript = R"js(
const root = document.documentElement;
window.addEventListener("error", (event) => { root.dataset.error = event.message; });
const base = {
  font: { family: 'system-ui, "Helvetica Neue", Arial, sans-serif', size: 13, color: "#1d2430" },
  paper_bgcolor: "#ffffff", plot_bgcolor: "#ffffff", margin: { l: 56, r: 24, t: 36, b: 48 },
};
const charts = JSON.parse(document.getElementById("charts").textContent);
Promise.all(charts.map((chart, k) =>
  Plotly.newPlot("chart" + k, chart.traces, Object.assign({}, base, chart.layout), { responsive: true, displaylogo: false })
)).then(() => { root.dataset.chartsDrawn = charts.length; })
  .catch((error) => { root.dataset.error = String(error); });
)js";

/// Colours of the charts: the target, the samples, and one for each corner of the tetrahedron.
inline constexpr const char* kTargetColour = "#1f5fbf";
inline constexpr const char* kSampleColour = "#c8502a";
inline constexpr const char* kCornerColours[] = {"#1b9e77", "#d9822b", "#7a5fc0", "#c2437c"};
/// Sequential colour scale of histograms: white is 0.
inline constexpr const char* kHeatColours[] = {"#ffffff", "#d6e6f5", "#8fbfe3", "#3d8bc9", "#12508f", "#08244a"};

}  // namespace segre
