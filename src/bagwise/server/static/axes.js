// The axes of a spectrogram: kilohertz and times at round numbers.

import { clock } from "/static/clock.js";
import { make } from "/static/parts.js";

const ROUND = [1, 2, 5];
const ROUND_MINUTES = [10, 15, 30, 60, 120];
const LEAST_APART = 0.075; // Of the height, where marks are not evenly apart.
const MOST_MARKS = 8;
const MARK_WIDTH = 75; // Pixels that a time needs.

export function frequencies() {
  const axis = make("div", "frequencies");
  axis.setAttribute("aria-hidden", "true");
  return axis;
}

export function showFrequencies(axis, scale) {
  const marks = (scale.isMel ? unevenly(scale) : evenly(scale.low / 1000, scale.high / 1000, 6)).map((tick) => {
    const share = scale.at(1000 * tick);
    const label = make("span", share < 0.03 ? "tick lowest" : "tick", String(tick));
    label.style.bottom = `${100 * share}%`;
    return label;
  });
  axis.replaceChildren(make("span", "unit", "kHz"), ...marks);
}

export function times() {
  const axis = make("div", "times");
  axis.setAttribute("aria-hidden", "true");
  return axis;
}

// From `start` to `end` of a recording that is `seconds` long.
export function showTimes(axis, { start, end }, seconds) {
  const wanted = Math.max(2, Math.min(MOST_MARKS, Math.floor((axis.clientWidth || 600) / MARK_WIDTH)));
  const marks = evenly(start, end, wanted, seconds < 60 ? [] : ROUND_MINUTES);
  const step = marks.length > 1 ? marks[1] - marks[0] : 1;
  const decimals = Math.max(0, -Math.floor(Math.log10(step * 1.0001)));
  axis.replaceChildren(...marks.map((tick, number) => {
    const share = (tick - start) / (end - start);
    const text = seconds < 60 ? `${tick}${number === 0 ? " s" : ""}` : clock(tick, seconds, decimals);
    const label = make("span", `tick${share < 0.04 ? " first" : share > 0.96 ? " last" : ""}`, text);
    label.style.left = `${100 * share}%`;
    return label;
  }));
}

// About so many marks as are wanted, at round numbers.
function evenly(from, to, wanted, steps = []) {
  const rough = (to - from) / wanted;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = (rough > 5 ? steps.find((one) => one >= rough) : null) ?? [...ROUND, 10].map((one) => one * power).find((one) => one >= rough * 0.9999);
  const first = Math.ceil(from / step - 1e-9);
  return Array.from({ length: Math.floor(to / step + 1e-9) - first + 1 }, (_, i) => Number(((first + i) * step).toPrecision(12)));
}

function unevenly(scale) {
  const round = [0, ...[-1, 0, 1, 2].flatMap((power) => ROUND.map((one) => Number((one * 10 ** power).toPrecision(3))))];
  const marks = [];
  for (const tick of round) {
    const share = scale.at(1000 * tick);
    if (share >= 0 && share <= 1 && (!marks.length || share - scale.at(1000 * marks.at(-1)) > LEAST_APART)) marks.push(tick);
  }
  return marks;
}
