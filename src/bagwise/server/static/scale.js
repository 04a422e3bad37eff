// Frequencies up a spectrogram: from `low` to `high` in Hz, evenly, or in mel, as ears hear them.

const mel = (frequency) => 2595 * Math.log10(1 + frequency / 700);
const unmel = (value) => 700 * (10 ** (value / 2595) - 1);
const same = (value) => value;

export class Scale {
  constructor(low, high, isMel) {
    Object.assign(this, { low, high, isMel, there: isMel ? mel : same, back: isMel ? unmel : same });
    this.from = this.there(low);
    this.over = this.there(high) - this.from;
  }

  // The share of the height, from the bottom.
  at(frequency) {
    return (this.there(frequency) - this.from) / this.over;
  }

  frequency(share) {
    return this.back(this.from + share * this.over);
  }
}
