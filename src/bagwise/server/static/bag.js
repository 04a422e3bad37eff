// A bag as a person sees it: its picture, sound or text; else instances that are pictures, or a table of its features.

import { asButton, isMarked, nameOf } from "/static/instances.js";
import { drawMedium, drawMediumSmall } from "/static/media.js";
import { make } from "/static/parts.js";

const SHOWN_FEATURES = 24;
const SHOWN_IN_EXAMPLE = 5;

// Where `pointing` is true its instances are buttons.
export function drawBag(bag, evidence, pointing = false) {
  if (bag.medium) return drawMedium(bag, evidence, pointing);
  return bag.shape ? pictures(bag, evidence, pointing) : table(bag, evidence, SHOWN_FEATURES, pointing);
}

// Where and when it was recorded, and the file with its time range; where that is not known, its name.
export const whereabouts = (bag) => bag.source?.words ?? bag.id;

export function drawExample(bag) {
  if (bag.medium) return drawMediumSmall(bag);
  const evidence = bag.evidence ?? -1;
  return bag.shape ? pictures(bag, evidence) : table(bag, evidence, SHOWN_IN_EXAMPLE);
}

function pictures(bag, evidence, pointing = false) {
  const strip = make("div", "strip");
  strip.setAttribute("role", pointing ? "group" : "img");
  strip.setAttribute("aria-label", `${bag.id}, ${bag.instances.length} pictures`);
  const [height, width] = bag.shape;
  for (const [number, values] of bag.instances.entries()) {
    const canvas = make("canvas", isMarked(evidence, number) ? "evidence" : "");
    canvas.width = width;
    canvas.height = height;
    const context = canvas.getContext("2d");
    const pixels = context.createImageData(width, height);
    const top = Math.max(...values, 1e-9);
    values.forEach((value, i) => {
      const grey = 255 * (1 - Math.max(0, value) / top);
      pixels.data.set([grey, grey, grey, 255], 4 * i);
    });
    context.putImageData(pixels, 0, 0);
    strip.append(pointing ? tile(bag, number, canvas) : canvas);
  }
  return strip;
}

function tile(bag, number, canvas) {
  const tag = make("span", "tag");
  tag.dataset.tag = number;
  tag.setAttribute("aria-hidden", "true");
  return asButton(make("div", "tile", canvas, tag), number, nameOf(bag, number));
}

// One row per instance; a cell is the darker the larger its value is within the bag.
function table(bag, evidence, most, pointing = false) {
  const found = make("table", "features");
  const width = bag.instances[0].length;
  const shown = Math.min(most, width);
  const names = Array.from({ length: shown }, (_, i) => bag.features[i] ?? String(i));
  found.createCaption().textContent = width > shown ? `The first ${shown} of ${width} features of ${bag.id}` : `The features of ${bag.id}`;
  found.createTHead().insertRow().append(heading("", "col"), ...names.map((name) => heading(name, "col")));
  const ranges = names.map((_, i) => {
    const values = bag.instances.map((row) => row[i]);
    return [Math.min(...values), Math.max(...values)];
  });
  const body = found.createTBody();
  bag.instances.forEach((values, number) => {
    const row = body.insertRow();
    if (isMarked(evidence, number)) row.className = "evidence";
    if (pointing) row.dataset.of = number;
    row.append(heading(pointing ? asButton(make("span", "pick", String(number)), number, nameOf(bag, number)) : String(number), "row"));
    values.slice(0, shown).forEach((value, i) => {
      const [low, high] = ranges[i];
      const cell = row.insertCell();
      cell.textContent = readable(value);
      cell.style.setProperty("--level", high > low ? (value - low) / (high - low) : 0);
    });
  });
  return found;
}

function heading(content, scope) {
  const found = make("th", "", content);
  found.scope = scope;
  return found;
}

function readable(value) {
  if (Number.isInteger(value) && Math.abs(value) < 1e6) return String(value);
  const size = Math.abs(value);
  return size >= 1e-3 && size < 1e6 ? Number(value.toPrecision(3)).toString() : value.toExponential(1);
}
