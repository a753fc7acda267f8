// Saves drawings as SVG and PNG, and their data as CSV.

import { make } from "./dom.js";
import { drawInto } from "./legend.js";
import { resolved } from "./theme.js";

// Properties that a picture inherits from the page's styles and would lose in a file.
const KEPT = ["fill", "stroke", "color", "font-family", "font-size", "font-weight", "font-variant", "text-anchor",
  "stroke-width", "opacity", "fill-opacity", "stroke-opacity", "paint-order"];

export function standalone(svg) {
  const copy = svg.cloneNode(true);
  const from = [svg, ...svg.querySelectorAll("*")];
  const to = [copy, ...copy.querySelectorAll("*")];
  from.forEach((element, index) => {
    const style = getComputedStyle(element);
    for (const name of KEPT) {
      const value = style.getPropertyValue(name);
      if (!value) continue;
      to[index].style?.setProperty(name, value);
      // Programs that read only attributes do not resolve var().
      if (to[index].hasAttribute(name)) to[index].setAttribute(name, value);
    }
  });
  copy.querySelectorAll("[aria-label='tip']").forEach((tip) => tip.remove());
  const box = svg.viewBox.baseVal;
  const width = box?.width || svg.clientWidth;
  let height = box?.height || svg.clientHeight;
  const legend = svg.parentElement.querySelector(".runs");
  if (legend) {
    const added = drawInto(copy, legend, width);
    copy.setAttribute("viewBox", `0 ${-added} ${width} ${height + added}`);
    height += added;
  }
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  copy.setAttribute("width", width);
  copy.setAttribute("height", height);
  copy.style.setProperty("background", resolved(svg.parentElement, "--card"));
  return { text: new XMLSerializer().serializeToString(copy), width, height };
}

export function save(name, content, type) {
  const href = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type }));
  const link = make("a", { href, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(href), 10000);
}

const PNG_SCALE = 2; // sharp on paper and on dense screens

export async function png(svg) {
  const { text, width, height } = standalone(svg);
  const image = new Image();
  image.src = "data:image/svg+xml;charset=utf-8," + encodeURIComponent(text);
  await image.decode();
  const canvas = make("canvas", { width: width * PNG_SCALE, height: height * PNG_SCALE });
  const context = canvas.getContext("2d");
  context.fillStyle = resolved(svg.parentElement, "--card");
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.drawImage(image, 0, 0, canvas.width, canvas.height);
  return canvasBlob(canvas);
}

export function canvasBlob(canvas) {
  return new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
}
