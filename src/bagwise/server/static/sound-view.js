// A recording to look into: zoomed and moved in time, with the spans of its instances, heard at any speed.

import { frequencies, showFrequencies, showTimes, times } from "/static/axes.js";
import { clock, span } from "/static/clock.js";
import { painted } from "/static/colours.js";
import { watchGestures } from "/static/gestures.js";
import { nameOf } from "/static/instances.js";
import { bandShown, isWholeBand, look } from "/static/look.js";
import { boxes, button, make, putBox, putTag } from "/static/parts.js";
import { Player, SPEEDS } from "/static/player.js";
import { remember, remembered } from "/static/settings.js";
import { SoundPanel } from "/static/sound-panel.js";
import { TimeWindow } from "/static/time-window.js";

const AROUND = 0.25; // Seconds of what is around it are heard with an instance.
export const COLUMNS = 1200; // Of what is shown.
const COARSE = 1.5; // What is stretched more than so much is drawn again.
const BEYOND = 0.15;
const STEP = 0.25; // Of what is shown, for a key.
const ZOOM = 1.5;
const CONTEXT = 2; // Seconds before and after, at least.

const KEYS = {
  " ": (view) => view.toggle(),
  r: (view) => view.replay(),
  l: (view) => view.set("loop", !view.player.looping),
  a: (view) => view.set("autoplay", !remembered("autoplay", true)),
  f: (view) => view.set("band", !remembered("band", false)),
  v: (view) => view.panel.toggle(),
  c: (view) => view.context(),
  "<": (view) => view.faster(-1),
  ">": (view) => view.faster(1),
  "+": (view) => view.zoom(ZOOM, view.interest),
  "=": (view) => view.zoom(ZOOM, view.interest),
  "-": (view) => view.zoom(1 / ZOOM, view.interest),
  "Shift+ArrowUp": (view) => view.zoom(ZOOM, view.interest),
  "Shift+ArrowDown": (view) => view.zoom(1 / ZOOM, view.interest),
  "Shift+ArrowLeft": (view) => view.pan(-STEP),
  "Shift+ArrowRight": (view) => view.pan(STEP),
};

const followed = new WeakSet();

export class SoundView {
  constructor(figure, bag, evidence, { recording, home, drawing }, pointing) {
    Object.assign(this, { figure, bag, recording, rate: recording.rate, range: drawing.range });
    this.places = bag.medium.places;
    this.place = this.places[evidence] ?? null;
    this.shown = new TimeWindow(recording.sound, home);
    this.drawn = { ...home, drawing };
    this.drawing = false;
    this.mark = null;
    this.played = 0;
    this.player = new Player(recording, () => this.refresh());
    Object.assign(this.player, { looping: remembered("loop", false), speed: remembered("speed", 1) });
    this.build(evidence, pointing);
    this.paint();
    this.refresh();
    if (remembered("autoplay", true) && Player.allowed) this.hear(this.marked) || this.replay();
  }

  build(evidence, pointing) {
    const { figure, bag, recording: { sound } } = this;
    this.canvas = make("canvas", "");
    this.head = make("div", "head");
    this.begin = make("div", "begin");
    this.outside = [make("div", "outside before"), make("div", "outside after")];
    const name = pointing ? (number) => nameOf(bag, number) : null;
    const seen = look(this.rate, this.range);
    const marks = boxes(this.places, evidence, areaIn(this.shown, seen.scale, this.rate), name);
    this.plot = make("div", "plot", this.canvas, ...this.outside, ...marks, this.begin, this.head);
    this.plot.setAttribute("role", pointing ? "group" : "img");
    // Boxes come in the order of their instances, of those that have a place; where there are too many, only the marked one.
    const numbers = this.places.flatMap((place, number) => (place ? [number] : []));
    const found = marks.filter((one) => one.matches(".place"));
    this.boxes = found.map((one, i) => ({ found: one, place: this.places[found.length === numbers.length ? numbers[i] : evidence] }));
    this.tags = marks.filter((one) => one.matches(".tag")).map((one) => ({ found: one, place: this.places[one.dataset.tag] }));
    this.frequencies = frequencies();
    this.times = times();
    this.time = make("span", "time");
    this.panel = new SoundPanel(this, sound);
    figure.replaceChildren(this.frequencies, this.plot, this.times, this.controls(), this.panel.element);
    for (const surface of [this.plot, this.times]) surface.addEventListener("click", (event) => this.seek(event));
    this.plot.addEventListener("focusin", (event) => this.reveal(this.places[event.target.dataset.instance]));
    watchGestures(this.plot, {
      zoom: (factor, x) => this.zoom(factor, this.timeAt(x)),
      pan: (across) => this.pan(-across / this.plot.clientWidth),
    });
    new ResizeObserver(() => this.arrange()).observe(this.plot);
    figure.press = (key) => this.press(key);
    figure.hear = (number) => this.hear(this.places[number]);
  }

