// Heat map of all routes: a zoomable canvas with one cursor for the pointer and one for the keyboard.

import { make } from "./dom.js";
import { alike, apart, digits, onAxis } from "./format.js";
import { MARGIN, clamp, drawAxes } from "./matrix_axes.js";
import { arranged, colourPlaces, counted, paint, pyramid, rateAtPlace, rateOf, unpack } from "./matrix_model.js";
import { resolved } from "./theme.js";

const WIDEST = 760;
const CLOSEST = 28; // pixels per rank, at most
const KEY_STEP = 10; // cells per step with Shift
const SCALES = [
  ["linear", "by rate, from 0"], ["range", "by rate, from the slowest"], ["log", "by logarithm of the rate"],
  ["even", "equal numbers of routes"],
];

// Draws nothing if `wanted` returns false after unpacking. `before`: the map of another size, whose zoom, order and
// colours are kept.
export async function matrix(picture, host, wanted = () => true, before = undefined) {
  const model = picture.more;
  const cells = await unpack(model.cells);
  if (!wanted()) return undefined;
  const view = new MatrixView(picture, model, cells, host);
  if (before) view.resume(before.view);
  return { view, redraw: () => view.resize(), canvas: () => view.canvas, columns: () => view.columns() };
}

// Height of a map, its controls and its legend where it may be this wide.
export const matrixHeight = (width) => Math.min(width, WIDEST) - MARGIN.left + MARGIN.top + 120;

class MatrixView {
  constructor(picture, model, cells, host) {
    Object.assign(this, { picture, model, host, ranks: model.ranks, original: cells });
    this.histogram = counted(cells, model.levels);
    this.cursor = null;
    this.transform = d3.zoomIdentity;
    this.build();
    this.order(0);
    this.colour("linear");
    this.resize();
  }

  build() {
    const controls = make("div", { className: "controls" });
    this.orderChoice = choice("Order", this.model.orders.map((order, index) => [index, order.label]));
    this.orderChoice.select.addEventListener("change", () => { this.order(Number(this.orderChoice.select.value)); this.draw(); });
    this.scaleChoice = choice("Colours", SCALES);
    this.scaleChoice.select.addEventListener("change", () => { this.colour(this.scaleChoice.select.value); this.draw(); });
    if (this.model.orders.length > 1) controls.append(this.orderChoice.label);
    controls.append(this.scaleChoice.label, this.button("+", "zoom in", () => this.zoomBy(2)),
      this.button("−", "zoom out", () => this.zoomBy(0.5)), this.button("all", "show all ranks", () => this.reset()));
    const words = `${this.picture.title}. ${this.picture.caption} Arrow keys move from route to route, with shift by ${KEY_STEP}; + and − zoom, 0 shows all.`;
    this.canvas = make("canvas", { tabIndex: 0 }, { role: "application", "aria-roledescription": "heat map", "aria-label": words });
    this.readout = make("p", { className: "readout", textContent: this.hint() }, { "aria-live": "polite" });
    this.tip = make("div", { className: "tip", hidden: true });
    this.legend = make("canvas", { className: "legend" }, { role: "img" });
    this.stage = make("div", { className: "stage" });
    this.stage.append(this.canvas, this.tip);
    this.host.replaceChildren(controls, this.stage, this.legend, this.readout);
    this.listen();
  }

  // Takes over the zoom, order, colours and cursor of another map.
  resume(other) {
    this.orderChoice.select.value = other.orderChoice.select.value;
    this.scaleChoice.select.value = other.scaleChoice.select.value;
    this.order(Number(this.orderChoice.select.value));
    this.colour(this.scaleChoice.select.value);
    this.cursor = other.cursor;
    d3.select(this.canvas).call(this.zoom.transform, other.transform);
    if (this.cursor) this.readout.textContent = this.words(this.cursor).join(": ");
  }

  hint() {
    const error = this.model.error;
    const gaps = this.model.gaps ? " Grey cells were not measured." : "";
    const exact = error < 0.0005 ? "" : ` Rates in this map are accurate to ${digits(100 * error, 2)} %.`;
    return `Rows send, columns receive. Point at a cell, or move with the arrow keys; zoom with + and −, Ctrl and the wheel, or two fingers.${gaps}${exact}`;
  }

