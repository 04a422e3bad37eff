// What all media draw with.

import { asButton, isMarked } from "/static/instances.js";

export function make(tag, className, ...children) {
  const found = document.createElement(tag);
  found.className = className;
  found.append(...children);
  return found;
}

// With the key that does the same, where there is one.
export function button(key, name, action, className = "") {
  const found = make("button", className, make("b", "", name), ...(key ? [make("kbd", "", key)] : []));
  found.type = "button";
  found.addEventListener("click", action);
  return found;
}

// Into the element once it is there; where it cannot be had, a sentence instead.
export function fill(element, loaded, draw) {
  const drawn = (found) => {
    draw(found);
    element.dispatchEvent(new Event("drawn", { bubbles: true }));
  };
  loaded.then(drawn).catch((error) => {
    console.error(error);
    element.replaceChildren("The file of this bag cannot be shown.");
  });
  return element;
}

// A box in percent of its container.
export function box(className, ...where) {
  const found = make("div", className);
  putBox(found, where);
  return found;
}

// Where it reaches over the edge of the container it is cut, at the edge or a little beyond, where it is not seen.
export function putBox(found, [left, top, width, height], beyond = 0) {
  const cut = (share) => Math.min(1 + beyond, Math.max(-beyond, share));
  const [from, to] = [cut(left), cut(left + width)];
  const [upper, lower] = [cut(top), cut(top + height)];
  Object.assign(found.style, { left: percent(from), top: percent(upper), width: percent(to - from), height: percent(lower - upper) });
}

const percent = (share) => `${100 * share}%`;

const MOST_SEEN = 60; // More boxes would hide what they are boxes of.

// The boxes of all instances; the one that made the model ask is marked, and hidden when marks are.
// `name` gives the name of an instance where it can be pointed at: its box is a button then, and has a tag.
export function boxes(places, evidence, area, name = null) {
  const crowded = places.length > MOST_SEEN ? " crowded" : "";
  const there = places.flatMap((place, number) => (place ? [{ number, where: area(place) }] : []));
  const marked = there.map(({ number, where }) => ({ number, where, found: box(isMarked(evidence, number) ? "place evidence" : `place${crowded}`, ...where) }));
  if (!name) return marked.filter(({ number }) => !crowded || isMarked(evidence, number)).map(({ found }) => found);
  // A small one within a large one can be clicked, and of two alike the later one where it begins.
  const size = ({ where: [, , width, height] }) => width * height;
  [...marked].sort((a, b) => size(b) - size(a) || a.number - b.number).forEach(({ found }, rank) => (found.style.zIndex = rank + 1));
  for (const { found, number, where } of marked) asButton(found, number, name(number, where));
  return [...marked.map(({ found }) => found), ...marked.map(({ number, where }) => tag(number, where))];
}

// Where "this one?", "✓" or a known class is written: above an area, or below it at the upper edge.
function tag(number, where) {
  const found = make("span", "tag");
  found.dataset.tag = number;
  found.setAttribute("aria-hidden", "true");
  putTag(found, where);
  return found;
}

export function putTag(found, [left, top, width, height]) {
  const within = (share) => percent(Math.min(1, Math.max(0, share)));
  const [right, bottom] = [left + width, top + height];
  const seen = right > 0 && left < 1 && bottom > 0 && top < 1;
  Object.assign(found.style, { left: "", right: "", top: "", bottom: "", visibility: seen ? "" : "hidden" });
  if ((Math.max(0, left) + Math.min(1, right)) / 2 > 0.75) found.style.right = within(1 - right);
  else found.style.left = within(left);
  if (top > 0.09) found.style.bottom = within(1 - top);
  else if (bottom < 0.9) found.style.top = within(bottom);
  else found.style.top = within(top);
}

// The outlines of all instances, each a list x, y, x, y, ..., over a picture of this size; the mark comes last, on top.
// `name` is as for boxes.
export function outlined(outlines, evidence, width, height, name = null) {
  const drawing = draw("svg", { viewBox: `0 0 ${width} ${height}`, class: "outlines", preserveAspectRatio: "none", "aria-hidden": String(!name) });
  const there = outlines.map((points, number) => ({ points: points.join(" "), number, where: extent(points, width, height) }));
  const size = ({ where: [, , across, down] }) => across * down;
  const regions = there.map((one) => ({ ...one, found: draw("polygon", { points: one.points, class: "region" }) }));
  drawing.append(...[...regions].sort((a, b) => size(b) - size(a)).map(({ found }) => found));
  for (const { points, number } of there) {
    if (isMarked(evidence, number)) drawing.append(draw("polygon", { points, class: "shadow" }), draw("polygon", { points, class: "evidence" }));
  }
  if (!name) return [drawing];
  for (const { found, number, where } of regions) asButton(found, number, name(number, where));
  return [drawing, ...there.map(({ number, where }) => tag(number, where))];
}

// The area around a list of corners.
function extent(corners, width, height) {
  const [across, down] = [0, 1].map((axis) => corners.filter((_, i) => i % 2 === axis));
  const [left, top] = [Math.min(...across) / width, Math.min(...down) / height];
  return [left, top, Math.max(...across) / width - left, Math.max(...down) / height - top];
}

function draw(tag, attributes) {
  const found = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) found.setAttribute(name, value);
  return found;
}
