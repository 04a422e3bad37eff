// A recording of which only the seconds that are needed are fetched, and their spectrogram.

import { samplesOf } from "/static/wav.js";

const BROWSERS_RATE = 48000; // Of what only the browser can decode.
const MOST_KEPT = 24e6; // Samples, 96 MB: what is farthest from what is shown is fetched again when it is needed.

const waiting = new Map();
let worker = null;
let asked = 0;

export class Recording {
  // `sound` has the start and end of the bag, the seconds of the whole recording, and its rate.
  constructor(url, sound) {
    Object.assign(this, { url, sound, rate: sound.rate, length: Math.round(sound.seconds * sound.rate) });
    this.parts = []; // Of each: the number of its first sample, its samples, and the loudest.
    this.coming = [];
  }

  // The few formats that the server does not decode (AAC) are decoded by the browser, all of it.
  static async decoded(url) {
    const response = await fetch(url);
    if (!response.ok) throw new Error("The recording does not exist.");
    const buffer = await new OfflineAudioContext(1, 1, BROWSERS_RATE).decodeAudioData(await response.arrayBuffer());
    const found = new Recording(url, { start: 0, end: buffer.duration, seconds: buffer.duration, rate: buffer.sampleRate });
    found.keep(0, mono(buffer));
    return found;
  }

  get bytes() {
    return this.parts.reduce((sum, part) => sum + 4 * part.samples.length, 0);
  }

  // Resolves when the samples between these seconds are there.
  async fetch(start, end) {
    const [first, last] = this.between(start, end);
    for (const [from, to] of this.missing(first, last, [...this.parts.map(extent), ...this.coming])) {
      const one = { first: from, last: to };
      one.done = this.get(from, to).finally(() => this.coming.splice(this.coming.indexOf(one), 1));
      this.coming.push(one);
    }
    await Promise.all(this.coming.filter((one) => one.first < last && one.last > first).map((one) => one.done));
    this.forget(first, last);
  }

  has(start, end) {
    return !this.missing(...this.between(start, end), this.parts.map(extent)).length;
  }

  // Where some are missing there is silence.
  samples(start, end) {
    const [first, last] = this.between(start, end);
    const found = new Float32Array(Math.max(1, last - first));
    for (const part of this.parts) {
      const [from, to] = [Math.max(first, part.first), Math.min(last, part.first + part.samples.length)];
      if (from < to) found.set(part.samples.subarray(from - part.first, to - part.first), from - first);
    }
    return found;
  }

  // The loudest sample of the bag, as far as it was fetched first.
  get peak() {
    return this.parts[0].peak;
  }

  async analysed(start, end, columns) {
    return analysed(this.samples(start, end), this.rate, columns);
  }

  between(start, end) {
    return [start, end].map((time) => Math.min(this.length, Math.max(0, Math.round(time * this.rate))));
  }

  missing(first, last, there) {
    const gaps = [];
    let from = first;
    for (const one of [...there].sort((a, b) => a.first - b.first)) {
      if (one.last <= from || one.first >= last) continue;
      if (one.first > from) gaps.push([from, one.first]);
      from = one.last;
    }
    if (from < last) gaps.push([from, last]);
    return gaps;
  }

  async get(first, last) {
    const address = new URL(this.url, location.href);
    address.pathname += "/sound";
    address.searchParams.set("start", first / this.rate);
    address.searchParams.set("end", last / this.rate);
    const response = await fetch(address);
    if (!response.ok) throw new Error("The recording does not exist.");
    const { samples } = samplesOf(await response.arrayBuffer(), Number(response.headers.get("Bagwise-Peak")));
    this.keep(first, samples);
  }

  keep(first, samples) {
    this.parts.push({ first, samples, peak: samples.reduce((most, one) => Math.max(most, Math.abs(one)), 0) });
  }

  // The first part is the bag itself and stays.
  forget(first, last) {
    const away = ({ first: from, samples }) => Math.max(from - last, first - from - samples.length);
    while (this.parts.length > 1 && this.bytes > 4 * MOST_KEPT) {
      const farthest = this.parts.slice(1).reduce((a, b) => (away(b) > away(a) ? b : a));
      if (away(farthest) <= 0) return;
      this.parts.splice(this.parts.indexOf(farthest), 1);
    }
  }
}

const extent = ({ first, samples }) => ({ first, last: first + samples.length });

function mono(buffer) {
  const mixed = buffer.getChannelData(0).slice();
  for (let channel = 1; channel < buffer.numberOfChannels; channel += 1) {
    const other = buffer.getChannelData(channel);
    for (let i = 0; i < mixed.length; i += 1) mixed[i] += other[i];
  }
  return mixed.map((one) => one / buffer.numberOfChannels);
}

function analysed(samples, rate, columns) {
  if (!worker) {
    worker = new Worker("/static/spectrogram-worker.js", { type: "module" });
    worker.addEventListener("message", ({ data }) => {
      waiting.get(data.number)(data);
      waiting.delete(data.number);
    });
  }
  asked += 1;
  const number = asked;
  worker.postMessage({ number, samples, rate, columns }, [samples.buffer]);
  return new Promise((resolve) => waiting.set(number, resolve));
}
