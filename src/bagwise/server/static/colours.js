// Decibels become colours from night to day, evenly to the eye.

const STOPS = [[6, 8, 28], [46, 20, 84], [112, 31, 104], [180, 54, 91], [232, 104, 70], [250, 177, 98], [252, 247, 200]];
const ROWS = 512;

const words = new Uint32Array(new Uint8ClampedArray(Array.from({ length: 256 }, (_, level) => colour(level / 255)).flat()).buffer);

// `look` has the `range` of decibels from night to day, the `scale` of frequencies, `gain` in decibels, and `contrast`.
export function painted({ decibels, columns, rows, width }, { range: [bottom, top], scale, gain, contrast }) {
  const shade = top > bottom ? (255 * contrast) / (top - bottom) : 0;
  const lift = 255 + shade * (gain - top);
  const pixels = new Uint32Array(columns * ROWS);
  const line = new Float32Array(columns);
  for (let row = 0; row < ROWS; row += 1) {
    const low = scale.frequency(1 - (row + 1) / ROWS) / width;
    const high = scale.frequency(1 - row / ROWS) / width;
    readLine(line, decibels, columns, rows, low, high);
    for (let x = 0; x < columns; x += 1) {
      const level = lift + shade * line[x];
      pixels[row * columns + x] = words[level < 0 ? 0 : level > 255 ? 255 : level | 0];
    }
  }
  return new ImageData(new Uint8ClampedArray(pixels.buffer), columns, ROWS);
}

// Between two bins in between, of several the loudest, so that no thin call is lost.
function readLine(line, decibels, columns, rows, low, high) {
  if (high - low <= 1) {
    const middle = Math.min(rows - 1, (low + high) / 2);
    const bin = Math.floor(middle);
    const [one, next, share] = [bin * columns, Math.min(rows - 1, bin + 1) * columns, middle - bin];
    for (let x = 0; x < columns; x += 1) line[x] = decibels[one + x] + share * (decibels[next + x] - decibels[one + x]);
    return;
  }
  line.fill(-Infinity);
  for (let bin = Math.floor(low); bin < Math.min(rows, high); bin += 1) {
    for (let x = 0; x < columns; x += 1) if (decibels[bin * columns + x] > line[x]) line[x] = decibels[bin * columns + x];
  }
}

function colour(share) {
  const at = share * (STOPS.length - 1);
  const low = Math.min(STOPS.length - 2, Math.floor(at));
  return [...STOPS[low].map((value, i) => value + (at - low) * (STOPS[low + 1][i] - value)), 255];
}
