// Legend of runs, by colour and, for readers who cannot tell colours apart, by dash or symbol.

import { make, svgElement } from "./dom.js";
import { colourOf, dashOf, symbolOf } from "./plots.js";

const SAMPLE = { width: 30, height: 12 };
const MARGIN_ABOVE = 5;
const GAP = 18; // between entries
const LINE = 22;

export function runsLegend(runs, kind) {
  const list = make("ul", { className: "runs" });
  for (const run of runs) {
    const item = make("li");
    const sample = svgElement("svg", { ...SAMPLE, "aria-hidden": "true" });
    sample.append(kind === "ranks" ? dotSample(runs, run) : lineSample(runs, run));
    item.append(sample, run);
    list.append(item);
  }
  return list;
}

function lineSample(runs, run) {
  const dash = dashOf(runs, run);
  return svgElement("line", {
    x1: 0, x2: SAMPLE.width, y1: SAMPLE.height / 2, y2: SAMPLE.height / 2, "stroke-width": 2.4,
    stroke: colourOf(runs, run), "stroke-dasharray": dash,
  });
}

function dotSample(runs, run) {
  const at = `translate(${SAMPLE.width / 2} ${SAMPLE.height / 2})`;
  return svgElement("path", { d: d3.symbol(symbolOf(runs, run), 50)(), transform: at, fill: colourOf(runs, run) });
}

// Copies the legend, which the page shows above the picture, into the top of a saved file. Returns its height.
export function drawInto(copy, list, width) {
  const { color, fontFamily, fontSize } = getComputedStyle(list);
  const group = svgElement("g", { fill: color, "font-family": fontFamily, "font-size": fontSize });
  let [x, row] = [0, 0];
  for (const item of list.children) {
    if (x > 0 && x + item.offsetWidth > width) [x, row] = [0, row + 1];
    const from = item.querySelector("svg > *");
    const mark = from.cloneNode(true);
    for (const name of ["stroke", "fill"]) mark.setAttribute(name, getComputedStyle(from).getPropertyValue(name));
    const words = svgElement("text", { x: SAMPLE.width + 7, y: SAMPLE.height - 1, "text-anchor": "start" });
    words.textContent = item.textContent;
    const entry = svgElement("g", { transform: `translate(${x} ${row * LINE + MARGIN_ABOVE})` });
    entry.append(mark, words);
    group.append(entry);
    x += item.offsetWidth + GAP;
  }
  const height = (row + 1) * LINE + MARGIN_ABOVE;
  group.setAttribute("transform", `translate(0 ${-height})`);
  copy.append(group);
  return height;
}
