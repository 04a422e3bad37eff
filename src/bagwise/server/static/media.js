// Pictures, sounds and texts: fetched ahead, kept a while, drawn large for a question and small for an example.
// A medium is a module with `load(medium)`, `draw(bag, evidence, loaded)` and `drawSmall(bag, loaded)`. What `draw`
// gives is an element; it may have `press(key)`, which says whether the key was meant for it.

import * as picture from "/static/media-picture.js";
import * as sound from "/static/media-sound.js";
import * as text from "/static/media-text.js";

const MEDIA = { picture, sound, text };
const KEPT = 24;

const kept = new Map();
let large = null;

export function prepare(questions) {
  for (const one of questions) {
    for (const bag of [one.bag, ...one.examples]) if (bag.medium) load(bag.medium);
  }
}

export function drawMedium(bag, evidence) {
  large = MEDIA[bag.medium.kind].draw(bag, evidence, load(bag.medium));
  return large;
}

export function drawMediumSmall(bag) {
  return MEDIA[bag.medium.kind].drawSmall(bag, load(bag.medium));
}

export function pressMedium(key) {
  return Boolean(large?.isConnected && large.press?.(key));
}

function load(medium) {
  const found = kept.get(medium.url) ?? MEDIA[medium.kind].load(medium);
  kept.delete(medium.url);
  kept.set(medium.url, found);
  found.catch(() => kept.delete(medium.url));
  if (kept.size > KEPT) kept.delete(kept.keys().next().value);
  return found;
}
