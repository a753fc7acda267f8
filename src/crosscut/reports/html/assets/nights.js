// Pictures of a history: rates of hosts by night as a map, and as lines.

import { rows } from "./columns.js";
import { make, svgElement } from "./dom.js";
import { axisLabel, digits, onAxis } from "./format.js";
import { frame, level, tipStyle } from "./plots.js";

// Slower than usual is orange, faster is blue, as usual the background; visible in both themes.
const SLOWER = [217, 95, 2];
const FASTER = [43, 124, 190];
const STRONGEST = 235; // opacity of the largest deviation that has a colour of its own
const MAP_HEIGHT = 560;

export const nightOf = (day) => new Date(`${day}T12:00:00Z`);

// Opacity and colour of a deviation from 1 as levels: 128 is as usual, 0 was not measured, 1 and 255 are `most` apart.
export function shadeOf(cell) {
  if (cell === 0) return [127, 127, 127, 40];
  const apart = (cell - 128) / 127;
  const [r, g, b] = apart < 0 ? SLOWER : FASTER;
  return [r, g, b, Math.round(STRONGEST * Math.min(1, Math.abs(apart)))];
}

// Returns an image of `height` rows, each the cell farthest from usual of the hosts that share it, so that one slow
// host stays visible.
export function condensed(cells, nights, hosts, height) {
  const shown = Math.min(height, hosts);
  const image = new Uint8ClampedArray(4 * nights * shown);
  for (let y = 0; y < shown; y++) {
    const [from, to] = [Math.floor((y * hosts) / shown), Math.floor(((y + 1) * hosts) / shown)];
    for (let x = 0; x < nights; x++) {
      let cell = cells[from * nights + x];
      for (let host = from + 1; host < to; host++) {
        const other = cells[host * nights + x];
        if (other && (!cell || Math.abs(other - 128) > Math.abs(cell - 128))) cell = other;
      }
      image.set(shadeOf(cell), 4 * (y * nights + x));
    }
  }
  return { image, shown };
}

function mapPainted(more) {
  const cells = Uint8Array.from(atob(more.cells), (character) => character.charCodeAt(0));
  const [nights, count] = [more.days.length, more.hosts.length];
  const { image, shown } = condensed(cells, nights, count, MAP_HEIGHT);
  const canvas = make("canvas", { width: nights, height: shown });
  canvas.getContext("2d").putImageData(new ImageData(image, nights, shown), 0, 0);
  return { cells, href: canvas.toDataURL() };
}

// The map of all hosts and nights. Lines mark the nights of changes.
export function hosts(picture, width) {
  const { more } = picture;
  const [first, last] = d3.extent(more.days, nightOf);
  const half = 43_200_000;
  const { cells, href } = mapPainted(more);
  const image = (index, scales, values, { marginLeft, marginTop, marginRight, marginBottom, width: w, height: h }) =>
    svgElement("image", {
      href, x: marginLeft, y: marginTop, width: w - marginLeft - marginRight, height: h - marginTop - marginBottom,
      preserveAspectRatio: "none", style: "image-rendering: pixelated",
    });
  const longest = Math.max(3, ...more.groups.map(({ name }) => name.length));
  const plot = Plot.plot({
    ...frame(picture, width, MAP_HEIGHT),
    marginLeft: Math.min(24 + 7 * longest, 0.3 * width), marginTop: 34, marginBottom: 74,
    x: { type: "utc", domain: [+first - half, +last + half], label: null, ticks: width < 480 ? 4 : 10, grid: false },
    y: { domain: [0, more.hosts.length], reverse: true, axis: null },
    marks: [
      Plot.frame({ stroke: "var(--line)" }),
      image,
      Plot.ruleY(more.groups.slice(1), { y: "from", stroke: "var(--line)", strokeOpacity: 0.7 }),
      Plot.text(groupsNamed(more.groups, more.hosts.length), { y: "middle", text: "name", frameAnchor: "left", dx: -8, textAnchor: "end" }),
      ...changeMarks(more.marks),
      (index, scales, values, sizes) => shadesLegend(sizes, more.most),
    ],
  });
  return withHostTip(plot, picture, cells);
}

const SWATCH = 5;

