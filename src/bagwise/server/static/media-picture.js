// Pictures with the boxes of their instances. A click shows the picture in its own size at that point, another all of it.

import { boxes, fill, make } from "/static/parts.js";

const SMALL = 300; // Fewer pixels than this are shown as pixels, not blurred.

export async function load({ url }) {
  const image = new Image();
  image.src = url;
  await image.decode();
  return image;
}

export function draw(bag, evidence, loaded) {
  const figure = make("div", "picture");
  return fill(figure, loaded, (image) => {
    const frame = framed(bag, image, evidence);
    frame.addEventListener("click", (event) => zoom(figure, frame, image, event));
    figure.replaceChildren(frame);
  });
}

export function drawSmall(bag, loaded) {
  const figure = make("div", "picture small");
  return fill(figure, loaded, (image) => figure.replaceChildren(framed(bag, image, bag.evidence ?? -1)));
}

function framed(bag, { src, naturalWidth: width, naturalHeight: height }, evidence) {
  const shown = make("img", Math.max(width, height) < SMALL ? "pixels" : "");
  Object.assign(shown, { src, decoding: "sync", width, height, alt: `${bag.id}, a picture` });
  const area = (place) => [place.x / width, place.y / height, place.width / width, place.height / height];
  const frame = make("div", "frame", shown, ...boxes(bag.medium.places, evidence, area));
  frame.style.setProperty("--ratio", width / height);
  return frame;
}

function zoom(figure, frame, image, event) {
  const before = frame.getBoundingClientRect();
  const [across, down] = [(event.clientX - before.left) / before.width, (event.clientY - before.top) / before.height];
  const larger = figure.classList.toggle("zoomed");
  frame.style.width = larger ? `${Math.max(image.naturalWidth, 2 * before.width)}px` : "";
  figure.scrollLeft = across * frame.clientWidth - figure.clientWidth / 2;
  figure.scrollTop = down * frame.clientHeight - figure.clientHeight / 2;
}
