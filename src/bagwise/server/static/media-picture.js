// Pictures with the outlines or boxes of their instances. A click shows the picture in its own size at that point, another all of it.

import { boxes, fill, make, outlined } from "/static/parts.js";

const SMALL = 300; // Fewer pixels than this are shown as pixels, not blurred.

export async function load({ url, outlines }) {
  const image = new Image();
  image.src = url;
  const drawn = outlines ? fetch(outlines).then((response) => (response.ok ? response.json() : null)).catch(() => null) : null;
  await image.decode();
  return { image, outlines: await drawn };
}

export function draw(bag, evidence, loaded) {
  const figure = make("div", "picture");
  return fill(figure, loaded, (found) => {
    const frame = framed(bag, found, evidence);
    frame.addEventListener("click", (event) => zoom(figure, frame, found.image, event));
    figure.replaceChildren(frame);
  });
}

export function drawSmall(bag, loaded) {
  const figure = make("div", "picture small");
  return fill(figure, loaded, (found) => figure.replaceChildren(framed(bag, found, bag.evidence ?? -1)));
}

function framed(bag, { image: { src, naturalWidth: width, naturalHeight: height }, outlines }, evidence) {
  const shown = make("img", Math.max(width, height) < SMALL ? "pixels" : "");
  Object.assign(shown, { src, decoding: "sync", width, height, alt: `${bag.id}, a picture` });
  const area = (place) => [place.x / width, place.y / height, place.width / width, place.height / height];
  const marks = outlines ? [outlined(outlines, evidence, width, height)] : boxes(bag.medium.places, evidence, area);
  const frame = make("div", "frame", shown, ...marks);
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
