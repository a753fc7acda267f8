// Columns of equal length as rows for a plot, as CSV, or as an HTML table.

import { make } from "./dom.js";

export function rows(columns) {
  const names = Object.keys(columns);
  return cells(columns).map((row) => Object.fromEntries(row.map((value, index) => [names[index], value])));
}

// Returns the rows as arrays.
function cells(columns) {
  const [first = [], ...others] = Object.values(columns);
  return Array.from(first, (value, index) => [value, ...others.map((column) => column[index])]);
}

function field(value) {
  if (value === null || value === undefined) return "";
  let text = String(value);
  // A spreadsheet would run these as formulas, and names come from other machines' files.
  if (typeof value === "string" && /^[=+\-@\t\r]/.test(text)) text = `'${text}`;
  return /[",\n\r]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text;
}

export function csv(columns) {
  return [Object.keys(columns), ...cells(columns)].map((row) => row.map(field).join(",") + "\r\n").join("");
}

// Longer tables are cut off; the CSV has all rows.
export const MOST_TABLE_ROWS = 500;

// Columns without any value are left out, as the intervals of too few repetitions.
export function table(given, caption) {
  const columns = Object.fromEntries(Object.entries(given).filter(([, column]) => Array.from(column).some((value) => value !== null)));
  const all = cells(columns);
  const lacking = all.some((row) => row.includes(null)) ? " (–: no such value)" : "";
  const element = make("table");
  element.createCaption().append(make("span"));
  element.caption.firstChild.textContent =
    caption + lacking + (all.length > MOST_TABLE_ROWS ? `: the first ${MOST_TABLE_ROWS} of ${all.length} rows; the CSV has all` : "");
  const head = element.createTHead().insertRow();
  for (const name of Object.keys(columns)) head.append(make("th", { scope: "col", textContent: name.replaceAll("_", " ") }));
  const body = element.createTBody();
  for (const values of all.slice(0, MOST_TABLE_ROWS)) {
    const row = body.insertRow();
    for (const value of values) row.insertCell().textContent = value === null ? "–" : String(value);
  }
  return element;
}
