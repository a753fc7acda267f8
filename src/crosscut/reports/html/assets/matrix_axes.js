// Axes of the heat map: hosts or ranks, or brackets with the names of groups.

import { count } from "./format.js";
import { resolved } from "./theme.js";

export const MARGIN = { left: 64, top: 40, right: 2, bottom: 2 };

export const clamp = (value, low, high) => Math.min(high, Math.max(low, value));

export function drawAxes(view, context, style) {
  const { left, top, shown } = view.sight;
  context.fillStyle = resolved(view.stage, "--faint");
  context.font = `11px ${style.fontFamily}`;
  context.textAlign = "left";
  context.fillText("receiver →", MARGIN.left, 10);
  context.save();
  context.translate(10, MARGIN.top + 62);
  context.rotate(-Math.PI / 2);
  context.fillText("← sender", 0, 0);
  context.restore();
  if (view.arrangement.ends.length) {
    drawBrackets(view, context);
    return;
  }
  const named = view.oneEach && widest(view, context) < MARGIN.left - 18;
  const text = (place) => (named ? view.model.nodes[view.model.node_of[view.rankAt(place)]] : count(view.rankAt(place)));
  const all = named && widest(view, context) + 6 < view.scale;
  const number = all ? view.ranks : view.inner < 420 ? 4 : 8;
  const ticks = (from) => d3.ticks(Math.max(0, from), Math.min(view.ranks - 1, from + shown), number).filter(Number.isInteger);
  context.textAlign = "center";
  for (const place of ticks(left)) context.fillText(text(place), clamp(MARGIN.left + (place + 0.5 - left) * view.scale, MARGIN.left + 8, MARGIN.left + view.inner - Math.max(10, context.measureText(text(place)).width / 2)), MARGIN.top - 8);
  context.textAlign = "right";
  for (const place of ticks(top)) context.fillText(text(place), MARGIN.left - 6, clamp(MARGIN.top + (place + 0.5 - top) * view.scale + 4, MARGIN.top + 10, MARGIN.top + view.inner - 2));
}

function widest(view, context) { // width of the longest name of a node, in pixels
  view.nameWidth ??= d3.max(view.model.nodes, (name) => context.measureText(name).width);
  return view.nameWidth;
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
