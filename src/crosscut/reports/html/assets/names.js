// Labels of an axis of hosts: each name where all fit, else ranges of neighbours, such as n00–15.

// Returns [{first, last, label}] of places `from` to `to` with as few names in a range as fit. `nameOf`: name of a place;
// `room`: pixels of a place; `widthOf`: pixels of a text.
export function nameRanges(nameOf, from, to, room, widthOf) {
  for (let step = 1; ; step *= 2) {
    const ranges = [];
    for (let first = Math.floor(from / step) * step; first <= to; first += step) {
      const ends = [Math.max(first, from), Math.min(first + step - 1, to)];
      ranges.push({ first: ends[0], last: ends[1], label: range(...ends.map(nameOf)) });
    }
    const fits = ({ first, last, label }) => widthOf(label) + 5 <= (last - first + 1) * room || last - first + 1 < step;
    if (step > to - from || ranges.every(fits)) return ranges.filter(({ first, last, label }) => widthOf(label) <= (last - first + 1) * room || ranges.length === 1);
  }
}

// n0000 and n0127 as n0000–0127.
export function range(first, last) {
  if (first === last) return first;
  let at = 0;
  while (at < first.length && first[at] === last[at]) at++;
  while (at > 0 && /\d/.test(first[at - 1])) at--;
  return `${first}–${last.slice(at)}`;
}
