// Plots with lines, histograms, dots and clouds, drawn by Observable Plot.

import { rows } from "./columns.js";
import { nameRanges } from "./names.js";
import { axisLabel, count, countTick, digits, onAxis, rate, seconds, secondsTick, size } from "./format.js";

export const SERIES = ["var(--s1)", "var(--s2)", "var(--s3)", "var(--s4)", "var(--s5)", "var(--s6)", "var(--s7)"];
const DASHES = ["none", "7 3", "2 3", "9 3 2 3", "12 4", "4 4", "1 5"];

export function runsOf(picture) {
  return [...new Set(picture.columns.run ?? [])];
}

const HEIGHTS = { phases: 320, curve: 300, ranks: 260, sweep: 320, cloud: 360, hosts: 560, nightly: 300 };
const LEGEND = 34; // height of the legend of several runs, if it fits on one line

const histogramHeight = (runs) => (runs > 1 ? Math.min(130 * runs + 70, 900) : 260);

// Height of a picture, in pixels.
export function heightOf(picture) {
  const runs = runsOf(picture).length;
  if (picture.kind === "bars") return 26 * picture.columns.label.length + 76;
  if (picture.kind === "histogram") return histogramHeight(runs);
  return HEIGHTS[picture.kind] + (runs > 1 ? LEGEND : 0);
}

export const colourOf = (runs, run) => SERIES[runs.indexOf(run) % SERIES.length];

// Returns the run's among these ways to tell runs apart. Once all colours are used, each meets another way.
const beside = (ways, runs, run) => {
  const at = runs.indexOf(run);
  return ways[(at + Math.floor(at / SERIES.length)) % ways.length];
};

// Dashes tell runs apart without colours.
export const dashOf = (runs, run) => beside(DASHES, runs, run);

// Symbols tell dots of runs apart.
const symbols = () => [d3.symbolCircle, d3.symbolTriangle, d3.symbolSquare, d3.symbolDiamond, d3.symbolStar, d3.symbolWye, d3.symbolCross];
export const symbolOf = (runs, run) => beside(symbols(), runs, run);

export function frame(picture, width, height, letters = width < 480 ? 11 : 12.5) {
  return {
    width,
    height,
    marginLeft: 58,
    marginRight: 16,
    marginBottom: 42,
    marginTop: 30,
    style: { fontSize: `${letters}px`, fontFamily: "inherit", background: "transparent" },
    ariaLabel: picture.title,
    ariaDescription: picture.caption,
  };
}

// Places an axis label in the middle, along the axis.
export const level = { labelArrow: "none", labelAnchor: "center" };

// Options of an axis of bytes per second or seconds, with ticks in the axis's unit.
function scaled(axis, more = {}) {
  return {
    label: axisLabel(axis),
    type: axis.log ? "log" : "linear",
    tickFormat: (value) => tick(value / axis.factor),
    ticks: more.ticks ?? 6,
    ...level,
    ...more,
  };
}

function tick(value) {
  if (value === 0) return "0";
  return Math.abs(value) >= 10000 ? count(Math.round(value)) : String(Number(value.toPrecision(4)));
}

// A vertical axis with a horizontal label above its ticks.
function upright(axis, more = {}) {
  return scaled(axis, { labelAnchor: "top", labelOffset: 54, grid: true, nice: true, ...more });
}

// Ticks at 1, 2, 5, 10, … in the axis's unit, or 1, 3, 10, … over two decades or more, where D3 would omit labels.
function logTicks(axis, low, high) {
  const digitsOf = high < 100 * low ? [1, 2, 5] : [1, 3];
  const decades = d3.range(Math.floor(Math.log10(low / axis.factor)), Math.ceil(Math.log10(high / axis.factor)) + 1);
  return decades.flatMap((decade) => digitsOf.map((digit) => digit * 10 ** decade * axis.factor)).filter((value) => value >= low && value <= high);
}

// Domain of rates: from 0 on a linear axis, from below the lowest on a logarithmic one.
function rates(axis, lowest, highest) {
  if (!axis.log) return { domain: domainTo(axis, highest) };
  const domain = [lowest / 1.15, highest * 1.15];
  return { domain, nice: false, ticks: logTicks(axis, ...domain) };
}

const faint = { stroke: "var(--faint)" };
const ground = (axis) => (axis.log ? null : Plot.ruleY([0], faint));

