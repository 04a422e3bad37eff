// The learning curve: an estimate with its interval, the truth beside it where it is known. Drawn as SVG, with a table of the same values.

import { counted, make, percent } from "/static/dom.js";

const [WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM] = [360, 190, 38, 8, 10, 24];
const SVG = "http://www.w3.org/2000/svg";

function shape(name, attributes, text = "") {
  const found = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) found.setAttribute(key, value);
  found.textContent = text;
  return found;
}

export class Chart {
  constructor(place) {
    this.drawing = shape("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img" });
    this.readout = make("p", { class: "readout" });
    this.rows = make("tbody");
    const head = ["answers", "estimate", "interval", "truth"].map((name) => make("th", { scope: "col" }, name));
    const values = make("table", {}, make("caption", {}, "The learning curve"), make("thead", {}, make("tr", {}, ...head)), this.rows);
    const scroll = make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Values of the curve" }, values);
    place.replaceChildren(this.drawing, this.readout, make("details", {}, make("summary", {}, "As a table"), scroll));
    this.drawing.addEventListener("pointermove", (event) => this.#point(event));
    this.drawing.addEventListener("pointerleave", () => this.#read(this.newest));
  }

  draw(curve) {
    this.curve = curve;
    const known = curve.flatMap((one) => [one.low, one.estimate, one.truth]).filter((value) => value !== null);
    this.step = !known.length || Math.min(...known) < 0.6 ? 0.2 : 0.1;
    const lowest = known.length ? Math.min(0.9, ...known) : 0;
    this.bottom = Math.max(0, Math.floor((lowest + 1e-9) / this.step) * this.step);
    this.last = Math.max(10, curve.at(-1)?.answers ?? 0);
    this.marker = shape("g", { class: "marker" });
    this.drawing.replaceChildren(...this.#axes(), ...this.#band(), ...this.#line("truth"), ...this.#line("estimate"), this.marker);
    this.newest = curve.findLast((one) => one.estimate !== null || one.truth !== null) ?? curve.at(-1);
    this.drawing.setAttribute("aria-label", `Learning curve. ${describe(this.newest)}`);
    this.rows.replaceChildren(...curve.map((one) => row(one)));
    this.#read(this.newest);
  }

  #x(answers) {
    return LEFT + ((WIDTH - LEFT - RIGHT) * answers) / this.last;
  }

  #y(value) {
    return TOP + ((HEIGHT - TOP - BOTTOM) * (1 - value)) / (1 - this.bottom);
  }

  #axes() {
    const found = [];
    for (let value = this.bottom; value < 1 + 1e-9; value += this.step) {
      const y = this.#y(value);
      found.push(shape("line", { class: "grid", x1: LEFT, x2: WIDTH - RIGHT, y1: y, y2: y }));
      found.push(shape("text", { x: LEFT - 5, y: y + 4, "text-anchor": "end" }, percent(value)));
    }
    for (const [share, anchor] of [[0, "start"], [0.5, "middle"], [1, "end"]]) {
      const answers = Math.round(this.last * share);
      found.push(shape("text", { x: this.#x(answers), y: HEIGHT - 6, "text-anchor": anchor }, share === 1 ? counted(answers, "answer") : answers));
    }
    return found;
  }

  #band() {
    const known = this.curve.filter((one) => one.low !== null);
    if (known.length < 2) return [];
    const upper = known.map((one) => `${this.#x(one.answers)},${this.#y(one.high)}`);
    const lower = known.map((one) => `${this.#x(one.answers)},${this.#y(one.low)}`).reverse();
    return [shape("polygon", { class: "band", points: [...upper, ...lower].join(" ") })];
  }

  #line(which) {
    const known = this.curve.filter((one) => one[which] !== null);
    if (!known.length) return [];
    const at = (one) => [this.#x(one.answers), this.#y(one[which])];
    const end = at(known.at(-1));
    return [
      shape("polyline", { class: which, points: known.map((one) => at(one).join(",")).join(" ") }),
      shape("circle", { class: which, cx: end[0], cy: end[1], r: 3.5 }),
    ];
  }

  #point(event) {
    if (!this.curve?.length) return;
    const box = this.drawing.getBoundingClientRect();
    const x = ((event.clientX - box.left) / box.width) * WIDTH;
    const distance = (one) => Math.abs(this.#x(one.answers) - x);
    const nearest = this.curve.reduce((best, one) => (distance(one) < distance(best) ? one : best));
    const at = this.#x(nearest.answers);
    const dots = ["truth", "estimate"].filter((which) => nearest[which] !== null);
    this.marker.replaceChildren(
      shape("line", { class: "here", x1: at, x2: at, y1: TOP, y2: HEIGHT - BOTTOM }),
      ...dots.map((which) => shape("circle", { class: which, cx: at, cy: this.#y(nearest[which]), r: 3.5 })),
    );
    this.#read(nearest, false);
  }

  #read(one, clear = true) {
    if (clear) this.marker?.replaceChildren();
    this.readout.textContent = one ? describe(one) : "";
  }
}

function describe(one) {
  if (!one) return "Nothing is known yet.";
  const estimate = one.estimate === null ? "not estimated" : `${percent(one.estimate)} (${percent(one.low)} to ${percent(one.high)})`;
  return `After ${counted(one.answers, "answer")}: ${estimate}${one.truth === null ? "" : `, in truth ${percent(one.truth)}`}.`;
}

function row(one) {
  const estimate = one.estimate === null ? ["", ""] : [percent(one.estimate), `${percent(one.low)} to ${percent(one.high)}`];
  const texts = [one.answers, ...estimate, one.truth === null ? "" : percent(one.truth)];
  return make("tr", {}, ...texts.map((text) => make("td", {}, text)));
}
