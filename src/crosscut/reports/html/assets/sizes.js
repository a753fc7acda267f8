// Tracks the message size that each figure shows. Figures of one group change together if they have the size.

import { make } from "./dom.js";

export class Sizes {
  // `sizes`: by figure, {group, sizes: [{bytes, label, picture}]}, where null stands for the one in `pictures`.
  constructor(pictures, sizes, changed) {
    Object.assign(this, { pictures, sizes, changed });
    this.shown = new Map();
    this.selects = new Map();
    for (const [name, { sizes: all }] of Object.entries(sizes)) this.shown.set(name, all.find(({ picture }) => picture === null));
  }

  picture(name) {
    return this.shown.get(name)?.picture ?? this.pictures[name];
  }

  titled(name) {
    const { title } = this.picture(name);
    return this.shown.has(name) ? `${title}, ${this.shown.get(name).label}` : title;
  }

  choose(group, bytes) {
    for (const [name, entry] of Object.entries(this.sizes)) {
      if (entry.group !== group) continue;
      const wanted = entry.sizes.find((size) => size.bytes === bytes);
      if (!wanted || wanted === this.shown.get(name)) continue;
      this.shown.set(name, wanted);
      const select = this.selects.get(name);
      if (select) select.value = String(bytes);
      this.changed(name);
    }
  }

  // Returns the size selector of a figure, or null if it has only one size.
  select(name, title) {
    const entry = this.sizes[name];
    if (!entry) return null;
    const select = make("select", {}, { "aria-label": `Message size: ${title}` });
    for (const { bytes, label } of entry.sizes) select.append(new Option(label, String(bytes)));
    select.value = String(this.shown.get(name).bytes);
    select.addEventListener("change", () => this.choose(entry.group, Number(select.value)));
    this.selects.set(name, select);
    const label = make("label");
    label.append("Size ", select);
    return label;
  }
}
