// The axes of a spectrogram: kilohertz and seconds at round numbers.

import { make } from "/static/parts.js";

// About so many marks as fit, at round numbers.
function ticks(top, wanted) {
  const rough = top / wanted;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((one) => one * power).find((one) => one >= rough);
  return Array.from({ length: Math.floor(top / step + 1e-9) + 1 }, (_, i) => Number((i * step).toPrecision(6)));
}

export function frequencies(buffer) {
  const top = buffer.sampleRate / 2000;
  const axis = make("div", "frequencies", make("span", "unit", "kHz"));
  for (const tick of ticks(top, 6)) {
    const label = make("span", "tick", String(tick));
    label.style.bottom = `${(100 * tick) / top}%`;
    axis.append(label);
  }
  axis.setAttribute("aria-hidden", "true");
  return axis;
}

export function times(buffer) {
  const axis = make("div", "times");
  for (const tick of ticks(buffer.duration, 8)) {
    const label = make("span", "tick", tick ? String(tick) : "0 s");
    label.style.left = `${(100 * tick) / buffer.duration}%`;
    axis.append(label);
  }
  axis.setAttribute("aria-hidden", "true");
  return axis;
}