  button(words, label, act) {
    const button = make("button", { type: "button", textContent: words, title: label }, { "aria-label": label });
    button.addEventListener("click", act);
    return button;
  }

  listen() {
    this.zoom = d3.zoom()
      .filter((event) => {
        if (event.type === "wheel") return event.ctrlKey || event.metaKey || document.activeElement === this.canvas;
        if (event.type.startsWith("touch")) return event.touches.length > 1 || this.transform.k > 1;
        return !event.button;
      })
      .on("zoom", (event) => {
        this.transform = event.transform;
        this.canvas.style.touchAction = this.transform.k > 1 ? "none" : "pan-y";
        this.later();
      });
    this.canvas.style.touchAction = "pan-y";
    d3.select(this.canvas).call(this.zoom);
    this.canvas.addEventListener("pointermove", (event) => this.point(event));
    this.canvas.addEventListener("pointerleave", () => { this.hover = null; this.tip.hidden = true; this.later(); });
    this.canvas.addEventListener("keydown", (event) => this.key(event));
  }

  order(index) {
    this.arrangement = this.model.orders[index];
    this.cells = arranged(this.original, this.ranks, this.arrangement.rank_at);
    this.levels = pyramid(this.cells, this.ranks);
  }

  colour(kind) {
    this.kind = kind;
    this.places = colourPlaces(this.histogram, kind, this.model);
    this.palette = Uint32Array.from(this.places, (place) => packed(d3.interpolateViridis(place)));
    this.drawLegend();
  }

  resize() {
    const width = Math.min(this.host.clientWidth || WIDEST, WIDEST);
    const inner = Math.floor(width - MARGIN.left - MARGIN.right);
    const ratio = Math.min(globalThis.devicePixelRatio || 1, 2);
    Object.assign(this, { inner, ratio, pixels: Math.round(inner * ratio) });
    fit(this.canvas, width, inner + MARGIN.top + MARGIN.bottom, ratio);
    const closest = Math.max(1, (CLOSEST * this.ranks) / inner);
    this.zoom.scaleExtent([1, closest])
      .extent([[0, 0], [inner, inner]]).translateExtent([[0, 0], [inner, inner]]);
    this.drawLegend();
    this.draw();
  }

  get scale() { // CSS pixels per rank
    return (this.inner / this.ranks) * this.transform.k;
  }

  get sight() { // the rank at the upper left, and the number of ranks in each direction
    return { left: -this.transform.x / this.scale, top: -this.transform.y / this.scale, shown: this.inner / this.scale };
  }

  later() {
    if (this.asked) return;
    this.asked = true;
    requestAnimationFrame(() => { this.asked = false; this.draw(); });
  }

  draw() {
    const context = this.canvas.getContext("2d");
    const style = getComputedStyle(this.canvas);
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.fillStyle = resolved(this.stage, "--card");
    context.fillRect(0, 0, this.canvas.width, this.canvas.height);
    const empty = packed(resolved(this.stage, "--empty"));
    this.palette[0] = empty;
    const image = context.createImageData(this.pixels, this.pixels);
    paint(new Uint32Array(image.data.buffer), this.pixels, this.levels, this.ranks, { ...this.sight, scale: this.scale * this.ratio }, this.palette, empty);
    context.putImageData(image, MARGIN.left * this.ratio, MARGIN.top * this.ratio);
    context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    drawAxes(this, context, style);
    this.drawGroups(context);
    for (const [cell, colour] of [[this.hover, "#ffffff"], [document.activeElement === this.canvas ? this.cursor : null, "#ff5a1f"]]) {
      if (cell) this.drawCell(context, cell, colour);
    }
  }

