// Bars for named conditions.

import { rows } from "./columns.js";
import { axisLabel, digits, onAxis } from "./format.js";
import { frame, level, tipStyle } from "./plots.js";

const TICKS = { tick: "99th percentile", slowest_message: "slowest", median_message: "median", fastest_message: "fastest" };

export function bars(picture, width) {
  const data = rows(picture.columns);
  const longest = Math.max(...data.map((row) => row.label.length));
  const marginLeft = Math.min(Math.max(90, longest * 6.6 + 12), width * 0.42);
  const room = Math.floor((marginLeft - 12) / 6.2);
  const ticks = Object.keys(TICKS).filter((name) => name in picture.columns);
  const values = data.flatMap((row) => [row.value, ...ticks.map((name) => row[name] ?? 0)]);
  return Plot.plot({
    ...frame(picture, width, 26 * data.length + 76, 12.5),
    marginLeft, marginTop: 12, marginRight: 20,
    x: {
      ...level, label: axisLabel(picture.x), grid: true, ticks: width < 480 ? 4 : 8,
      domain: [0, Math.max(...values) * 1.04], tickFormat: (value) => String(Number((value / picture.x.factor).toPrecision(4))),
    },
    y: {
      label: null, domain: data.map((row) => row.label), tickSize: 0,
      tickFormat: (label) => (label.length > room ? label.slice(0, room - 1) + "…" : label),
    },
    marks: [
      Plot.barX(data, {
        y: "label", x: "value", fill: "var(--s1)", insetTop: 3, insetBottom: 3,
        tip: tipStyle, title: (row) => tipOf(row, picture),
      }),
      ...ticks.map((name) => Plot.tickX(data, { y: "label", x: name, stroke: name === "slowest_message" || name === "tick" ? "var(--s4)" : "currentColor", strokeWidth: 2 })),
      picture.more.from_one ? Plot.ruleX([1], { stroke: "var(--faint)", strokeDasharray: "4 3" }) : null,
      Plot.ruleX([0], { stroke: "var(--faint)" }),
    ],
  });
}

function tipOf(row, picture) {
  const shown = (value) => (picture.x.unit ? onAxis(value, picture.x) : `${digits(value)} ×`);
  const ticks = Object.keys(TICKS).filter((name) => (row[name] ?? null) !== null);
  return [row.label, shown(row.value), ...ticks.map((name) => `${TICKS[name]} ${shown(row[name])}`)].join("\n");
}
