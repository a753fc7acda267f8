// Draws each picture when its figure comes near the viewport, and again when the available width changes.

import { bars } from "./bars.js";
import { csv, table } from "./columns.js";
import { alike } from "./format.js";
import { make } from "./dom.js";
import { canvasBlob, png, save, standalone } from "./download.js";
import { runsLegend } from "./legend.js";
import { matrix, matrixHeight } from "./matrix.js";
import { hosts, nightly } from "./nights.js";
import { cloud, curve, heightOf, histogram, phases, ranks, runsOf, sweep } from "./plots.js";
import { Sizes } from "./sizes.js";
import { startTheme } from "./theme.js";

const PLOTS = { phases, histogram, curve, ranks, sweep, cloud, bars, hosts, nightly };
const REPORT = JSON.parse(document.getElementById("report-data").textContent);
const CHOICES = new Sizes(REPORT.pictures, REPORT.sizes, (name) => changed(document.getElementById(name)));
const drawn = new Map();

function start() {
  startTheme(document.getElementById("theme"), () => redrawMatrices());
  const seen = new IntersectionObserver((entries) => {
    for (const entry of entries) if (entry.isIntersecting) draw(entry.target);
  }, { rootMargin: "600px" });
  for (const figure of document.querySelectorAll("figure[data-kind]")) {
    tools(figure);
    reserve(figure);
    seen.observe(figure);
  }
  // The browser went to the anchor of the address before room was reserved.
  if (location.hash) document.getElementById(location.hash.slice(1))?.scrollIntoView();
  // The link from a verdict shows its picture at the promised size.
  for (const link of document.querySelectorAll("a[data-size]")) {
    link.addEventListener("click", () => choose(link.hash.slice(1), Number(link.dataset.size)));
  }
  new ResizeObserver(debounced(redrawAll)).observe(document.querySelector("main"));
  // A canvas contains its background colour, which must be light on paper.
  matchMedia("print").addEventListener("change", redrawMatrices);
  // Printing also needs figures that were never near the viewport. It does not wait for a matrix to be decoded,
  // so the rest is drawn while nothing else happens.
  const figures = [...document.querySelectorAll("figure[data-kind]")];
  addEventListener("beforeprint", () => figures.forEach(draw));
  addEventListener("load", () => drawInTurn(figures));
}

async function drawInTurn(figures) {
  for (const figure of figures) {
    if (drawn.has(figure)) continue;
    await new Promise((idle) => (window.requestIdleCallback ?? setTimeout)(idle));
    await draw(figure);
  }
}

// Reserves the height of a picture that is not drawn yet, so that links above it hit when it is.
function reserve(figure) {
  const host = figure.querySelector(".plot");
  const picture = CHOICES.picture(figure.id);
  const width = Math.max(280, host.clientWidth);
  const height = picture.kind === "matrix" ? matrixHeight(width) : picture.kind in PLOTS ? heightOf(picture) : 0;
  if (height && !host.childElementCount) host.style.minHeight = `${height}px`;
}

function choose(name, bytes) {
  const entry = REPORT.sizes[name];
  if (entry) CHOICES.choose(entry.group, bytes);
}

function draw(figure) {
  if (!drawn.has(figure)) drawn.set(figure, {});
  const state = drawn.get(figure);
  const picture = CHOICES.picture(figure.id);
  if (state.picture !== picture) Object.assign(state, { picture, done: render(figure, picture, state) });
  return state.done;
}

async function render(figure, picture, state) {
  const host = figure.querySelector(".plot");
  // False once the reader has chosen another size.
  const wanted = () => state.picture === picture;
  state.width = host.clientWidth;
  try {
    if (picture.kind === "matrix") {
      const found = await matrix(picture, host, wanted, state.matrix);
      if (!wanted()) return;
      state.matrix = found;
    } else if (picture.kind in PLOTS) plot(picture, host);
    host.style.minHeight = "";
    figure.dataset.drawn = "yes";
  } catch (error) {
    figure.dataset.drawn = "no";
    host.textContent = "This picture could not be drawn; its figures are in the tables.";
    console.error(error);
  }
}

// After a change of size, updates the caption, the picture if it was drawn before, and the table if it is open.
function changed(figure) {
  const picture = CHOICES.picture(figure.id);
  figure.querySelector("figcaption").textContent = picture.caption;
  if (drawn.has(figure)) {
    delete figure.dataset.drawn;
    draw(figure);
  }
  figure.querySelector("details")?.dispatchEvent(new Event("toggle"));
}