// The scale of colours, at the lower right.
function shadesLegend({ width, height, marginRight }, most) {
  const group = svgElement("g", { fill: "currentColor", "text-anchor": "middle" });
  const cells = d3.range(1, 256, 10);
  const left = width - marginRight - cells.length * SWATCH - 14;
  cells.forEach((cell, at) => {
    const [r, g, b, a] = shadeOf(cell);
    group.append(svgElement("rect", { x: left + at * SWATCH, y: height - 32, width: SWATCH, height: 10, fill: `rgb(${r},${g},${b})`, "fill-opacity": a / 255 }));
  });
  const words = [[0, `−${digits(100 * most, 2)} %`], [0.5, "usual rate"], [1, `+${digits(100 * most, 2)} %`]];
  for (const [place, text] of words) {
    const element = svgElement("text", { x: left + place * cells.length * SWATCH, y: height - 8 });
    element.textContent = text;
    group.append(element);
  }
  return group;
}

// As many names of groups as have room.
function groupsNamed(groups, count) {
  const room = MAP_HEIGHT / 16;
  const step = Math.max(1, Math.ceil(groups.length / room));
  return groups.filter((_, at) => at % step === 0).map(({ name, from, to }) => ({ name, middle: (from + to) / 2 }));
}

function changeMarks(marks) {
  return [
    Plot.ruleX(marks, { x: (mark) => +nightOf(mark.day) - 43_200_000, stroke: "var(--ink)", strokeWidth: 1.2, strokeDasharray: "5 3" }),
    Plot.text(marks, { x: (mark) => +nightOf(mark.day) - 43_200_000, text: "label", frameAnchor: "top", dy: -16, fontWeight: 600, fill: "var(--ink)" }),
  ];
}

// Shows host, night and rate under the pointer.
function withHostTip(plot, picture, cells) {
  const { more } = picture;
  const stage = make("div", { className: "stage" });
  stage.style.maxWidth = "none";
  const tip = make("div", { className: "tip", hidden: true });
  const scale = { x: plot.scale("x"), y: plot.scale("y") };
  plot.addEventListener("pointermove", (event) => {
    const box = plot.getBoundingClientRect();
    const day = d3.utcFormat("%Y-%m-%d")(new Date(scale.x.invert(event.clientX - box.left)));
    const [column, row] = [more.days.indexOf(day), Math.floor(scale.y.invert(event.clientY - box.top))];
    tip.hidden = column < 0 || row < 0 || row >= more.hosts.length;
    if (tip.hidden) return;
    const cell = cells[row * more.days.length + column];
    const said = cell ? `${digits(100 * (1 + (more.most * (cell - 128)) / 127))} % of usual` : "not measured";
    tip.textContent = `${more.hosts[row]}, ${day}: ${said}`;
    const right = event.clientX - box.left > box.width / 2;
    Object.assign(tip.style, {
      left: right ? "auto" : `${event.clientX - box.left + 14}px`, right: right ? `${box.right - event.clientX + 14}px` : "auto",
      top: `${event.clientY - box.top + 12}px`,
    });
  });
  plot.addEventListener("pointerleave", () => { tip.hidden = true; });
  stage.append(plot, tip);
  return stage;
}

// Rates by night: thin lines of hosts, a thick one of their median, a dashed one of the median of all, and a band.
export function nightly(picture, width) {
  const data = rows(picture.columns).map((row) => ({ ...row, at: nightOf(row.day) }));
  const { more } = picture;
  const lowest = d3.min(data, (row) => row.low ?? row.rate);
  const highest = d3.max(data, (row) => Math.max(row.high ?? 0, row.rate ?? 0));
  const room = 0.08 * (highest - lowest || highest);
  const of = (style) => data.filter((row) => row.style === style);
  const line = (style, options) => Plot.lineY(of(style), { x: "at", y: "rate", z: "name", ...options });
  return Plot.plot({
    ...frame(picture, width, 300),
    x: { type: "utc", label: null, ticks: width < 480 ? 4 : 8 },
    y: {
      ...level, label: axisLabel(picture.y), labelAnchor: "top", labelOffset: 54, grid: true, ticks: 5,
      domain: [Math.max(0, lowest - room), highest + room], tickFormat: (value) => String(Number((value / picture.y.factor).toPrecision(4))),
    },
    marks: [
      Plot.areaY(of("band"), { x: "at", y1: "low", y2: "high", fill: "var(--band)" }),
      line("one", { stroke: "var(--fault)", strokeWidth: 0.9, strokeOpacity: 0.35 }),
      line("all", { stroke: "var(--s1)", strokeWidth: 1.8 }),
      line("median", { stroke: "var(--fault)", strokeWidth: 2.2 }),
      ...changeMarks(more.marks),
      Plot.tip(data.filter((row) => row.rate !== null), Plot.pointer({ x: "at", y: "rate", title: (row) => `${row.name}, ${row.day}\n${onAxis(row.rate, picture.y)}`, ...tipStyle })),
    ],
  });
}
