// Pictures with the outlines or boxes of their instances. A click shows the picture in its own size at that point, another
// all of it; where a click on an instance picks it, a button does the same.

import { cornerOf, nameOf } from "/static/instances.js";
import { boxes, fill, make, outlined } from "/static/parts.js";

const SMALL = 300; // Fewer pixels than this are shown as pixels, not blurred.

export async function load({ url, outlines }) {
  const image = new Image();
  image.src = url;
  const drawn = outlines ? fetch(outlines).then((response) => (response.ok ? response.json() : null)).catch(() => null) : null;
  await image.decode();
  return { image, outlines: await drawn };
}

export function draw(bag, evidence, loaded, pointing) {
  const figure = make("div", "picture");
  return fill(figure, loaded, (found) => {
    const frame = framed(bag, found, evidence, pointing);
    figure.replaceChildren(frame);
    const button = pointing ? zoomButton() : null;
    if (button) figure.append(button);
    const zoom = (at) => {
      const larger = zoomTo(figure, frame, found.image, at);
      button?.setAttribute("aria-pressed", String(larger));
    };
    button?.addEventListener("click", () => zoom(middleOfMark(figure, frame)));
    frame.addEventListener("click", (event) => {
      if (!event.target.closest("[data-instance]")) zoom(pointIn(frame, event.clientX, event.clientY));
    });
  });
}

export function drawSmall(bag, loaded) {
  const figure = make("div", "picture small");
  return fill(figure, loaded, (found) => figure.replaceChildren(framed(bag, found, bag.evidence ?? -1)));
}

function framed(bag, { image: { src, naturalWidth: width, naturalHeight: height }, outlines }, evidence, pointing = false) {
  const shown = make("img", Math.max(width, height) < SMALL ? "pixels" : "");
  Object.assign(shown, { src, decoding: "sync", width, height, alt: `${bag.id}, a picture` });
  const area = (place) => [place.x / width, place.y / height, place.width / width, place.height / height];
  const name = pointing ? (number, where) => `${nameOf(bag, number)}, ${cornerOf(where)}` : null;
  const marks = outlines ? outlined(outlines, evidence, width, height, name) : boxes(bag.medium.places, evidence, area, name);
  const frame = make("div", "frame", shown, ...marks);
  frame.style.setProperty("--ratio", width / height);
  return frame;
}

// In shares of the frame.
function pointIn(frame, x, y) {
  const { left, top, width, height } = frame.getBoundingClientRect();
  return [(x - left) / width, (y - top) / height];
}

function middleOfMark(figure, frame) {
  const mark = figure.querySelector(".picked") ?? (figure.closest(".highlight") && figure.querySelector(".evidence")) ?? frame;
  const { left, top, width, height } = (mark || frame).getBoundingClientRect();
  return pointIn(frame, left + width / 2, top + height / 2);
}

function zoomButton() {
  const button = make("button", "zoom", "Zoom");
  button.type = "button";
  button.setAttribute("aria-pressed", "false");
  return button;
}

// Whether it is larger now.
function zoomTo(figure, frame, image, [across, down]) {
  const before = frame.clientWidth;
  const larger = figure.classList.toggle("zoomed");
  frame.style.width = larger ? `${Math.max(image.naturalWidth, 2 * before)}px` : "";
  figure.scrollLeft = across * frame.clientWidth - figure.clientWidth / 2;
  figure.scrollTop = down * frame.clientHeight - figure.clientHeight / 2;
  return larger;
}
