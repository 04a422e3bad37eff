// A bag as a person sees it: pictures where instances are pictures, else a table of its features.

const SHOWN_FEATURES = 10;

export function drawBag(bag, evidence) {
  return bag.shape ? pictures(bag, evidence) : table(bag, evidence);
}

export function drawExample(bag) {
  return drawBag(bag, bag.evidence ?? -1);
}

function pictures(bag, evidence) {
  const strip = document.createElement("div");
  strip.className = "strip";
  strip.setAttribute("role", "img");
  strip.setAttribute("aria-label", `${bag.id}, ${bag.instances.length} pictures`);
  const [height, width] = bag.shape;
  for (const [number, values] of bag.instances.entries()) {
    const canvas = document.createElement("canvas");
    canvas.width = width;
    canvas.height = height;
    if (number === evidence) canvas.className = "evidence";
    const context = canvas.getContext("2d");
    const pixels = context.createImageData(width, height);
    const top = Math.max(...values, 1e-9);
    values.forEach((value, i) => {
      const grey = 255 * (1 - Math.max(0, value) / top);
      pixels.data.set([grey, grey, grey, 255], 4 * i);
    });
    context.putImageData(pixels, 0, 0);
    strip.append(canvas);
  }
  return strip;
}

function table(bag, evidence) {
  const found = document.createElement("table");
  found.className = "features";
  found.setAttribute("aria-label", `Features of ${bag.id}`);
  bag.instances.forEach((values, number) => {
    const row = found.insertRow();
    if (number === evidence) row.className = "evidence";
    for (const value of values.slice(0, SHOWN_FEATURES)) row.insertCell().textContent = value.toPrecision(3);
  });
  return found;
}
