// Pictures with the outlines or boxes of their instances: zoomed with wheel, pinch, keys, a double click or a button, and
// moved by dragging. A click beside the instances does nothing, so that a missed one is not punished.

import { watchGestures } from "/static/gestures.js";
import { cornerOf, nameOf } from "/static/instances.js";
import { boxes, button, fill, make, outlined } from "/static/parts.js";

const SMALL = 300; // Fewer pixels than this are shown as pixels, not blurred.
const CLOSER = 2; // By a double click or the button, or to the picture's own size where that is larger.
const CLOSEST = 8;
const ZOOM = 1.5;
const STEP = 0.2; // Of what is shown, for a key.
const ZOOMS = { "+": ZOOM, "=": ZOOM, "-": 1 / ZOOM };
const PANS = { "Shift+ArrowLeft": [1, 0], "Shift+ArrowRight": [-1, 0], "Shift+ArrowUp": [0, 1], "Shift+ArrowDown": [0, -1] };

export async function load({ url, outlines }) {
  const image = new Image();
  image.src = url;
  const drawn = outlines ? fetch(outlines).then((response) => (response.ok ? response.json() : null)).catch(() => null) : null;
  await image.decode();
  return { image, outlines: await drawn };
}

export function draw(bag, evidence, loaded, pointing) {
  const figure = make("div", "picture");
  return fill(figure, loaded, (found) => new PictureView(figure, framed(bag, found, evidence, pointing), found.image));
}

export function drawSmall(bag, loaded) {
  const figure = make("div", "picture small");
  return fill(figure, loaded, (found) => figure.replaceChildren(framed(bag, found, bag.evidence ?? -1)));
}

function framed(bag, { image: { src, naturalWidth: width, naturalHeight: height }, outlines }, evidence, pointing = false) {
  const shown = make("img", Math.max(width, height) < SMALL ? "pixels" : "");
  Object.assign(shown, { src, decoding: "sync", width, height, alt: `${bag.id}, a picture` });
  const area = (place) => [place.x / width, place.y / height, place.width / width, place.height / height];
  const name = pointing ? (number, where) => `${nameOf(bag, number)}, ${cornerOf(where)}` : null;
  const marks = outlines ? outlined(outlines, evidence, width, height, name) : boxes(bag.medium.places, evidence, area, name);
  const frame = make("div", "frame", shown, ...marks);
  frame.style.setProperty("--ratio", width / height);
  return frame;
}

class PictureView {
  constructor(figure, frame, image) {
    Object.assign(this, { figure, frame, image, scale: 1 });
    this.window = make("div", "window", frame);
    this.button = button("", "Zoom", () => this.toggle(...this.middleOfMark()), "zoom");
    figure.replaceChildren(this.window, this.button);
    this.window.addEventListener("dblclick", (event) => this.toggle(event.clientX, event.clientY));
    watchGestures(this.window, {
      zoom: (factor, x, y) => this.zoom(this.scale * factor, x, y),
      pan: (across, down) => this.pan(across, down),
    });
    figure.press = (key) => this.press(key);
    this.refresh();
  }

  press(key) {
    const { clientWidth, clientHeight } = this.window;
    if (key in ZOOMS) this.zoom(this.scale * ZOOMS[key], ...this.middleOfMark());
    else if (key in PANS) this.pan(PANS[key][0] * STEP * clientWidth, PANS[key][1] * STEP * clientHeight);
    else if (key === "Escape") return this.zoom(1);
    else return false;
    return true;
  }

  toggle(x, y) {
    const own = this.image.naturalWidth / this.frame.clientWidth;
    this.zoom(this.scale > 1 ? 1 : Math.max(CLOSER, own), x, y);
  }

  // To so many times the size at which all of it is seen; the point stays where it is. Whether it changed.
  zoom(wanted, x, y) {
    const whole = this.frame.clientWidth / this.scale;
    const scale = Math.min(Math.max(CLOSEST, (2 * this.image.naturalWidth) / whole), Math.max(1, wanted));
    if (scale === this.scale) return false;
    const [before, from] = [this.frame.getBoundingClientRect(), this.window.getBoundingClientRect()];
    const [across, down] = [(x - before.left) / before.width, (y - before.top) / before.height];
    this.scale = scale;
    this.figure.classList.toggle("zoomed", scale > 1);
    this.frame.style.width = scale > 1 ? `${whole * scale}px` : "";
    if (scale > 1) {
      this.window.scrollLeft = across * this.frame.clientWidth - (x - from.left);
      this.window.scrollTop = down * this.frame.clientHeight - (y - from.top);
    }
    this.refresh();
    return true;
  }

  pan(across, down) {
    const { scrollLeft, scrollTop } = this.window;
    this.window.scrollBy({ left: -across, top: -down, behavior: "instant" });
    return scrollLeft !== this.window.scrollLeft || scrollTop !== this.window.scrollTop;
  }

  // What a person looks for, where it is seen; else the middle of what is seen.
  middleOfMark() {
    const { figure } = this;
    const mark = figure.querySelector(".picked") ?? (figure.closest(".highlight") && figure.querySelector(".evidence"));
    const [inner, outer] = [mark || this.window, this.window].map((one) => one.getBoundingClientRect());
    const isSeen = inner.right > outer.left && inner.left < outer.right && inner.bottom > outer.top && inner.top < outer.bottom;
    const { left, top, width, height } = isSeen ? inner : outer;
    return [left + width / 2, top + height / 2];
  }

  refresh() {
    this.button.setAttribute("aria-pressed", String(this.scale > 1));
  }
}
