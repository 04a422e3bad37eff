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

// A box in percent of what it lies on.
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
