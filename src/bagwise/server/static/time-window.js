// Which seconds of a recording are shown: zoomed and moved, never out of it.

import { windowSize } from "/static/spectrogram.js";

const SENT_AT_ONCE = 120; // Seconds, as the server does,
const MOST_SAMPLES = 16e6; // or so many samples.
const MOST_SHOWN = 90;

// So many seconds, or fewer where the rate is so high that they would be too much to send and draw.
export function longest(seconds, rate) {
  return seconds * Math.min(1, MOST_SAMPLES / rate / SENT_AT_ONCE);
}

export class TimeWindow {
  constructor({ seconds, rate }, home) {
    Object.assign(this, { seconds, home, start: home.start, end: home.end });
    this.least = Math.min(home.end - home.start, (2 * windowSize(rate)) / rate);
    this.most = Math.min(seconds, Math.max(home.end - home.start, longest(MOST_SHOWN, rate)));
    this.drawnAtMost = longest(SENT_AT_ONCE, rate);
  }

  get width() {
    return this.end - this.start;
  }

  get isHome() {
    return this.start === this.home.start && this.end === this.home.end;
  }

  // All these say whether it changed.
  show(start, end) {
    const width = Math.min(this.most, Math.max(this.least, end - start));
    const from = Math.min(this.seconds - width, Math.max(0, (start + end - width) / 2));
    if (Math.abs(from - this.start) < 1e-9 && Math.abs(width - this.width) < 1e-9) return false;
    [this.start, this.end] = [from, from + width];
    return true;
  }

  goHome() {
    const { isHome } = this;
    [this.start, this.end] = [this.home.start, this.home.end];
    return !isHome;
  }

  pan(by) {
    return this.show(this.start + by, this.end + by);
  }

  // The time `at` stays where it is.
  zoom(factor, at = (this.start + this.end) / 2) {
    const width = Math.min(this.most, Math.max(this.least, this.width / factor));
    const start = at - ((at - this.start) / this.width) * width;
    return this.show(start, start + width);
  }

  contains(time) {
    return time >= this.start && time < this.end;
  }

  share(time) {
    return (time - this.start) / this.width;
  }

  // What is drawn at once: more than is shown, so that there is something to move to.
  get around() {
    const more = Math.min(this.width / 2, Math.max(0, this.drawnAtMost - this.width) / 2);
    return { start: Math.max(0, this.start - more), end: Math.min(this.seconds, this.end + more) };
  }
}