  drawGroups(context) {
    const ends = this.arrangement.ends;
    if (!ends.length || (this.inner * this.transform.k) / ends.length < 6) return;
    const { left, top } = this.sight;
    context.save();
    context.beginPath();
    context.rect(MARGIN.left, MARGIN.top, this.inner, this.inner);
    context.clip();
    context.strokeStyle = "rgba(255,255,255,.75)";
    context.lineWidth = 1;
    context.beginPath();
    for (const end of ends) {
      const x = Math.round(MARGIN.left + (end - left) * this.scale) + 0.5;
      const y = Math.round(MARGIN.top + (end - top) * this.scale) + 0.5;
      context.moveTo(x, MARGIN.top); context.lineTo(x, MARGIN.top + this.inner);
      context.moveTo(MARGIN.left, y); context.lineTo(MARGIN.left + this.inner, y);
    }
    context.stroke();
    context.restore();
  }

  drawCell(context, { row, column }, colour) {
    const { left, top } = this.sight;
    const size = Math.max(this.scale, 5);
    const x = MARGIN.left + (column + 0.5 - left) * this.scale - size / 2;
    const y = MARGIN.top + (row + 0.5 - top) * this.scale - size / 2;
    if (x < MARGIN.left - size || y < MARGIN.top - size || x > MARGIN.left + this.inner || y > MARGIN.top + this.inner) return;
    context.lineWidth = 3;
    context.strokeStyle = "#000000";
    context.strokeRect(x - 1, y - 1, size + 2, size + 2);
    context.lineWidth = 1.5;
    context.strokeStyle = colour;
    context.strokeRect(x - 1, y - 1, size + 2, size + 2);
  }

  drawLegend() {
    const width = Math.min(this.host.clientWidth || WIDEST, 420);
    const ratio = this.ratio ?? 1;
    fit(this.legend, width, 42, ratio);
    const context = this.legend.getContext("2d");
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    const style = getComputedStyle(this.legend);
    const bar = { x: 20, width: width - 76 };
    for (let x = 0; x < bar.width; x++) {
      context.fillStyle = d3.interpolateViridis(x / bar.width);
      context.fillRect(bar.x + x, 4, 1.2, 12);
    }
    context.fillStyle = style.color;
    context.font = `12px ${style.fontFamily}`;
    context.textAlign = "center";
    const words = this.legendWords();
    const last = words.length - 1;
    words.forEach(([place, text]) => context.fillText(text, bar.x + place * bar.width, 32));
    context.textAlign = "left";
    const [place, text] = words[last];
    context.fillText(this.picture.y.unit, bar.x + place * bar.width + context.measureText(text).width / 2 + 4, 32);
    this.legend.setAttribute("aria-label", `Colours from dark, ${words[0][1]}, to light, ${words[last][1]} ${this.picture.y.unit}`);
  }

  // Places on the colour bar with their rates: round ones on a linear scale.
  legendWords() {
    const rate = (place) => rateAtPlace(place, this.histogram, this.kind, this.model) / this.picture.y.factor;
    const [low, high] = [rate(0), rate(1)];
    const ticks = d3.ticks(low, high, 6);
    if (this.kind === "linear" && ticks.length > 2) return alike(ticks).map((text, index) => [(ticks[index] - low) / (high - low), text]);
    const places = [0, 0.25, 0.5, 0.75, 1];
    return apart(places.map(rate)).map((text, index) => [places[index], text]);
  }

  rankAt(place) {
    return this.arrangement.rank_at ? this.arrangement.rank_at[place] : place;
  }

  name(rank) {
    const node = this.model.nodes[this.model.node_of[rank]];
    return this.oneEach ? node : `${node}:${rank}`;
  }

  get oneEach() { // every node has one rank
    return this.model.node_of.length === this.model.nodes.length;
  }

  rate({ row, column }) {
    return rateOf(this.cells[row * this.ranks + column], this.model);
  }

  words({ row, column }) {
    const value = this.rate({ row, column });
    const route = `${this.name(this.rankAt(row))} → ${this.name(this.rankAt(column))}`;
    if (value === null) return [route, "not measured"];
    return [route, `${onAxis(value, this.picture.y)}, ${digits((100 * value) / this.model.middle)} % of the median route`];
  }

