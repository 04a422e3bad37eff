// Plays a stretch of a recording, once or again and again, at any speed, and knows where it is. Slower is lower: half the
// speed is an octave down, and a tenth makes bats audible.

import { decimated } from "/static/decimation.js";

export const SPEEDS = [0.1, 0.25, 0.5, 1, 2];
const HIGHEST_RATE = 50_000; // What is played faster is decimated: no more is heard, and less would be heard wrongly.
const LOWEST_RATE = 8000; // Browsers take no buffer of a lower one.
const LOUD = 0.8;
const MOST_GAIN = 100;
const BUTTERWORTH = [-5.33, 2.32]; // Of two filters in a row: their Q in decibels.
const AUDIBLE = 20;

let context = null;
let heard = null; // One at a time.

export class Player {
  constructor(recording, onEnd) {
    Object.assign(this, { recording, onEnd, looping: false, speed: 1, from: recording.sound.start, to: recording.sound.end });
    this.band = null;
    this.source = null;
  }

  get playing() {
    return this.source !== null;
  }

  // Browsers stay silent until a person has pressed something.
  static get allowed() {
    return navigator.userActivation?.hasBeenActive ?? true;
  }

  // In seconds of the recording.
  get position() {
    if (!this.source) return this.from;
    const passed = (context.currentTime - this.startedAt) * this.speed;
    const length = this.to - this.from;
    return this.from + (this.looping ? passed % length : Math.min(passed, length));
  }

  // Of `band`, in Hz, only these frequencies.
  play(from, to, band = null, at = from) {
    if (heard !== this) heard?.end();
    heard = this;
    this.stop();
    context ??= new AudioContext();
    context.resume();
    Object.assign(this, { from, to, band, startedAt: context.currentTime - (at - from) / this.speed });
    const samples = this.recording.samples(from, to);
    const { buffer, rate, perSecond } = slowed(samples, this.recording.rate, this.speed);
    const source = new AudioBufferSourceNode(context, { buffer, playbackRate: rate, loop: this.looping });
    const volume = new GainNode(context, { gain: loudness(this.recording.peak, samples) });
    [source, ...filters(context, band, this.speed), volume, context.destination].reduce((before, next) => before.connect(next));
    source.addEventListener("ended", () => {
      if (this.source === source) this.end();
    });
    source.start(0, (at - from) * perSecond);
    if (!this.looping) source.stop(context.currentTime + (to - at) / this.speed);
    this.source = source;
  }

  loop(on) {
    this.change({ looping: on });
  }

  // While it plays, it goes on from where it is.
  change(wanted) {
    const at = this.position;
    const { playing } = this;
    Object.assign(this, wanted);
    if (playing) this.play(this.from, this.to, this.band, at);
  }

  end() {
    this.stop();
    this.onEnd();
  }

  stop() {
    const source = this.source;
    this.source = null;
    source?.stop();
  }
}

// A buffer, the rate at which to play it, and how many of its seconds are one of the recording.
export function slowed(samples, rate, speed) {
  const factor = Math.max(1, Math.ceil((rate * speed) / HIGHEST_RATE));
  const wanted = (rate * speed) / factor;
  const sampleRate = Math.max(LOWEST_RATE, wanted);
  const kept = decimated(samples, factor);
  const buffer = new AudioBuffer({ length: kept.length, numberOfChannels: 1, sampleRate });
  buffer.copyToChannel(kept, 0);
  return { buffer, rate: wanted / sampleRate, perSecond: rate / factor / sampleRate };
}

// As loud for every part of a bag, except where that would clip.
function loudness(peak, samples) {
  const loudest = samples.reduce((most, one) => Math.max(most, Math.abs(one)), 0);
  return Math.min(MOST_GAIN, LOUD / (peak || 1), 1 / (loudest || 1));
}

export function filters(place, band, speed) {
  const highest = 0.45 * place.sampleRate;
  const [low, high] = [(band?.low ?? 0) * speed, (band?.high ?? Infinity) * speed];
  const pair = (type, frequency) => BUTTERWORTH.map((Q) => new BiquadFilterNode(place, { type, frequency, Q }));
  return [...(low > AUDIBLE ? pair("highpass", Math.min(low, highest)) : []), ...(high < highest ? pair("lowpass", high) : [])];
}
