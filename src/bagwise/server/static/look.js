// How a person likes spectrograms to look: frequencies, brightness, contrast; remembered for the next ones.

import { Scale } from "/static/scale.js";
import { remembered } from "/static/settings.js";

export const LEAST_BAND = 0.05; // Of all frequencies: fewer are not shown.

export function look(rate, range) {
  const { low, high } = bandShown(rate);
  return { range, scale: new Scale(low, high, remembered("mel", false)), gain: remembered("gain", 0), contrast: remembered("contrast", 1) };
}

// In Hz; a limit of other recordings may be out of reach in this one.
export function bandShown(rate) {
  const top = rate / 2;
  const low = Math.min(remembered("low", 0), top * (1 - LEAST_BAND));
  return { low, high: Math.min(top, Math.max(remembered("high", null) ?? top, low + top * LEAST_BAND)) };
}

export const isWholeBand = (rate) => bandShown(rate).low === 0 && bandShown(rate).high === rate / 2;