function plot(picture, host) {
  const width = Math.max(280, host.clientWidth);
  const parts = [PLOTS[picture.kind](picture, width)];
  for (const axis of ["x", "y"]) if (!picture[axis]?.log) evenTicks(parts[0], axis);
  const runs = runsOf(picture);
  if (runs.length > 1 && picture.kind !== "histogram") parts.unshift(runsLegend(runs, picture.kind));
  host.replaceChildren(...parts);
}

// Gives all ticks of a linear axis equally many decimals: 11.0, 11.2, … rather than 11, 11.2, …
function evenTicks(drawn, axis) {
  for (const group of drawn.querySelectorAll(`[aria-label="${axis}-axis tick label"]`)) {
    const texts = [...group.querySelectorAll("text")].filter((text) => text.textContent);
    if (!texts.length || !texts.every((text) => /^\d+(\.\d+)?$/.test(text.textContent))) continue;
    alike(texts.map((text) => Number(text.textContent))).forEach((words, index) => { texts[index].textContent = words; });
  }
}

function redrawAll() {
  for (const [figure, state] of drawn) {
    const host = figure.querySelector(".plot");
    if (host.clientWidth === state.width) continue;
    state.width = host.clientWidth;
    if (state.matrix) state.matrix.redraw();
    else if (state.picture.kind in PLOTS) plot(state.picture, host);
  }
}

function redrawMatrices() {
  for (const state of drawn.values()) state.matrix?.redraw();
}

function debounced(act) {
  let waiting = 0;
  return () => {
    clearTimeout(waiting);
    waiting = setTimeout(act, 120);
  };
}

// Adds the size selector, the export buttons, and the figures as a table.
function tools(figure) {
  const { kind, title } = CHOICES.picture(figure.id);
  const bar = make("div", { className: "tools" });
  const add = (words, label, act) => {
    const button = make("button", { type: "button", textContent: words }, { "aria-label": `${label}: ${title}` });
    button.addEventListener("click", async () => { await draw(figure); await act(CHOICES.picture(figure.id)); });
    bar.append(button);
  };
  const sizes = CHOICES.select(figure.id, title);
  if (sizes) bar.append(sizes);
  if (kind !== "matrix") add("SVG", "Save as SVG", ({ name }) => save(`${name}.svg`, standalone(svgOf(figure)).text, "image/svg+xml"));
  add("PNG", "Save as PNG", async ({ name }) => save(`${name}.png`, await pngOf(figure)));
  const counted = kind === "matrix" || Object.keys(CHOICES.picture(figure.id).columns).length > 0;
  if (counted) add("CSV", "Save figures as CSV", (picture) => save(`${picture.name}.csv`, csv(columnsOf(figure, picture)), "text/csv"));
  figure.querySelector("h3").after(bar);
  if (counted) figure.append(asTable(figure));
}

function svgOf(figure) {
  return figure.querySelector(".plot svg:not(.runs svg)");
}

function pngOf(figure) {
  const state = drawn.get(figure);
  return state?.matrix ? canvasBlob(state.matrix.canvas()) : png(svgOf(figure));
}

function columnsOf(figure, picture) {
  return drawn.get(figure)?.matrix?.columns() ?? picture.columns;
}

// Columns stay in bytes and seconds, whatever the unit of an axis.
function unitOf({ x, y }) {
  const units = [x?.unit ?? "", y?.unit ?? ""];
  if (units.some((unit) => unit.endsWith("B/s"))) return "; rates in bytes per second";
  return units.some((unit) => unit.endsWith("s")) ? "; times in seconds" : "";
}

function asTable(figure) {
  const details = make("details");
  const summary = make("summary", { textContent: "Figures as a table" });
  details.append(summary);
  details.addEventListener("toggle", async () => {
    if (!details.open) return;
    await draw(figure);
    const picture = CHOICES.picture(figure.id);
    const scroll = make("div", { className: "scroll", tabIndex: 0 });
    scroll.append(table(columnsOf(figure, picture), CHOICES.titled(figure.id) + unitOf(picture)));
    details.replaceChildren(summary, scroll);
  });
  return details;
}

start();
