// Text with its passages, as it is: no mark in it means anything; and a field to find words in it.

import { Finder } from "/static/finder.js";
import { asButton, firstMarked, nameOf } from "/static/instances.js";
import { fill, make } from "/static/parts.js";

const MOST_SHOWN = 100_000;
const EXAMPLE = 220;
const MOST_SPOKEN = 1000;

export async function load({ url }) {
  const response = await fetch(url);
  if (!response.ok) throw new Error("The text does not exist.");
  return Array.from(await response.text()); // Characters, not the halves of which some of them are made here.
}

export function draw(bag, evidence, loaded, pointing) {
  const page = make("div", "text");
  page.tabIndex = 0;
  page.setAttribute("role", "region");
  page.setAttribute("aria-label", `The text of ${bag.id}`);
  const finder = new Finder(page);
  const reading = make("div", "reading", finder.element, page);
  reading.press = (key) => {
    if (key === "/") finder.focus();
    return key === "/";
  };
  fill(page, loaded, (letters) => {
    const here = bag.medium.places[evidence]?.first ?? 0;
    const from = letters.length > MOST_SHOWN ? Math.max(0, Math.min(here - MOST_SHOWN / 2, letters.length - MOST_SHOWN)) : 0;
    page.replaceChildren(...passages(letters, bag, evidence, pointing, from, Math.min(letters.length, from + MOST_SHOWN)));
    if (from > 0) page.prepend("… ");
    if (from + MOST_SHOWN < letters.length) page.append(" …");
    const mark = page.querySelector(".evidence");
    if (mark && page.closest(".highlight")) page.scrollTop = mark.offsetTop - page.clientHeight / 3;
  });
  return reading;
}

export function drawSmall(bag, loaded) {
  const found = make("blockquote", "text small");
  return fill(found, loaded, (letters) => {
    const place = bag.medium.places[firstMarked(bag.evidence)] ?? { first: 0, last: EXAMPLE };
    const whole = letters.slice(place.first, place.last + 1).join("").trim();
    found.replaceChildren(whole.length > EXAMPLE ? `${whole.slice(0, EXAMPLE)}…` : whole);
    found.title = bag.id;
  });
}

// The text cut where passages begin and end; passages may overlap.
function passages(letters, bag, evidence, pointing, from, to) {
  const there = bag.medium.places.map((place) => place && { first: place.first, end: place.last + 1 });
  const cuts = new Set([from, to]);
  for (const place of there) for (const cut of place ? [place.first, place.end] : []) if (cut > from && cut < to) cuts.add(cut);
  const sorted = [...cuts].sort((a, b) => a - b);
  const buttons = new Set();
  return sorted.slice(0, -1).map((start, i) => {
    const around = there.flatMap((place, number) => (place && place.first <= start && start < place.end ? [number] : []));
    const kind = around.includes(evidence) ? "mark" : "span";
    const part = make(kind, kind === "mark" ? "passage evidence" : around.length ? "passage" : "", letters.slice(start, sorted[i + 1]).join(""));
    if (!pointing || !around.length) return part;
    part.dataset.within = around.join(" ");
    // A click means the shortest passage around it, and of two alike the later one: all can be reached.
    const length = (number) => there[number].end - there[number].first;
    const meant = around.reduce((best, one) => (length(one) <= length(best) ? one : best));
    part.dataset.of = meant;
    if (buttons.has(meant)) return part;
    buttons.add(meant);
    const content = letters.slice(there[meant].first, Math.min(there[meant].end, there[meant].first + MOST_SPOKEN)).join("").trim();
    return asButton(part, meant, nameOf(bag, meant), content);
  });
}
