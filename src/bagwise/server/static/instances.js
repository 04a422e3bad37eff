// The instances of a bag as things to point at: their names, what is known of them, and what makes an element their button.

import { span } from "/static/clock.js";

const UPRIGHT = ["top", "", "bottom"];
const ACROSS = ["left", "middle", "right"];
const WORDS = { sound: "sound", picture: "region", text: "passage" };

// What an instance of the bag is called: "sound".
export function wordOf(bag) {
  if (!bag.medium) return bag.shape ? "picture" : "row";
  return WORDS[bag.medium.kind] ?? "instance";
}

// "sound 3, 2.1 to 2.4 s": the first is number 1, but rows are called as the table calls them.
export function nameOf(bag, number) {
  if (!bag.medium) return `${wordOf(bag)} ${bag.shape ? number + 1 : number}`;
  const place = bag.medium.places[number];
  const name = `${wordOf(bag)} ${number + 1}`;
  return place?.start === undefined ? name : `${name}, ${span(place.start, place.end, bag.medium.sound?.seconds ?? 0)}`;
}

// Where in a picture an area lies, in words: "top left". An area is its left, top, width and height in shares of the whole.
export function cornerOf([left, top, width, height]) {
  const third = (share) => Math.min(2, Math.max(0, Math.floor(3 * share)));
  return [UPRIGHT[third(top + height / 2)], ACROSS[third(left + width / 2)]].filter(Boolean).join(" ");
}

// What is known of every instance, in a few words: what it is, and of the classes of the question also what it is not.
export function knownOf(bag, classes) {
  const found = new Map();
  for (const { instance, class_name: name, present } of bag.known ?? []) {
    if (!present && !classes.includes(name)) continue;
    found.set(instance, [...(found.get(instance) ?? []), present ? name : `not ${name}`]);
  }
  return found;
}

// Makes an element the button of an instance, pressed while it is picked. Tab reaches one of them, other keys the others.
export function asButton(element, number, name, content = "") {
  const attributes = { "data-instance": number, "data-name": name, "data-content": content, role: "button", tabindex: -1, "aria-pressed": false, "aria-label": name };
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, String(value));
  return element;
}

// Marked is one instance, or where answers are shown, several.
export const isMarked = (evidence, number) => (Array.isArray(evidence) ? evidence.includes(number) : evidence === number);
export const firstMarked = (evidence) => (Array.isArray(evidence) ? evidence[0] : evidence) ?? -1;
