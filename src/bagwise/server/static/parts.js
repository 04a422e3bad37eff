// What all media draw with.

export function make(tag, className, ...children) {
  const found = document.createElement(tag);
  found.className = className;
  found.append(...children);
  return found;
}

// Into the element once it is there; where it cannot be had, a sentence instead.
export function fill(element, loaded, draw) {
  loaded.then(draw).catch((error) => {
    console.error(error);
    element.replaceChildren("The file of this bag cannot be shown.");
  });
  return element;
}

// A box in percent of its container.
export function box(className, left, top, width, height) {
  const found = make("div", className);
  const percent = (value) => `${100 * Math.min(1, Math.max(0, value))}%`;
  Object.assign(found.style, {
    left: percent(left), top: percent(top), width: percent(Math.min(width, 1 - left)), height: percent(Math.min(height, 1 - top)),
  });
  return found;
}

// The boxes of all instances; the one that made the model ask is marked, and hidden when marks are.
export function boxes(places, evidence, area) {
  const most = 60; // More would hide what they are boxes of.
  return places.flatMap((place, number) => {
    if (!place || (places.length > most && number !== evidence)) return [];
    return [box(number === evidence ? "place evidence" : "place", ...area(place))];
  });
}

// The outlines of all instances, each a list x, y, x, y, ..., over a picture of this size; the marked one comes last, on top.
export function outlined(outlines, evidence, width, height) {
  const drawing = draw("svg", { viewBox: `0 0 ${width} ${height}`, class: "outlines", preserveAspectRatio: "none", "aria-hidden": "true" });
  const last = (number) => (number === evidence ? 1 : 0);
  const order = outlines.map((_, number) => number).sort((a, b) => last(a) - last(b));
  for (const number of order) {
    const points = outlines[number].join(" ");
    if (number === evidence) drawing.append(draw("polygon", { points, class: "shadow" }));
    drawing.append(draw("polygon", { points, class: number === evidence ? "region evidence" : "region" }));
  }
  return drawing;
}

function draw(tag, attributes) {
  const found = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) found.setAttribute(name, value);
  return found;
}
