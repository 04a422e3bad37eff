// Sound: its spectrogram with the spans of its instances, a play head, and keys to hear it again.

import { frequencies, times } from "/static/axes.js";
import { firstMarked, nameOf } from "/static/instances.js";
import { Player } from "/static/player.js";
import { recording } from "/static/recording.js";
import { boxes, fill, make } from "/static/parts.js";

const AUTOPLAY = "bagwise-autoplay";
const LOOP = "bagwise-loop";
const AROUND = 0.15; // Seconds of what is around it are heard with an instance.
// Decoded, a stereo minute takes 23 MB: what is longer than about a quarter of an hour is streamed and not drawn.
const MOST_BYTES = { "audio/wav": 160e6, "audio/flac": 80e6 };
const MOST_BYTES_COMPRESSED = 12e6;

const followed = new WeakSet();

export async function load({ url, type, bytes }) {
  return bytes > (MOST_BYTES[type] ?? MOST_BYTES_COMPRESSED) ? { url } : recording(url);
}

export function draw(bag, evidence, loaded, pointing) {
  const figure = make("div", "sound");
  return fill(figure, loaded, (found) => {
    if (found.buffer) new View(figure, bag, evidence, found, pointing);
    else stream(figure, found.url, bag.medium.places[evidence]);
  });
}

export function drawSmall(bag, loaded) {
  const button = make("button", "sound small");
  button.type = "button";
  button.setAttribute("aria-label", `Play ${bag.id}`);
  return fill(button, loaded, ({ buffer, picture }) => {
    if (!buffer) return button.replaceChildren("▶");
    const place = bag.medium.places[firstMarked(bag.evidence)];
    const head = make("div", "head");
    head.hidden = true;
    const player = new Player(buffer, () => button.classList.remove("playing"));
    button.replaceChildren(canvas(picture), ...spans(place ? [place] : [], 0, buffer), head);
    button.addEventListener("click", () => {
      if (player.playing) player.stop();
      else player.play(...stretch(place, buffer.duration));
      button.classList.toggle("playing", player.playing);
      follow(button, player, head);
    });
  });
}

class View {
  constructor(figure, bag, evidence, { buffer, picture }, pointing) {
    this.figure = figure;
    this.buffer = buffer;
    this.places = bag.medium.places;
    this.place = this.places[evidence] ?? null;
    this.mark = 0;
    this.player = new Player(buffer, () => this.refresh());
    this.player.looping = remembered(LOOP, false);
    this.head = make("div", "head");
    this.head.hidden = true;
    this.begin = make("div", "begin");
    const name = pointing ? (number) => nameOf(bag, number) : null;
    this.plot = make("div", "plot", canvas(picture), ...spans(this.places, evidence, buffer, name), this.begin, this.head);
    this.plot.setAttribute("role", pointing ? "group" : "img");
    this.plot.setAttribute("aria-label", `Spectrogram of ${bag.id}: ${buffer.duration.toFixed(1)} s, up to ${kilohertz(buffer)} kHz`);
    const axis = times(buffer);
    for (const place of [this.plot, axis]) place.addEventListener("pointerdown", (event) => this.seek(event));
    this.time = make("span", "time");
    figure.replaceChildren(frequencies(buffer), this.plot, axis, this.controls());
    figure.press = (key) => this.press(key);
    figure.hear = (number) => this.hear(this.places[number]);
    this.refresh();
    if (remembered(AUTOPLAY, true) && Player.allowed) this.replay();
  }

  controls() {
    const button = (key, name, action, className = "") => {
      const found = make("button", className, make("b", "", name), make("kbd", "", key));
      found.type = "button";
      found.addEventListener("click", action);
      return found;
    };
    this.playing = button("Space", "Play", () => (this.player.playing ? this.stop() : this.replay()), "play");
    this.looping = button("L", "Loop", () => this.press("l"));
    this.autoplay = button("A", "Autoplay", () => this.press("a"));
    const found = make("div", "controls", this.playing, this.looping, this.autoplay);
    if (this.place) found.append(button("M", "The marked part", () => this.press("m"), "for-evidence"));
    found.append(this.time);
    return found;
  }

