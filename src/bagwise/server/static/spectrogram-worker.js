// Beside the page, so that a key is never kept waiting by the next recording.

import { painted } from "/static/colours.js";
import { spectrogram } from "/static/spectrogram.js";

self.addEventListener("message", ({ data: { number, samples, rate, columns } }) => {
  const { levels, rows } = spectrogram(samples, rate, columns);
  const pixels = painted(levels);
  self.postMessage({ number, pixels, columns, rows }, [pixels.buffer]);
});
