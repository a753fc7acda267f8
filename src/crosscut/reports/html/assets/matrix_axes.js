// Axes of the heat map: hosts or ranks, or brackets with the names of groups.

import { nameRanges } from "./names.js";
import { resolved } from "./theme.js";

export const MARGIN = { left: 84, top: 40, right: 2, bottom: 2 };

export const clamp = (value, low, high) => Math.min(high, Math.max(low, value));

export function drawAxes(view, context, style) {
  const { left, top, shown } = view.sight;
  context.fillStyle = resolved(view.stage, "--faint");
  context.font = `11px ${style.fontFamily}`;
  context.textAlign = "left";
  context.fillText("receiver →", MARGIN.left, 10);
  context.fillText("sender ↓", 2, MARGIN.top - 8);
  if (view.arrangement.ends.length) {
    drawBrackets(view, context);
    return;
  }
  context.strokeStyle = context.fillStyle;
  for (const across of [true, false]) {
    const [from, margin] = across ? [left, MARGIN.left] : [top, MARGIN.top];
    const ends = [Math.max(0, Math.floor(from)), Math.min(view.ranks - 1, Math.ceil(from + shown) - 1)];
    const widthOf = (text) => (across ? context.measureText(text).width : 18);
    for (const { first, last, label } of labels(view, ends, widthOf)) {
      const [low, high] = [first, last + 1].map((place) => clamp(margin + (place - from) * view.scale, margin, margin + view.inner));
      if (first < last) boundary(context, across, low);
      context.textAlign = across ? "center" : "right";
      if (across) context.fillText(label, (low + high) / 2, MARGIN.top - 8);
      else context.fillText(cut(context, label, MARGIN.left - 8), MARGIN.left - 6, (low + high) / 2 + 4);
    }
  }
}

// Names of ranks or of ranges. Where ranks are ordered by something else, neighbours form no range: one in some is named.
function labels(view, [from, to], widthOf) {
  const name = (place) => view.name(view.rankAt(place));
  if (!view.arrangement.rank_at) return nameRanges(name, from, to, view.scale, widthOf);
  const room = 8 + d3.max(d3.range(from, to + 1), (place) => widthOf(name(place)));
  const step = Math.max(1, Math.ceil(room / view.scale));
  return d3.range(from, to + 1, step).map((place) => ({ first: place, last: place, label: name(place) }));
}

function boundary(context, across, at) { // where a range begins
  context.beginPath();
  if (across) { context.moveTo(at, MARGIN.top - 5); context.lineTo(at, MARGIN.top - 1); }
  else { context.moveTo(MARGIN.left - 5, at); context.lineTo(MARGIN.left - 1, at); }
  context.stroke();
}

function cut(context, text, room) { // a long name's end says more than its beginning
  while (text.length > 2 && context.measureText(text).width > room) text = `…${text.slice(2)}`;
  return text;
}

// Marks the groups along both axes, with their names where these fit.
function drawBrackets(view, context) {
  const { left, top } = view.sight;
  const starts = [0, ...view.arrangement.ends], ends = [...view.arrangement.ends, view.ranks];
  context.strokeStyle = resolved(view.stage, "--faint");
  context.lineWidth = 1;
  context.textAlign = "center";
  for (const across of [true, false]) {
    const [from, margin] = across ? [left, MARGIN.left] : [top, MARGIN.top];
    starts.forEach((start, index) => {
      const low = clamp(margin + (start - from) * view.scale + 1, margin, margin + view.inner);
      const high = clamp(margin + (ends[index] - from) * view.scale - 1, margin, margin + view.inner);
      if (high - low < 2) return;
      const line = (across ? MARGIN.top : MARGIN.left) - 4;
      context.beginPath();
      if (across) { context.moveTo(low, line + 3); context.lineTo(low, line); context.lineTo(high, line); context.lineTo(high, line + 3); }
      else { context.moveTo(line + 3, low); context.lineTo(line, low); context.lineTo(line, high); context.lineTo(line + 3, high); }
      context.stroke();
      const name = view.arrangement.names[index];
      if (high - low < context.measureText(name).width + 4) return;
      context.save();
      if (across) context.translate((low + high) / 2, line - 5);
      else { context.translate(line - 5, (low + high) / 2); context.rotate(-Math.PI / 2); }
      context.fillText(name, 0, 0);
      context.restore();
    });
  }
}
