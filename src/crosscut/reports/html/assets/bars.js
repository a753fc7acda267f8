// Bars of what has a name in place of a number.

import { rows } from "./columns.js";
import { axisLabel, digits, onAxis } from "./format.js";

export function bars(picture, width) {
  const data = rows(picture.columns);
  const longest = Math.max(...data.map((row) => row.label.length));
  const marginLeft = Math.min(Math.max(90, longest * 6.6 + 12), width * 0.42);
  const room = Math.floor((marginLeft - 12) / 6.2);
  const ticks = ["tick", "slowest_message", "median_message", "fastest_message"].filter((name) => name in picture.columns);
  const values = data.flatMap((row) => [row.value, ...ticks.map((name) => row[name] ?? 0)]);
  return Plot.plot({
    width,
    height: 26 * data.length + 76,
    marginLeft,
    marginBottom: 42,
    marginTop: 12,
    style: { fontSize: "12.5px", fontFamily: "inherit", background: "transparent" },
    ariaLabel: picture.title,
    ariaDescription: picture.caption,
    x: {
      label: axisLabel(picture.x), labelArrow: "none", labelAnchor: "center", grid: true, ticks: width < 480 ? 4 : 8,
      domain: [0, Math.max(...values) * 1.04], tickFormat: (value) => String(Number((value / picture.x.factor).toPrecision(4))),
    },
    y: {
      label: null, domain: data.map((row) => row.label), tickSize: 0,
      tickFormat: (label) => (label.length > room ? label.slice(0, room - 1) + "…" : label),
    },
    marks: [
      Plot.barX(data, {
        y: "label", x: "value", fill: "var(--s1)", insetTop: 3, insetBottom: 3,
        tip: { fill: "var(--raised)", stroke: "var(--line)", fontSize: 12.5, lineHeight: 1.35, textPadding: 9 },
        title: (row) => tipOf(row, picture),
      }),
      ...ticks.map((name) => Plot.tickX(data, { y: "label", x: name, stroke: name === "slowest_message" || name === "tick" ? "var(--s4)" : "currentColor", strokeWidth: 2 })),
      picture.more.from_one ? Plot.ruleX([1], { stroke: "var(--faint)", strokeDasharray: "4 3" }) : null,
      Plot.ruleX([0], { stroke: "var(--faint)" }),
    ],
  });
}

function tipOf(row, picture) {
  const lines = [row.label, picture.x.unit ? onAxis(row.value, picture.x) : `${digits(row.value)} ×`];
  for (const [name, words] of [["tick", "99th percentile"], ["slowest_message", "slowest"], ["median_message", "median"], ["fastest_message", "fastest"]]) {
    if (row[name] !== undefined && row[name] !== null) {
      lines.push(`${words} ${picture.x.unit ? onAxis(row[name], picture.x) : digits(row[name]) + " ×"}`);
    }
  }
  return lines.join("\n");
}
