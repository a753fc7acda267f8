// Formats numbers as src/crosscut/base/units.py does: three significant digits, no exponent.

const RATES = [[1e9, "GB/s"], [1e6, "MB/s"], [1e3, "KB/s"], [1, "B/s"]];
const TIMES = [[1, "s"], [1e-3, "ms"], [1e-6, "µs"], [1e-9, "ns"]];
const SIZES = [[1e9, "GB"], [1e6, "MB"], [1e3, "KB"], [1, "B"]];

export function digits(value, significant = 3) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  if (value === 0) return "0";
  const rounded = Number(value.toPrecision(significant));
  const decimals = Math.max(0, significant - 1 - Math.floor(Math.log10(Math.abs(rounded))));
  const text = rounded.toFixed(Math.min(decimals, 20));
  return Math.abs(rounded) >= 10000 ? grouped(text) : text;
}

// Returns the values with so many significant digits that different ones look different.
export function apart(values) {
  const different = new Set(values).size;
  for (let significant = 3; ; significant++) {
    const texts = values.map((value) => digits(value, significant));
    if (significant >= 7 || new Set(texts).size >= different) return texts;
  }
}

// Returns round numbers with equally many decimals.
export function alike(values) {
  const decimals = Math.max(...values.map((value) => (String(Number(value.toPrecision(6))).split(".")[1] ?? "").length));
  return values.map((value) => value.toFixed(decimals));
}

function grouped(text) {
  return text.replace(/\B(?=(\d{3})+(?!\d))/g, ",");
}

export function countTick(value) { // 15 M: longer numbers do not fit beside an axis
  return value >= 1e6 ? `${count(value / 1e6)} M` : count(value);
}

export function count(value) {
  return grouped(String(value));
}

function inUnit(value, units, significant = 3) {
  if (value === null || !Number.isFinite(value)) return "–";
  // 0.9995, so that 1000 of the smaller unit prints as 1.00 of the larger.
  const [factor, name] = units.find(([unit]) => Math.abs(value) >= 0.9995 * unit) ?? units[units.length - 1];
  return `${digits(value / factor, significant)} ${name}`;
}

// Drops trailing zeros, for ticks.
const short = (text) => text.replace(/(\.\d*?)0+ /, "$1 ").replace(/\. /, " ");

export const rate = (value) => inUnit(value, RATES);
export const seconds = (value) => inUnit(value, TIMES);

export const secondsTick = (value) => short(seconds(value));

// A size on an axis or in a tip, without trailing zeros.
export function size(value) {
  return short(inUnit(value, SIZES));
}

// A value with the unit of its axis ({unit, factor}).
export function onAxis(value, axis) {
  return `${digits(value / axis.factor)}${axis.unit ? " " + axis.unit : ""}`;
}

export function axisLabel(axis) {
  return axis.unit ? `${axis.label} (${axis.unit})` : axis.label;
}
