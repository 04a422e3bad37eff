// Pictures, sounds and texts: fetched ahead, kept a while, drawn large for a question and small for an example.
// A medium is a module with `load(medium)`, `draw(bag, evidence, loaded, pointing)` and `drawSmall(bag, loaded)`. What
// `draw` gives is an element; it may have `press(key)`, which says whether the key was meant for it, and `hear(number)`,
// which plays an instance. Where `pointing` is true its instances are buttons.

import * as picture from "/static/media-picture.js";
import * as sound from "/static/media-sound.js";
import * as text from "/static/media-text.js";

const MEDIA = { picture, sound, text };
const MOST_KEPT = 24;
const MOST_BYTES_KEPT = 400e6;
const ALWAYS_KEPT = 4; // The question and the three that are fetched ahead.

const kept = new Map();
let large = null;

export function prepare(questions) {
  for (const one of questions) {
    for (const bag of [one.bag, ...one.examples]) if (bag.medium) load(bag.medium);
  }
}

export function drawMedium(bag, evidence, pointing) {
  large = MEDIA[bag.medium.kind].draw(bag, evidence, load(bag.medium), pointing);
  return large;
}

export function drawMediumSmall(bag) {
  return MEDIA[bag.medium.kind].drawSmall(bag, load(bag.medium));
}

export function pressMedium(key) {
  return Boolean(large?.isConnected && large.press?.(key));
}

export function hearMedium(number) {
  if (large?.isConnected) large.hear?.(number);
}

function load(medium) {
  const known = kept.get(medium.url);
  kept.delete(medium.url);
  const one = known ?? { loaded: MEDIA[medium.kind].load(medium), bytes: medium.bytes };
  kept.set(medium.url, one);
  if (!known) {
    one.loaded.then((found) => {
      one.bytes = found.bytes ?? one.bytes;
      forget();
    }).catch(() => kept.delete(medium.url));
  }
  return one.loaded;
}

// What was not needed for longest goes first.
function forget() {
  let bytes = [...kept.values()].reduce((sum, one) => sum + one.bytes, 0);
  for (const [url, one] of kept) {
    if (kept.size <= ALWAYS_KEPT || (kept.size <= MOST_KEPT && bytes <= MOST_BYTES_KEPT)) return;
    kept.delete(url);
    bytes -= one.bytes;
  }
}