function narrowed(values, width) {
  return width < 480 ? Math.min(values, 4) : values;
}

// Promised bounds as dashed lines across the axis `x` or `y`.
function bounds(picture, axis) {
  const lines = picture.more.bounds ?? [];
  const rule = axis === "x" ? Plot.ruleX : Plot.ruleY;
  const place = axis === "x" ? { frameAnchor: "top", dx: 4, dy: 2, lineAnchor: "top" } : { frameAnchor: "left", dx: 4, dy: -4, lineAnchor: "bottom" };
  const words = { [axis]: "value", text: () => "promised", textAnchor: "start", fill: "var(--fault)", stroke: "var(--card)", strokeWidth: 4, fontWeight: 600 };
  return [
    rule(lines, { [axis]: "value", stroke: "var(--fault)", strokeWidth: 1.5, strokeDasharray: "6 4" }),
    Plot.text(lines, { ...words, ...place }),
  ];
}

const furthest = (picture) => d3.max(picture.more.bounds ?? [], ({ value }) => value) ?? 0;

// From 0 to just above the highest value, or one unit if that is 0.
function domainTo(axis, highest) {
  return [0, highest * 1.04 || axis.factor];
}

export function phases(picture, width) {
  const runs = runsOf(picture);
  const data = rows(picture.columns).sort((a, b) => a.at - b.at);
  const highest = d3.max(data, (row) => Math.max(row.rate, row.high ?? 0, picture.more.messages ? row.fastest_message ?? 0 : 0, furthest(picture)));
  const marks = [ground(picture.y)];
  const numbers = new Set(data.map((row) => row.at)).size;
  if (picture.more.messages) {
    marks.push(
      Plot.areaY(data, { x: "at", y1: "slowest_message", y2: "fastest_message", fill: "var(--band)", curve: "step" }),
      Plot.lineY(data, { x: "at", y: "median_message", stroke: "var(--faint)", strokeDasharray: "2 2", curve: "step" }),
    );
  }
  for (const run of runs) {
    const own = data.filter((row) => row.run === run);
    const colour = colourOf(runs, run);
    if (own.some((row) => row.low !== null && row.high > row.low)) {
      marks.push(Plot.areaY(own, { x: "at", y1: "low", y2: "high", fill: colour, fillOpacity: 0.22, curve: "step" }));
    }
    marks.push(Plot.lineY(own, { x: "at", y: "rate", stroke: colour, strokeWidth: 2, curve: "step", strokeDasharray: dashOf(runs, run) }));
    if (numbers <= 80) marks.push(Plot.dot(own, { x: "at", y: "rate", fill: colour, r: numbers > 40 ? 1.8 : 2.6 }));
  }
  marks.push(...bounds(picture, "y"), tip(data, "at", "rate", [], (row) => phaseTip(row, runs, picture)));
  return Plot.plot({
    ...frame(picture, width, HEIGHTS.phases),
    x: whole(picture.x, data.map((row) => row.at), width),
    y: upright(picture.y, rates(picture.y, d3.min(data, (row) => row.rate), highest)),
    marks,
  });
}

function phaseTip(row, runs, picture) {
  const head = row.label === `phase ${row.phase}` ? row.label : `phase ${row.phase} (${row.label})`;
  const lines = [runs.length > 1 ? `${row.run}: ${head}` : head, onAxis(row.rate, picture.y)];
  if (row.low !== null) lines.push(`95 % interval ${onAxis(row.low, picture.y)} – ${onAxis(row.high, picture.y)}`);
  if (picture.more.messages && row.slowest_message !== null) {
    lines.push(`messages ${rate(row.slowest_message)} – ${rate(row.fastest_message)}`);
  }
  return lines.join("\n");
}

export const tipStyle = { fill: "var(--raised)", stroke: "var(--line)", fontSize: 12.5, lineHeight: 1.35, textPadding: 9 };

// Tip at the point nearest to the pointer, headed by its run's name if there are several.
function tip(data, x, y, runs, title) {
  const named = (row) => `${runs.length > 1 ? row.run + "\n" : ""}${title(row)}`;
  return Plot.tip(data, Plot.pointer({ x, y, title: named, ...tipStyle }));
}

// An axis of whole numbers, with no more ticks than numbers.
function whole(axis, values, width) {
  const [low, high] = d3.extent(values);
  const ticks = d3.ticks(low, high, Math.min(narrowed(10, width), high - low || 1)).filter(Number.isInteger);
  return { ...level, label: axis.label, ticks, tickFormat: (value) => count(value) };
}

