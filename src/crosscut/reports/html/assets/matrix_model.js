// Model of the heat map, independent of the document: rates of levels, orders, reduced copies, and painting into a
// pixel buffer.

export async function unpack(base64) {
  const bytes = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

// Returns the rate of a level: the mean of its routes or, if it has none, interpolated logarithmically from `low` at
// level 1 to `high` at `levels`. Null for level 0, not measured.
export function rateOf(level, { low, high, levels, rates }) {
  if (level === 0) return null;
  if (high <= low) return low;
  return rates[level] ?? low * Math.pow(high / low, (level - 1) / (levels - 1));
}

export function arranged(cells, ranks, rankAt) {
  if (!rankAt) return cells;
  const result = new Uint8Array(cells.length);
  for (let row = 0; row < ranks; row++) {
    const from = rankAt[row] * ranks;
    const to = row * ranks;
    for (let column = 0; column < ranks; column++) result[to + column] = cells[from + rankAt[column]];
  }
  return result;
}

// Returns ever coarser copies. Each cell is the slowest of four of the finer copy, so that a single slow route stays
// visible at any zoom. Level 0 (not measured) counts only if all four are 0.
export function pyramid(cells, ranks) {
  const levels = [{ cells, side: ranks, span: 1 }];
  for (let last = levels[0]; last.side > 64; last = levels[levels.length - 1]) {
    const side = Math.ceil(last.side / 2);
    const next = new Uint8Array(side * side);
    for (let row = 0; row < last.side; row++) {
      const to = (row >> 1) * side;
      const from = row * last.side;
      for (let column = 0; column < last.side; column++) {
        const value = last.cells[from + column];
        const at = to + (column >> 1);
        if (value && (!next[at] || value < next[at])) next[at] = value;
      }
    }
    levels.push({ cells: next, side, span: last.span * 2 });
  }
  return levels;
}

// Returns the finest copy whose cells are at least a pixel wide; `scale`: pixels per rank.
export function levelFor(levels, scale) {
  return levels.find(({ span }) => span * scale >= 1) ?? levels[levels.length - 1];
}

// Paints a square of `pixels` into an RGBA image, starting at rank (left, top) with `scale` pixels per rank. `palette`
// has a packed colour for each level.
export function paint(image, pixels, levels, ranks, { left, top, scale }, palette, empty) {
  const { cells, side, span } = levelFor(levels, scale);
  const columns = new Int32Array(pixels);
  for (let x = 0; x < pixels; x++) {
    const rank = Math.floor(left + (x + 0.5) / scale);
    columns[x] = rank >= 0 && rank < ranks ? Math.floor(rank / span) : -1;
  }
  for (let y = 0; y < pixels; y++) {
    const rank = Math.floor(top + (y + 0.5) / scale);
    const row = rank >= 0 && rank < ranks ? Math.floor(rank / span) * side : -1;
    for (let x = 0; x < pixels; x++) {
      image[y * pixels + x] = row < 0 || columns[x] < 0 ? empty : palette[cells[row + columns[x]]];
    }
  }
}

// Returns a place between 0 and 1 on the colour scale for each level. By rate, the scale begins at 0, so that a healthy
// network has one colour; "range" begins at the slowest route, also for logarithms ("log"); "even" gives all colours
// equally many routes. All but the last end at the 99th percentile, so that a few fast outliers do not take up most of
// the scale.
export function colourPlaces(histogram, scaleKind, model) {
  const total = histogram.reduce((sum, number, level) => sum + (level ? number : 0), 0);
  const places = new Float64Array(model.levels + 1);
  if (scaleKind === "even") {
    let below = 0;
    for (let level = 1; level <= model.levels; level++) {
      places[level] = total ? (below + histogram[level] / 2) / total : 0;
      below += histogram[level];
    }
    return places;
  }
  const { low, high, of } = ends(histogram, total, scaleKind, model);
  for (let level = 1; level <= model.levels; level++) {
    places[level] = high > low ? Math.min(1, Math.max(0, (of(rateOf(level, model)) - low) / (high - low))) : 1;
  }
  return places;
}

// Returns the rate at a place between 0 and 1 on the colour scale.
export function rateAtPlace(place, histogram, scaleKind, model) {
  const total = histogram.reduce((sum, number, level) => sum + (level ? number : 0), 0);
  if (scaleKind === "even") return rateOf(quantileLevel(histogram, total, place) || 1, model);
  const { low, high, back } = ends(histogram, total, scaleKind, model);
  return back(low + place * (high - low));
}

function ends(histogram, total, scaleKind, model) {
  const same = (rate) => rate;
  const [of, back] = scaleKind === "log" ? [Math.log, Math.exp] : [same, same];
  const low = scaleKind === "linear" ? 0 : of(rateOf(1, model));
  return { low, high: of(rateOf(quantileLevel(histogram, total, 0.99), model)), of, back };
}

function quantileLevel(histogram, total, share) {
  let sum = 0;
  const found = histogram.findIndex((number, level) => level > 0 && (sum += number) >= share * total);
  return found < 0 ? histogram.length - 1 : found;
}

export function counted(cells, levels) {
  const histogram = new Array(levels + 1).fill(0);
  for (const level of cells) histogram[Math.min(level, levels)]++;
  return histogram;
}
