// Points on a canvas: zoom, move, and a rectangle that is drawn around some of them. It knows nothing of bags.

import { watchGestures } from "/static/gestures.js";

const MOST_ZOOM = 200;
const MARGIN = 1.08;
const FEW = 3000;
const [LARGE, SMALL] = [5, 3]; // Pixels of a point, of few and of many; it grows a little when zoomed.
const STEP = 0.2;

export class MapCanvas {
  // `onChosen` is called with { left, right, bottom, top } when a rectangle was drawn.
  constructor(canvas, onChosen) {
    Object.assign(this, { canvas, onChosen, x: [], y: [], order: [], colours: [], zoom: 1, across: 0, down: 0, region: null, drawing: null, moving: false, pointers: new Set() });
    canvas.addEventListener("pointerdown", (event) => this.#down(event));
    for (const name of ["pointerup", "pointercancel"]) canvas.addEventListener(name, (event) => this.#up(event));
    watchGestures(canvas, { zoom: (factor, x, y) => this.zoomAt(factor, ...this.#within(x, y)), pan: (across, down) => this.#drag(across, down) });
    new ResizeObserver(() => this.draw()).observe(canvas);
  }

  setPoints(x, y) {
    Object.assign(this, { x, y, zoom: 1, across: 0, down: 0, region: null, drawing: null });
    this.setColours(x.map(() => "gray"));
  }

  // One for each point, null for those that are not shown; those of one colour are drawn together, and `last` on top.
  setColours(colours, last = () => 0) {
    this.colours = colours;
    this.order = colours.flatMap((colour, i) => (colour === null ? [] : [i])).sort((a, b) => last(a) - last(b) || (colours[a] < colours[b] ? -1 : colours[a] > colours[b] ? 1 : a - b));
    this.draw();
  }

  // Pixels of the canvas that one unit of the map is.
  get scale() {
    return (this.zoom * Math.min(this.canvas.clientWidth, this.canvas.clientHeight)) / (2 * MARGIN);
  }

  get shown() {
    const [width, height] = [this.canvas.clientWidth, this.canvas.clientHeight];
    const [left, top] = this.#at(0, 0);
    const [right, bottom] = this.#at(width, height);
    return { left, right, bottom, top };
  }

  zoomAt(factor, x = this.canvas.clientWidth / 2, y = this.canvas.clientHeight / 2) {
    const zoom = Math.min(MOST_ZOOM, Math.max(1, this.zoom * factor));
    if (zoom === this.zoom) return false;
    const [u, v] = this.#at(x, y);
    this.zoom = zoom;
    this.across = x - this.canvas.clientWidth / 2 - u * this.scale;
    this.down = y - this.canvas.clientHeight / 2 + v * this.scale;
    if (zoom === 1) [this.across, this.down] = [0, 0];
    this.draw();
    return true;
  }

  pan(across, down) {
    if (this.zoom === 1) return false;
    const most = this.scale * MARGIN;
    this.across = Math.min(most, Math.max(-most, this.across + across));
    this.down = Math.min(most, Math.max(-most, this.down + down));
    this.draw();
    return true;
  }

  // Shares of what is shown.
  step(across, down) {
    return this.pan(-across * STEP * this.canvas.clientWidth, -down * STEP * this.canvas.clientHeight);
  }

  whole() {
    Object.assign(this, { zoom: 1, across: 0, down: 0 });
    this.draw();
  }

  setRegion(region) {
    this.region = region;
    this.draw();
  }

  draw() {
    const { canvas, x, y, colours } = this;
    const ratio = window.devicePixelRatio || 1;
    const [width, height] = [canvas.clientWidth, canvas.clientHeight];
    if (!width) return;
    [canvas.width, canvas.height] = [Math.round(width * ratio), Math.round(height * ratio)];
    const context = canvas.getContext("2d");
    context.scale(ratio, ratio);
    const size = (x.length > FEW ? SMALL : LARGE) + Math.log2(this.zoom);
    const [left, top, scale] = [width / 2 + this.across - size / 2, height / 2 + this.down - size / 2, this.scale];
    let colour = null;
    for (const i of this.order) {
      const [u, v] = [left + x[i] * scale, top - y[i] * scale];
      if (u < -size || v < -size || u > width || v > height) continue;
      if (colours[i] !== colour) {
        colour = colours[i];
        context.fillStyle = colour;
      }
      context.fillRect(u, v, size, size);
    }
    const drawn = this.drawing ? this.#rectangle() : this.region;
    if (drawn) this.#outline(context, drawn);
  }

  #outline(context, { left, right, bottom, top }) {
    const [x, y] = this.#pixels(left, top);
    const [u, v] = this.#pixels(right, bottom);
    context.fillStyle = context.strokeStyle = getComputedStyle(this.canvas).getPropertyValue("--focus-now").trim();
    context.lineWidth = 2;
    context.strokeRect(x, y, u - x, v - y);
    context.globalAlpha = 0.12;
    context.fillRect(x, y, u - x, v - y);
  }

  #down(event) {
    if (event.button !== 0) return;
    this.pointers.add(event.pointerId);
    const at = this.#within(event.clientX, event.clientY);
    // A second finger zooms.
    this.drawing = this.moving || this.pointers.size > 1 ? null : { from: at, to: at };
  }

  #drag(across, down) {
    if (!this.drawing) return this.pan(across, down);
    const [x, y] = this.drawing.to;
    this.drawing.to = [x + across, y + down];
    this.draw();
    return true;
  }

  #up(event) {
    this.pointers.delete(event.pointerId);
    const drawn = this.drawing && event.type === "pointerup" && String(this.drawing.from) !== String(this.drawing.to) ? this.#rectangle() : null;
    this.drawing = null;
    if (drawn) this.onChosen(drawn);
    else this.draw();
  }

  #rectangle() {
    const corners = [this.drawing.from, this.drawing.to].map(([x, y]) => this.#at(x, y));
    const [[left, right], [bottom, top]] = [0, 1].map((axis) => corners.map((one) => one[axis]).sort((a, b) => a - b));
    return { left, right, bottom, top };
  }

  #within(x, y) {
    const box = this.canvas.getBoundingClientRect();
    return [x - box.left, y - box.top];
  }

  #at(x, y) {
    return [(x - this.canvas.clientWidth / 2 - this.across) / this.scale, -(y - this.canvas.clientHeight / 2 - this.down) / this.scale];
  }

  #pixels(u, v) {
    return [this.canvas.clientWidth / 2 + this.across + u * this.scale, this.canvas.clientHeight / 2 + this.down - v * this.scale];
  }
}
