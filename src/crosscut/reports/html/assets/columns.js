// Columns of equal length, as rows for a plot, as CSV for a file, as a table for a reader.

export function rows(columns) {
  const names = Object.keys(columns);
  const length = names.length ? columns[names[0]].length : 0;
  return Array.from({ length }, (_, index) => Object.fromEntries(names.map((name) => [name, columns[name][index]])));
}

function field(value) {
  if (value === null || value === undefined) return "";
  let text = String(value);
  // A spreadsheet takes these for formulas; names come from other machines' files.
  if (typeof value === "string" && /^[=+\-@\t\r]/.test(text)) text = `'${text}`;
  return /[",\n\r]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text;
}

export function csv(columns) {
  const names = Object.keys(columns);
  const lines = [names.map(field).join(",")];
  const length = names.length ? columns[names[0]].length : 0;
  for (let index = 0; index < length; index++) lines.push(names.map((name) => field(columns[name][index])).join(","));
  return lines.join("\r\n") + "\r\n";
}

// At most so many rows: the CSV has all.
export const MOST_TABLE_ROWS = 500;

export function table(columns, caption) {
  const names = Object.keys(columns);
  const length = names.length ? columns[names[0]].length : 0;
  const element = document.createElement("table");
  element.createCaption().textContent =
    caption + (length > MOST_TABLE_ROWS ? `: the first ${MOST_TABLE_ROWS} of ${length} rows, the CSV has all` : "");
  const head = element.createTHead().insertRow();
  for (const name of names) {
    const cell = document.createElement("th");
    cell.scope = "col";
    cell.textContent = name.replaceAll("_", " ");
    head.append(cell);
  }
  const body = element.createTBody();
  for (let index = 0; index < Math.min(length, MOST_TABLE_ROWS); index++) {
    const row = body.insertRow();
    for (const name of names) {
      const value = columns[name][index];
      row.insertCell().textContent = value === null ? "–" : String(value);
    }
  }
  return element;
}
