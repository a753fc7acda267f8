// Creates HTML and SVG elements.

const SVG = "http://www.w3.org/2000/svg";

export function make(name, properties = {}, attributes = {}) {
  return attributed(Object.assign(document.createElement(name), properties), attributes);
}

export function svgElement(name, attributes) {
  return attributed(document.createElementNS(SVG, name), attributes);
}

function attributed(element, attributes) {
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  return element;
}