// Logarithmic axes of message sizes and of times.
const sizes = (axis, width) => ({ ...scaled(axis), type: "log", tickFormat: size, ticks: width < 640 ? 4 : 8 });
const times = (axis, ticks) => ({ ...upright(axis), type: "log", nice: false, label: axis.label, tickFormat: secondsTick, ticks });

export function histogram(picture, width) {
  const runs = runsOf(picture);
  const data = rows(picture.columns);
  const several = runs.length > 1;
  return Plot.plot({
    ...frame(picture, width, histogramHeight(runs.length)),
    ...(several ? { marginTop: 46 } : {}),
    ...(several ? { fy: { domain: runs, axis: null, padding: 0.18 } } : {}),
    x: { ...scaled(picture.x, { ticks: across(picture, width) }), domain: [picture.more.from, picture.more.to] },
    y: { label: `number of ${picture.y.label}`, labelArrow: "none", labelOffset: 54, labelAnchor: "top", grid: true, ticks: several ? 3 : 5, nice: true, tickFormat: (value) => (Number.isInteger(value) ? countTick(value) : "") },
    marks: [
      Plot.rectY(data, {
        x1: "from", x2: "to", y: "count", fy: several ? "run" : undefined,
        fill: (row) => colourOf(runs, row.run), insetLeft: 0.5, insetRight: 0.5,
        tip: tipStyle,
        title: (row) => `${several ? row.run + "\n" : ""}${count(row.count)} of ${onAxis(row.from, picture.x)} – ${onAxis(row.to, picture.x)}`,
      }),
      ...bounds(picture, "x"),
      several ? Plot.text(runs, { fy: (run) => run, text: (run) => run, frameAnchor: "top-left", lineAnchor: "bottom", dx: 2, dy: -3, fontWeight: 600, stroke: "var(--card)", fill: "currentColor" }) : null,
      Plot.ruleY([0], faint),
    ],
  });
}

const across = ({ x, more }, width) => (x.log ? logTicks(x, more.from, more.to) : narrowed(width < 700 ? 5 : 8, width));

export function curve(picture, width) {
  const runs = runsOf(picture);
  const data = rows(picture.columns);
  const [lowest, highest] = d3.extent(data, (row) => row.rate);
  const domain = picture.x.log ? rates(picture.x, lowest, highest) : { domain: [0, Math.max(furthest(picture), highest) * 1.02] };
  return Plot.plot({
    ...frame(picture, width, HEIGHTS.curve),
    x: scaled(picture.x, { ticks: narrowed(8, width), ...domain }),
    y: upright(picture.y, { domain: [0, 1] }),
    marks: [
      Plot.ruleY([0], faint),
      ...bounds(picture, "x"),
      ...runs.map((run) => Plot.lineY(withStart(data.filter((row) => row.run === run)), {
        x: "rate", y: "share", stroke: colourOf(runs, run), strokeWidth: 2, curve: "step-after", strokeDasharray: dashOf(runs, run),
      })),
      tip(data, "rate", "share", runs, (row) => `${digits(100 * row.share)} % of routes\nat ${onAxis(row.rate, picture.x)} or less`),
    ],
  });
}

const withStart = (own) => [{ ...own[0], share: 0 }, ...own];

// An axis of ranks with their names, or with their numbers if runs differ in names. Returns [axis, mark with labels].
function named(axis, data, width) {
  const names = new Map();
  const same = data.every(({ rank, name }) => (names.has(rank) ? names.get(rank) : names.set(rank, name).get(rank)) === name);
  if (!same) return [whole({ ...axis, label: "rank" }, data.map((row) => row.rank), width), null];
  const [low, high] = d3.extent(data, (row) => row.rank);
  const room = (width - 74) / (high - low + 1);
  const ranges = nameRanges((rank) => names.get(rank) ?? String(rank), low, high, room, (text) => 7.4 * text.length);
  const each = ranges.every(({ first, last }) => first === last);
  const ticks = each ? ranges.map(({ first }) => first) : [...ranges.map(({ first }) => first - 0.5), high + 0.5];
  const labels = Plot.text(ranges, { x: ({ first, last }) => (first + last) / 2, text: "label", frameAnchor: "bottom", dy: 16, clip: false });
  return [{ ...level, label: axis.label, domain: [low - 0.5, high + 0.5], ticks, tickFormat: () => "" }, labels];
}

