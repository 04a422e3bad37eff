// Fewer samples of the same sound: what a lower rate cannot carry is filtered out first, else ultrasound would be heard as
// tones that are not there.

const LOBES = 8; // Of the windowed sinc on either side.
const PASSED = 0.9; // Of the new band.

export function decimated(samples, factor) {
  if (factor === 1) return samples;
  const half = LOBES * factor;
  const taps = Float32Array.from({ length: 2 * half + 1 }, (_, i) => tap(i - half, half, factor / PASSED));
  const total = taps.reduce((sum, one) => sum + one, 0);
  const found = new Float32Array(Math.ceil(samples.length / factor));
  for (let i = 0; i < found.length; i += 1) {
    const from = i * factor - half;
    let sum = 0;
    for (let k = Math.max(0, -from); k < Math.min(taps.length, samples.length - from); k += 1) sum += taps[k] * samples[from + k];
    found[i] = sum / total;
  }
  return found;
}

function tap(at, half, period) {
  const sinc = at === 0 ? 1 : Math.sin((Math.PI * at) / period) / ((Math.PI * at) / period);
  return sinc * (0.5 + 0.5 * Math.cos((Math.PI * at) / (half + 1)));
}
