// What is set once and then left alone: behind a button, so that the rest stays calm.

import { bandShown, LEAST_BAND } from "/static/look.js";
import { button, make } from "/static/parts.js";
import { SPEEDS } from "/static/player.js";
import { remember, remembered } from "/static/settings.js";

const FINE = 100; // Hz between two places of a slider,
const COARSE = 1000; // for ultrasound.
const ULTRASOUND = 60_000;
const MOST_GAIN = 30;
const CONTRASTS = [0.5, 3];
const LOOK = { low: 0, high: null, mel: false, gain: 0, contrast: 1 };

export class SoundPanel {
  constructor(view, { rate }) {
    Object.assign(this, { view, rate, top: rate / 2 });
    const step = rate > ULTRASOUND ? COARSE : FINE;
    const ends = [0, Math.ceil(this.top / step) * step];
    this.low = slider("Lowest", " frequency", ends, step, (value) => this.limit("low", value));
    this.high = slider("Highest", " frequency", ends, step, (value) => this.limit("high", value));
    this.gain = slider("Brightness", "", [-MOST_GAIN, MOST_GAIN], 1, (value) => view.set("gain", value));
    this.contrast = slider("Contrast", "", CONTRASTS, 0.1, (value) => view.set("contrast", value));
    this.speeds = SPEEDS.map((speed) => button("", `${speed}×`, () => view.set("speed", speed)));
    this.mel = button("", "Mel scale", () => view.set("mel", !remembered("mel", false)));
    this.band = button("F", "Hear only these frequencies", () => view.press("f"));
    this.autoplay = button("A", "Autoplay", () => view.press("a"));
    const move = (name, said, key) => {
      const found = button("", name, () => view.press(key));
      found.setAttribute("aria-label", said);
      return found;
    };
    this.home = button("Esc", "Whole", () => view.press("Escape"));
    const time = [move("◂", "Earlier", "Shift+ArrowLeft"), move("−", "Zoom out", "-"), move("+", "Zoom in", "+"), move("▸", "Later", "Shift+ArrowRight"), this.home];
    const reset = button("", "Reset", () => this.reset());
    this.element = make("div", "panel controls",
      group("Time", "", ...time),
      group("Speed", "", ...this.speeds),
      group("Look", "sliders", this.low.label, this.high.label, this.gain.label, this.contrast.label),
      group("More", "", this.mel, this.band, this.autoplay, reset));
    this.element.hidden = !remembered("panel", false);
    this.element.addEventListener("keydown", (event) => {
      if (event.key !== "Escape") return;
      this.toggle();
      view.viewing.focus();
      event.stopPropagation();
    });
    // After a mouse the keys are the page's again, as after a click on a button.
    this.element.addEventListener("pointerup", (event) => event.target.closest("input")?.blur());
  }

  toggle() {
    this.element.hidden = !this.element.hidden;
    remember("panel", !this.element.hidden);
    this.refresh();
  }

  // The other limit gives way.
  limit(name, value) {
    const least = LEAST_BAND * this.top;
    const { low, high } = bandShown(this.rate);
    if (name === "low") {
      const from = Math.min(value, this.top - least);
      if (high < from + least) remember("high", from + least);
      this.view.set("low", from);
    } else {
      const to = Math.max(value, least);
      if (low > to - least) remember("low", to - least);
      this.view.set("high", to >= this.top ? null : to);
    }
  }

  reset() {
    for (const [name, value] of Object.entries(LOOK)) remember(name, value);
    this.view.set("speed", 1);
    this.view.paint();
  }

  refresh() {
    const { view } = this;
    const { low, high } = bandShown(this.rate);
    const kilohertz = (value) => `${Number((value / 1000).toFixed(1))} kHz`;
    const decibels = (value) => `${value > 0 ? "+" : ""}${value} dB`;
    this.low.show(low, kilohertz);
    this.high.show(high, kilohertz);
    this.gain.show(remembered("gain", 0), decibels);
    this.contrast.show(remembered("contrast", 1), (value) => `${value}×`);
    this.speeds.forEach((one, i) => one.setAttribute("aria-pressed", view.player.speed === SPEEDS[i]));
    this.mel.setAttribute("aria-pressed", remembered("mel", false));
    this.band.setAttribute("aria-pressed", remembered("band", false));
    this.autoplay.setAttribute("aria-pressed", remembered("autoplay", true));
    this.home.disabled = view.shown.isHome;
    view.viewing?.setAttribute("aria-expanded", String(!this.element.hidden));
  }
}

function group(name, className, ...children) {
  const found = make("div", `group ${className}`, ...children);
  found.setAttribute("role", "group");
  found.setAttribute("aria-label", name);
  return found;
}

// `more` of its name is only spoken.
function slider(name, more, [min, max], step, action) {
  const input = Object.assign(make("input", ""), { type: "range", min, max, step });
  const value = make("output", "");
  const label = make("label", "", make("span", "", name, make("span", "spoken", more)), input, value);
  input.addEventListener("input", () => action(Number(input.value)));
  const show = (number, text) => {
    input.value = number;
    value.textContent = text(number);
    input.setAttribute("aria-valuetext", value.textContent);
  };
  return { label, show };
}
