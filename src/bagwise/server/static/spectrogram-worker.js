// Beside the page, so that a key is never kept waiting by the next recording.

import { spectrogram } from "/static/spectrogram.js";

self.addEventListener("message", ({ data: { number, samples, rate, columns } }) => {
  const found = spectrogram(samples, rate, columns);
  self.postMessage({ number, ...found }, [found.decibels.buffer]);
});
