// Plays a stretch of a recording, once or again and again, and knows where it is.

let context = null;
let heard = null; // One at a time.

export class Player {
  constructor(buffer, onEnd) {
    this.buffer = buffer;
    this.onEnd = onEnd;
    this.looping = false;
    this.from = 0;
    this.to = buffer.duration;
    this.source = null;
  }

  get playing() {
    return this.source !== null;
  }

  // Browsers stay silent until a person has pressed something.
  static get allowed() {
    return navigator.userActivation?.hasBeenActive ?? true;
  }

  get position() {
    if (!this.source) return this.from;
    const passed = context.currentTime - this.startedAt;
    const length = this.to - this.from;
    return this.from + (this.looping ? passed % length : Math.min(passed, length));
  }

  play(from, to, at = from) {
    if (heard !== this) heard?.end();
    heard = this;
    this.stop();
    context ??= new AudioContext();
    context.resume();
    Object.assign(this, { from, to, startedAt: context.currentTime - (at - from) });
    const source = new AudioBufferSourceNode(context, { buffer: this.buffer, loop: this.looping, loopStart: from, loopEnd: to });
    source.connect(context.destination);
    source.addEventListener("ended", () => {
      if (this.source === source) this.end();
    });
    source.start(0, at);
    if (!this.looping) source.stop(context.currentTime + to - at);
    this.source = source;
  }

  loop(on) {
    const at = this.position;
    this.looping = on;
    if (this.playing) this.play(this.from, this.to, at);
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