  controls() {
    this.playing = button("Space", "Play", () => this.toggle(), "play");
    this.looping = button("L", "Loop", () => this.press("l"));
    this.viewing = button("V", "View", () => this.press("v"), "viewing");
    this.viewing.setAttribute("aria-expanded", "false");
    const found = make("div", "controls", this.playing);
    if (this.place) found.append(button("M", "The marked part", () => this.press("m"), "for-evidence"));
    found.append(this.looping);
    const { home, seconds } = this.shown;
    this.contextual = home.end - home.start < seconds - 1e-6 ? button("C", "Context", () => this.press("c")) : null;
    if (this.contextual) found.append(this.contextual);
    found.append(this.viewing, this.time);
    return found;
  }

  // Whether the key was meant for it.
  press(key) {
    if (key === "m") return this.hear(this.places[this.plot.querySelector("[data-instance]:focus")?.dataset.instance] ?? this.marked);
    if (key === "Escape") return this.goHome();
    if (!(key in KEYS)) return false;
    KEYS[key](this);
    this.refresh();
    return true;
  }

  get marked() {
    return this.figure.closest(".highlight") && this.place;
  }

  // The middle of what is looked at, so that keys zoom to it; undefined where that is not seen.
  get interest() {
    const { start, end } = this.places[this.plot.querySelector("[data-instance]:focus")?.dataset.instance] ?? (this.marked || {});
    return this.shown.contains((start + end) / 2) ? (start + end) / 2 : undefined;
  }

  // Remembers a setting and does what it says.
  set(name, value) {
    remember(name, value);
    if (name === "loop") this.player.change({ looping: value });
    else if (name === "speed") this.player.change({ speed: value });
    else if (name === "band") this.player.change({ band: this.bandOf(this.heard) });
    else if (name !== "autoplay") this.paint();
    this.refresh();
  }

  faster(by) {
    const next = SPEEDS[SPEEDS.indexOf(this.player.speed) + by];
    if (next) this.set("speed", next);
  }

  toggle() {
    if (this.player.playing) this.player.end();
    else this.replay();
  }

  // One instance; whether there is one.
  hear(place) {
    if (!place) return false;
    this.reveal(place);
    this.play(...stretch(place, this.recording.sound.seconds), place);
    return true;
  }

  seek(event) {
    if (event.target.closest("[data-instance]")) return; // It is picked, and heard.
    const time = this.timeAt(event.clientX);
    this.mark = this.shown.share(time) < 0.01 ? null : Math.min(time, this.shown.start + 0.995 * this.shown.width);
    this.replay();
  }

  // What is seen, from where was clicked.
  replay() {
    const { start, end } = this.shown;
    this.play(this.mark !== null && this.shown.contains(this.mark) ? this.mark : start, end);
  }

  // What is not there yet is fetched first.
  async play(from, to, heard = null) {
    this.played += 1;
    const mine = this.played;
    if (!this.recording.has(from, to)) {
      this.player.stop();
      if (!(await this.fetch(from, to)) || mine !== this.played || !this.figure.isConnected) return;
    }
    this.heard = heard;
    this.player.play(from, to, this.bandOf(heard));
    this.refresh();
    follow(this.figure, this.player, (time) => {
      this.head.hidden = time === null || !this.shown.contains(time);
      this.head.style.left = `${100 * this.shown.share(time)}%`;
      this.tell();
    });
  }

  // The frequencies that are heard of an instance, else those that are shown; null for all of them.
  bandOf(place) {
    if (!remembered("band", false)) return null;
    if (place?.low !== undefined) return { low: place.low, high: place.high ?? this.rate / 2 };
    return isWholeBand(this.rate) ? null : bandShown(this.rate);
  }

  timeAt(x) {
    const { left, width } = this.plot.getBoundingClientRect();
    return this.shown.start + ((x - left) / width) * this.shown.width;
  }

  zoom(factor, at) {
    return this.moved(this.shown.zoom(factor, at));
  }

  // By a share of what is shown.
  pan(share) {
    return this.moved(this.shown.pan(share * this.shown.width));
  }

  goHome() {
    return this.moved(this.shown.goHome());
  }

  // Some seconds before and after the bag, or back to it.
  context() {
    const { home, isHome } = this.shown;
    const more = Math.max(CONTEXT, (home.end - home.start) / 2);
    if (isHome) this.moved(this.shown.show(home.start - more, home.end + more));
    else this.goHome();
  }