  point(event) {
    const box = this.canvas.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left - MARGIN.left, event.clientY - box.top - MARGIN.top];
    const { left, top } = this.sight;
    const cell = { column: Math.floor(left + x / this.scale), row: Math.floor(top + y / this.scale) };
    const inside = x >= 0 && y >= 0 && x < this.inner && y < this.inner && cell.column >= 0 && cell.row >= 0 && cell.column < this.ranks && cell.row < this.ranks;
    this.hover = inside ? cell : null;
    this.tip.hidden = !inside;
    if (inside) {
      this.tip.replaceChildren(...this.words(cell).map((line) => make("div", { textContent: line })));
      const right = x > this.inner / 2;
      Object.assign(this.tip.style, {
        left: right ? "auto" : `${event.clientX - box.left + 14}px`,
        right: right ? `${this.stage.clientWidth - (event.clientX - box.left) + 14}px` : "auto",
        top: `${event.clientY - box.top + 12}px`,
      });
    }
    this.later();
  }

  key(event) {
    const moves = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
    if (event.key in moves) {
      const [down, right] = moves[event.key];
      const step = event.shiftKey ? KEY_STEP : 1;
      const from = this.cursor ?? this.middle();
      this.cursor = { row: this.within(from.row + down * step), column: this.within(from.column + right * step) };
      this.readout.textContent = this.words(this.cursor).join(": ");
      this.follow();
    } else if (event.key === "+" || event.key === "=") this.zoomBy(2);
    else if (event.key === "-") this.zoomBy(0.5);
    else if (event.key === "0") this.reset();
    else return;
    event.preventDefault();
    this.later();
  }

  within(place) {
    return clamp(place, 0, this.ranks - 1);
  }

  middle() {
    const { left, top, shown } = this.sight;
    return { row: this.within(Math.floor(top + shown / 2)), column: this.within(Math.floor(left + shown / 2)) };
  }

  follow() { // keeps the keyboard's cell in view
    const { left, top, shown } = this.sight;
    const { row, column } = this.cursor;
    if (column < left || column + 1 > left + shown || row < top || row + 1 > top + shown) {
      const base = this.inner / this.ranks;
      d3.select(this.canvas).call(this.zoom.translateTo, (column + 0.5) * base, (row + 0.5) * base);
    }
  }

  zoomBy(factor) {
    const base = this.inner / this.ranks;
    const at = this.cursor ?? this.middle();
    d3.select(this.canvas).call(this.zoom.scaleBy, factor, this.cursor ? this.transform.apply([(at.column + 0.5) * base, (at.row + 0.5) * base]) : undefined);
  }

  reset() {
    d3.select(this.canvas).call(this.zoom.transform, d3.zoomIdentity);
  }

  // Returns the columns of the routes in view.
  columns() {
    const { left, top, shown } = this.sight;
    const inSight = (from) => d3.range(Math.max(0, Math.floor(from)), Math.min(this.ranks, Math.ceil(from + shown)));
    const found = [];
    for (const row of inSight(top)) {
      for (const column of inSight(left)) {
        const value = this.rate({ row, column });
        if (value === null) continue;
        const [source, destination] = [this.rankAt(row), this.rankAt(column)];
        found.push([source, destination, this.name(source), this.name(destination), Number(value.toPrecision(4))]);
      }
    }
    const names = ["source", "destination", "source_name", "destination_name", "bytes_per_second"];
    return Object.fromEntries(names.map((name, at) => [name, found.map((row) => row[at])]));
  }
}

function choice(words, options) {
  const label = make("label", { textContent: `${words} ` });
  const select = make("select");
  for (const [value, text] of options) select.append(make("option", { value, textContent: text }));
  label.append(select);
  return { label, select };
}

// Sets a canvas's size in CSS pixels, and its resolution to that of the screen.
function fit(canvas, width, height, ratio) {
  Object.assign(canvas, { width: Math.round(width * ratio), height: Math.round(height * ratio) });
  Object.assign(canvas.style, { width: `${width}px`, height: `${height}px` });
}


// A CSS colour as the four bytes of an RGBA pixel in memory order (little-endian).
function packed(colour) {
  const { r, g, b } = d3.rgb(colour);
  return ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0;
}