  press(key) {
    if (key === " " || key === "r") this.replay();
    else if (key === "l") this.player.loop(toggled(LOOP, false));
    else if (key === "a") toggled(AUTOPLAY, true);
    else if (key === "m") return this.hear(this.places[this.plot.querySelector("[data-instance]:focus")?.dataset.instance] ?? this.marked);
    else return false;
    this.refresh();
    return true;
  }

  get marked() {
    return this.figure.closest(".highlight") && this.place;
  }

  // One instance; whether there is one.
  hear(place) {
    if (!place) return false;
    this.play(...stretch(place, this.buffer.duration));
    return true;
  }

  seek(event) {
    if (event.target.closest("[data-instance]")) return; // It is picked, and heard.
    const { left, width } = this.plot.getBoundingClientRect();
    const share = (event.clientX - left) / width;
    this.mark = share < 0.01 ? 0 : Math.min(share, 0.995) * this.buffer.duration;
    this.replay();
  }

  replay() {
    this.play(this.mark, this.buffer.duration);
  }

  play(from, to) {
    this.player.play(from, to);
    this.refresh();
    follow(this.figure, this.player, this.head, () => this.tell());
  }

  stop() {
    this.player.stop();
    this.refresh();
  }

  refresh() {
    this.playing.firstChild.textContent = this.player.playing ? "Stop" : "Play";
    this.looping.setAttribute("aria-pressed", this.player.looping);
    this.autoplay.setAttribute("aria-pressed", remembered(AUTOPLAY, true));
    this.begin.hidden = this.mark === 0;
    this.begin.style.left = `${(100 * this.mark) / this.buffer.duration}%`;
    this.tell();
  }

  tell() {
    this.time.textContent = `${this.player.position.toFixed(1)} / ${this.buffer.duration.toFixed(1)} s`;
  }
}

function remembered(name, usual) {
  return (localStorage.getItem(name) ?? String(usual)) === "true";
}

function toggled(name, usual) {
  localStorage.setItem(name, !remembered(name, usual));
  return remembered(name, usual);
}

// The head goes along while the player plays; what is no longer shown is no longer heard.
function follow(element, player, head, tell = () => {}) {
  if (followed.has(player)) return;
  followed.add(player);
  const step = () => {
    if (!element.isConnected) player.stop();
    head.hidden = !player.playing;
    head.style.left = `${(100 * player.position) / player.buffer.duration}%`;
    tell();
    if (player.playing) requestAnimationFrame(step);
    else followed.delete(player);
  };
  step();
}

function stretch(place, duration) {
  return place ? [Math.max(0, place.start - AROUND), Math.min(duration, place.end + AROUND)] : [0, duration];
}

function spans(places, evidence, buffer, name = null) {
  const top = buffer.sampleRate / 2;
  const area = ({ start, end, low = 0, high = top }) => [start / buffer.duration, 1 - high / top, (end - start) / buffer.duration, (high - low) / top];
  return boxes(places, evidence, area, name);
}

function canvas(picture) {
  const found = make("canvas", "");
  found.width = picture.width;
  found.height = picture.height;
  found.getContext("2d").putImageData(picture, 0, 0);
  return found;
}

function kilohertz(buffer) {
  return Math.round(buffer.sampleRate / 200) / 10;
}

// Too long to be drawn: the browser plays it from where the instance is.
function stream(figure, url, place) {
  const audio = make("audio", "");
  audio.controls = true;
  audio.src = place ? `${url}#t=${place.start},${place.end}` : url;
  figure.replaceChildren(make("div", "streamed", audio, make("p", "", "This recording is too long for a spectrogram.")));
  figure.press = (key) => {
    if (key !== " " && key !== "r") return false;
    audio.currentTime = place?.start ?? 0;
    audio.play();
    return true;
  };
}
