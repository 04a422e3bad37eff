// Samples become decibels: a row for each frequency, the lowest first, a column for each moment.

const WINDOW_SECONDS = 0.023;
const LARGEST_WINDOW = 1024; // Bats call for milliseconds: at their rates a window is shorter.
const MOST_FRAMES = 4; // A column shows the loudest of up to so many moments, so that no short call falls between two.
const RANGE = 80; // Decibels from white down to black, at most.
const QUIET_SHARE = 0.6; // So much of a recording counts as its background,
const LOUD_SHARE = 0.999; // and all but so much is as bright as can be.
const SILENCE = 1e-16;

// With `width`, the Hz between two rows, and `range`, the decibels that are best shown as night and day.
export function spectrogram(samples, rate, columns) {
  const size = windowSize(rate);
  const rows = size / 2;
  const loudest = new Float32Array(columns * rows).fill(SILENCE);
  const transform = powerSpectrum(size);
  const padded = new Float32Array(samples.length + 2 * size); // Silence around it, so that a window may stand anywhere.
  padded.set(samples, size);
  const perColumn = Math.max(1, Math.min(MOST_FRAMES, Math.ceil(samples.length / columns / (size / 2))));
  const frames = columns * perColumn;
  for (let frame = 0; frame < frames; frame += 1) {
    const middle = ((frame + 0.5) / frames) * samples.length;
    const power = transform(padded, Math.round(size / 2 + middle));
    const column = Math.floor(frame / perColumn);
    for (let bin = 0; bin < rows; bin += 1) {
      const at = bin * columns + column;
      if (power[bin] > loudest[at]) loudest[at] = power[bin];
    }
  }
  const decibels = loudest.map((value) => 10 * Math.log10(value));
  return { decibels, columns, rows, width: rate / size, range: rangeOf(decibels) };
}

export function windowSize(rate) {
  return Math.min(LARGEST_WINDOW, Math.max(256, 2 ** Math.round(Math.log2(rate * WINDOW_SECONDS))));
}

function rangeOf(decibels) {
  const some = decibels.filter((_, i) => i % 7 === 0).sort();
  const quantile = (share) => some[Math.floor(share * (some.length - 1))];
  const top = quantile(LOUD_SHARE);
  return [Math.max(top - RANGE, quantile(QUIET_SHARE)), top];
}

// Power of the first half of the spectrum of `size` samples under a Hann window.
export function powerSpectrum(size) {
  const real = new Float64Array(size);
  const imaginary = new Float64Array(size);
  const hann = Float64Array.from(real, (_, i) => 0.5 - 0.5 * Math.cos((2 * Math.PI * i) / size));
  const cosine = Float64Array.from({ length: size / 2 }, (_, i) => Math.cos((2 * Math.PI * i) / size));
  const sine = Float64Array.from({ length: size / 2 }, (_, i) => -Math.sin((2 * Math.PI * i) / size));
  const reversed = bitReversal(size);
  const power = new Float64Array(size / 2);
  return (samples, from) => {
    for (let i = 0; i < size; i += 1) {
      real[reversed[i]] = samples[from + i] * hann[i];
      imaginary[i] = 0;
    }
    butterflies(real, imaginary, cosine, sine);
    const gain = 16 / size ** 2; // A full-scale tone has power 1, whatever the size.
    for (let i = 0; i < size / 2; i += 1) power[i] = (real[i] ** 2 + imaginary[i] ** 2) * gain;
    return power;
  };
}

function bitReversal(size) {
  const reversed = new Uint32Array(size);
  for (let i = 1; i < size; i += 1) reversed[i] = (reversed[i >> 1] >> 1) | (i & 1 ? size >> 1 : 0);
  return reversed;
}

// Cooley and Tukey, in place, on samples in bit-reversed order.
function butterflies(real, imaginary, cosine, sine) {
  const size = real.length;
  for (let half = 1; half < size; half *= 2) {
    const stride = size / (2 * half);
    for (let start = 0; start < size; start += 2 * half) {
      for (let k = 0; k < half; k += 1) {
        const a = start + k;
        const b = a + half;
        const c = cosine[k * stride];
        const s = sine[k * stride];
        const r = real[b] * c - imaginary[b] * s;
        const i = real[b] * s + imaginary[b] * c;
        real[b] = real[a] - r;
        imaginary[b] = imaginary[a] - i;
        real[a] += r;
        imaginary[a] += i;
      }
    }
  }
}
