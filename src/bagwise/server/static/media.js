// Pictures, sounds and texts: fetched ahead, kept a while, drawn large for a question and small for an example.
// A medium is a module with `load(medium, evidence)`, `draw(bag, evidence, loaded, pointing)` and `drawSmall(bag, loaded)`.
// What `draw` gives is an element; it may have `press(key)`, which says whether the key was meant for it, and
// `hear(number)`, which plays an instance. Where `pointing` is true its instances are buttons. Where not all of a file is
// loaded, `partOf(medium, evidence)` names the part.

import { firstMarked } from "/static/instances.js";
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
    if (one.bag.medium) load(one.bag.medium, one.evidence);
    for (const bag of one.examples) if (bag.medium) load(bag.medium, firstMarked(bag.evidence));
  }
}

export function drawMedium(bag, evidence, pointing) {
  large = MEDIA[bag.medium.kind].draw(bag, evidence, load(bag.medium, evidence), pointing);
  return large;
}

export function drawMediumSmall(bag) {
  return MEDIA[bag.medium.kind].drawSmall(bag, load(bag.medium, firstMarked(bag.evidence)));
}

export function pressMedium(key) {
  return Boolean(large?.isConnected && large.press?.(key));
}

export function hearMedium(number) {
  if (large?.isConnected) large.hear?.(number);
}

function load(medium, evidence) {
  const { load: fetched, partOf } = MEDIA[medium.kind];
  const name = partOf?.(medium, evidence) ?? medium.url;
  const known = kept.get(name);
  kept.delete(name);
  const one = known ?? { loaded: fetched(medium, evidence), bytes: 0 };
  kept.set(name, one);
  if (!known) {
    one.loaded.then((found) => {
      one.bytes = found.bytes ?? medium.bytes;
      forget();
    }).catch(() => kept.delete(name));
  }
  return one.loaded;
}

// What was not needed for longest goes first.
function forget() {
  let bytes = [...kept.values()].reduce((sum, one) => sum + one.bytes, 0);
  for (const [name, one] of kept) {
    if (kept.size <= ALWAYS_KEPT || (kept.size <= MOST_KEPT && bytes <= MOST_BYTES_KEPT)) return;
    kept.delete(name);
    bytes -= one.bytes;
  }
}
