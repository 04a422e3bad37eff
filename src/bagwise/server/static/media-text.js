// Text with its passages, as it is: no mark in it means anything.

import { fill, make } from "/static/parts.js";

const MOST_SHOWN = 100_000;
const EXAMPLE = 220;

export async function load({ url }) {
  const response = await fetch(url);
  if (!response.ok) throw new Error("The text does not exist.");
  return Array.from(await response.text()); // Characters, not the halves of which some of them are made here.
}

export function draw(bag, evidence, loaded) {
  const page = make("div", "text");
  page.tabIndex = 0;
  page.setAttribute("role", "region");
  page.setAttribute("aria-label", `The text of ${bag.id}`);
  return fill(page, loaded, (letters) => {
    const here = bag.medium.places[evidence]?.first ?? 0;
    const from = letters.length > MOST_SHOWN ? Math.max(0, Math.min(here - MOST_SHOWN / 2, letters.length - MOST_SHOWN)) : 0;
    page.replaceChildren(...passages(letters, bag.medium.places, evidence, from, Math.min(letters.length, from + MOST_SHOWN)));
    if (from > 0) page.prepend("… ");
    if (from + MOST_SHOWN < letters.length) page.append(" …");
    const mark = page.querySelector(".evidence");
    if (mark && page.closest(".highlight")) page.scrollTop = mark.offsetTop - page.clientHeight / 3;
  });
}

export function drawSmall(bag, loaded) {
  const found = make("blockquote", "text small");
  return fill(found, loaded, (letters) => {
    const place = bag.medium.places[bag.evidence ?? -1] ?? { first: 0, last: EXAMPLE };
    const whole = letters.slice(place.first, place.last + 1).join("").trim();
    found.replaceChildren(whole.length > EXAMPLE ? `${whole.slice(0, EXAMPLE)}…` : whole);
    found.title = bag.id;
  });
}

// The text cut where passages begin and end; passages may overlap.
function passages(letters, places, evidence, from, to) {
  const there = places.map((place) => place && { first: place.first, end: place.last + 1 });
  const cuts = new Set([from, to]);
  for (const place of there) for (const cut of place ? [place.first, place.end] : []) if (cut > from && cut < to) cuts.add(cut);
  const sorted = [...cuts].sort((a, b) => a - b);
  return sorted.slice(0, -1).map((start, i) => {
    const inside = (place) => place && place.first <= start && start < place.end;
    const kind = inside(there[evidence]) ? "mark" : "span";
    const part = make(kind, kind === "mark" ? "passage evidence" : there.some(inside) ? "passage" : "", letters.slice(start, sorted[i + 1]).join(""));
    return part;
  });
}