  // Moves to an instance that is not seen.
  reveal(place) {
    if (!place || (place.end > this.shown.start && place.start < this.shown.end)) return;
    const middle = (place.start + place.end) / 2;
    this.moved(this.shown.show(middle - this.shown.width / 2, middle + this.shown.width / 2));
  }

  moved(changed) {
    if (!changed) return false;
    this.arrange();
    this.refresh();
    this.drawSoon();
    return true;
  }

  // Where it is stretched or at its end, the picture is drawn again, once at a time.
  async drawSoon() {
    if (this.drawing) return;
    this.drawing = true;
    while (this.figure.isConnected && this.isStale) {
      const { start, end } = this.shown.around;
      const columns = Math.round((COLUMNS * (end - start)) / this.shown.width);
      if (!(await this.fetch(start, end))) break;
      this.drawn = { start, end, drawing: await this.recording.analysed(start, end, columns) };
      this.paint();
    }
    this.drawing = false;
  }

  get isStale() {
    const { start, end, drawing } = this.drawn;
    const detail = (drawing.columns / (end - start)) * this.shown.width;
    const [from, to] = [Math.max(0, this.shown.start), Math.min(this.shown.seconds, this.shown.end)];
    return start > from + 1e-6 || end < to - 1e-6 || detail < COLUMNS / COARSE;
  }

  async fetch(start, end) {
    try {
      await this.recording.fetch(start, end);
      this.trouble = "";
    } catch (error) {
      console.warn(error);
      this.trouble = "These seconds cannot be fetched.";
    }
    this.tell();
    return !this.trouble;
  }

  paint() {
    const picture = painted(this.drawn.drawing, look(this.rate, this.range));
    [this.canvas.width, this.canvas.height] = [picture.width, picture.height];
    this.canvas.getContext("2d").putImageData(picture, 0, 0);
    this.arrange();
  }

  // Puts everything where it is now.
  arrange() {
    const { shown, drawn, recording: { sound } } = this;
    const { scale } = look(this.rate, this.range);
    const across = (element, start, end) => {
      element.hidden = end <= start;
      element.style.left = `${100 * shown.share(start)}%`;
      element.style.width = `${(100 * (end - start)) / shown.width}%`;
    };
    across(this.canvas, drawn.start, drawn.end);
    across(this.outside[0], Math.min(shown.start, sound.start), sound.start);
    across(this.outside[1], sound.end, Math.max(shown.end, sound.end));
    const area = areaIn(shown, scale, this.rate);
    for (const { found, place } of this.boxes) putBox(found, area(place), BEYOND);
    for (const { found, place } of this.tags) putTag(found, area(place));
    showFrequencies(this.frequencies, scale);
    showTimes(this.times, shown, sound.seconds);
    const [low, high] = [scale.low, scale.high].map((one) => Math.round(one / 100) / 10);
    this.plot.setAttribute("aria-label", `Spectrogram of ${this.bag.id}: ${span(shown.start, shown.end, sound.seconds)}, ${low} to ${high} kHz`);
  }

  refresh() {
    this.playing.firstChild.textContent = this.player.playing ? "Stop" : "Play";
    this.looping.setAttribute("aria-pressed", this.player.looping);
    this.contextual?.setAttribute("aria-pressed", this.shown.start < this.shown.home.start || this.shown.end > this.shown.home.end);
    this.begin.hidden = this.mark === null || !this.shown.contains(this.mark);
    this.begin.style.left = `${100 * this.shown.share(this.mark)}%`;
    this.head.hidden ||= !this.player.playing;
    this.panel.refresh();
    this.tell();
  }

  tell() {
    const { seconds } = this.recording.sound;
    const unit = seconds < 60 ? " s" : "";
    const speed = this.player.speed === 1 ? "" : ` · ${this.player.speed}×`;
    this.time.textContent = this.trouble || `${clock(this.player.position, seconds)} / ${clock(seconds, seconds)}${unit}${speed}`;
  }
}

// The head goes along while the player plays: `tell` gets the time, in the end null. What is no longer shown is no longer heard.
export function follow(element, player, tell) {
  if (followed.has(player)) return;
  followed.add(player);
  const step = () => {
    if (!element.isConnected) player.stop();
    tell(player.playing ? player.position : null);
    if (player.playing) requestAnimationFrame(step);
    else followed.delete(player);
  };
  step();
}

export function stretch(place, seconds) {
  return [Math.max(0, place.start - AROUND), Math.min(seconds, place.end + AROUND)];
}

// Left, top, width and height of a place, in shares of what is shown.
export function areaIn({ start, end }, scale, rate) {
  const width = end - start;
  return ({ start: from, end: to, low = 0, high = rate / 2 }) => [(from - start) / width, 1 - scale.at(high), (to - from) / width, scale.at(high) - scale.at(low)];
}
