// Finding words in a text: every place is marked, one after the other is shown. The text itself stays as it is.

import { button, make } from "/static/parts.js";

const ALL = "found";
const ONE = "found-one";
const SPECIAL = /[.*+?^${}()|[\]\\/]/g;

export class Finder {
  constructor(page) {
    Object.assign(this, { page, ranges: [], at: 0 });
    this.field = Object.assign(make("input", ""), { type: "search", placeholder: "Find in the text", autocomplete: "off", spellcheck: false });
    this.field.setAttribute("aria-label", "Find in the text");
    this.count = make("output", "count");
    this.before = arrow("▴", "Previous place", () => this.step(-1));
    this.after = arrow("▾", "Next place", () => this.step(1));
    this.element = make("div", "finder", make("kbd", "", "/"), this.field, this.count, this.before, this.after);
    this.element.setAttribute("role", "search");
    this.field.addEventListener("input", () => this.find());
    this.field.addEventListener("keydown", (event) => {
      if (event.key === "Enter") this.step(event.shiftKey ? -1 : 1);
      else if (event.key === "Escape") this.clear();
      else return;
      event.preventDefault();
    });
    this.show();
  }

  focus() {
    this.field.focus();
    this.field.select();
  }

  clear() {
    this.field.value = "";
    this.find();
    this.field.blur();
  }

  find() {
    const wanted = this.field.value.trim();
    this.ranges = wanted ? places(this.page, wanted) : [];
    // From where one reads: the first that is not above what is shown.
    const top = this.page.getBoundingClientRect().top;
    this.at = Math.max(0, this.ranges.findIndex((range) => range.getBoundingClientRect().top >= top));
    this.show();
  }

  step(by) {
    if (!this.ranges.length) return;
    this.at = (this.at + by + this.ranges.length) % this.ranges.length;
    this.show();
  }

  show() {
    const one = this.ranges[this.at];
    for (const found of [this.before, this.after]) found.disabled = !one;
    const looking = this.field.value.trim() !== "";
    this.element.classList.toggle("looking", looking);
    this.count.textContent = one ? `${this.at + 1} of ${this.ranges.length}` : looking ? "not found" : "";
    mark(this.ranges, one);
    if (!one) return;
    const { top, height } = one.getBoundingClientRect();
    const page = this.page.getBoundingClientRect();
    if (top < page.top || top + height > page.bottom) this.page.scrollTop += top - page.top - page.height / 3;
  }
}

function arrow(sign, name, action) {
  const found = button("", sign, action);
  found.setAttribute("aria-label", name);
  return found;
}

// Browsers without highlights still scroll to every place.
function mark(all, one) {
  if (!CSS.highlights) return;
  CSS.highlights.set(ALL, new Highlight(...all));
  CSS.highlights.set(ONE, new Highlight(...(one ? [one] : [])));
}

// A place may reach over the edges of passages. Any run of spaces and line ends is like any other.
function places(page, wanted) {
  const walker = document.createTreeWalker(page, NodeFilter.SHOW_TEXT);
  const nodes = [];
  let text = "";
  while (walker.nextNode()) {
    nodes.push({ node: walker.currentNode, from: text.length });
    text += walker.currentNode.data;
  }
  const pattern = new RegExp(wanted.replace(SPECIAL, "\\$&").replace(/\s+/g, "\\s+"), "giu");
  let here = 0;
  const point = (offset, isEnd) => {
    while (here + 1 < nodes.length && (isEnd ? nodes[here + 1].from < offset : nodes[here + 1].from <= offset)) here += 1;
    return [nodes[here].node, offset - nodes[here].from];
  };
  return Array.from(text.matchAll(pattern), ({ index, 0: found }) => {
    const range = document.createRange();
    range.setStart(...point(index, false));
    range.setEnd(...point(index + found.length, true));
    return range;
  });
}