export function ranks(picture, width) {
  const runs = runsOf(picture);
  const data = rows(picture.columns);
  const many = data.length > 1500;
  const [axis, labels] = named(picture.x, data, width);
  return Plot.plot({
    ...frame(picture, width, HEIGHTS.ranks),
    x: axis,
    y: upright(picture.y, rates(picture.y, ...d3.extent(data, (row) => row.rate))),
    symbol: { domain: runs, range: runs.map((run) => symbolOf(runs, run)) },
    marks: [
      ground(picture.y),
      labels,
      Plot.dot(data, {
        x: "rank", y: "rate", fill: (row) => colourOf(runs, row.run), fillOpacity: many ? 0.45 : 0.9, r: many ? 1.4 : 3,
        symbol: runs.length > 1 ? "run" : "circle",
      }),
      tip(data, "rank", "rate", runs, (row) => `${row.name}\n${onAxis(row.rate, picture.y)}`),
    ],
  });
}

// Where the fastest curve changes, and which it is in between.
function changes(fastest) {
  if (fastest.length < 2) return [];
  const between = fastest.slice(1).map(({ from }, at) => Math.sqrt(from * fastest[at].to));
  return [
    Plot.ruleX(between, { stroke: "var(--faint)", strokeDasharray: "3 4" }),
    Plot.text(fastest, {
      x: ({ from, to }) => Math.sqrt(from * to), text: "label", frameAnchor: "top", dy: -4, fill: "var(--faint)", lineWidth: 9, clip: false,
      lineAnchor: "bottom",
    }),
  ];
}

export function sweep(picture, width) {
  const runs = runsOf(picture);
  const value = picture.more.value;
  const data = rows(picture.columns).filter((row) => row[value] > 0 && row.size_bytes > 0);
  const isRate = value === "rate";
  return Plot.plot({
    ...frame(picture, width, HEIGHTS.sweep),
    x: sizes(picture.x, width),
    y: isRate
      ? upright(picture.y, { domain: domainTo(picture.y, d3.max(data, (row) => row.rate_high ?? row.rate)) })
      : times(picture.y, 5),
    marks: [
      isRate ? Plot.ruleY([0], faint) : null,
      ...bounds(picture, "y"),
      ...changes(picture.more.fastest ?? []),
      ...runs.flatMap((run) => {
        const own = data.filter((row) => row.run === run);
        const colour = colourOf(runs, run);
        return [
          Plot.areaY(own.filter((row) => row[`${value}_low`] !== null), { x: "size_bytes", y1: `${value}_low`, y2: `${value}_high`, fill: colour, fillOpacity: 0.22 }),
          Plot.lineY(own, { x: "size_bytes", y: value, stroke: colour, strokeWidth: 2, strokeDasharray: dashOf(runs, run) }),
          own.length <= 60 ? Plot.dot(own, { x: "size_bytes", y: value, fill: colour, r: 2.4 }) : null,
        ];
      }),
      tip(data, "size_bytes", value, runs, (row) => `${size(row.size_bytes)}\n${seconds(row.seconds)}, ${rate(row.rate)}`),
    ],
  });
}

export function cloud(picture, width) {
  const data = rows(picture.columns);
  const counted = "count" in picture.columns;
  const most = counted ? d3.max(data, (row) => row.count) : 1;
  return Plot.plot({
    ...frame(picture, width, HEIGHTS.cloud),
    x: sizes(picture.x, width),
    y: times(picture.y, 6),
    marks: counted
      ? [Plot.rect(data, {
          x1: "size_from", x2: "size_to", y1: "seconds_from", y2: "seconds_to", fill: "var(--s1)",
          fillOpacity: (row) => 0.12 + (0.88 * Math.log1p(row.count)) / Math.log1p(most), tip: tipStyle,
          title: (row) => `${count(row.count)} messages\n${size(row.size_from)} – ${size(row.size_to)}\n${seconds(row.seconds_from)} – ${seconds(row.seconds_to)}`,
        })]
      : [
          Plot.dot(data, { x: "size_bytes", y: "seconds", fill: "var(--s1)", fillOpacity: 0.35, r: 2.4 }),
          tip(data, "size_bytes", "seconds", [], (row) => `${size(row.size_bytes)}\n${seconds(row.seconds)}`),
        ],
  });
}
