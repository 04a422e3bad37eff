// Levels from 0 to 255 become colours from night to day, evenly to the eye.

const STOPS = [[6, 8, 28], [46, 20, 84], [112, 31, 104], [180, 54, 91], [232, 104, 70], [250, 177, 98], [252, 247, 200]];

export function painted(levels) {
  const colours = new Uint8ClampedArray(256 * 4);
  for (let level = 0; level < 256; level += 1) colours.set(colour(level / 255), 4 * level);
  const words = new Uint32Array(colours.buffer);
  return new Uint8ClampedArray(Uint32Array.from(levels, (level) => words[level]).buffer);
}

function colour(share) {
  const at = share * (STOPS.length - 1);
  const low = Math.min(STOPS.length - 2, Math.floor(at));
  return [...STOPS[low].map((value, i) => value + (at - low) * (STOPS[low + 1][i] - value)), 255];
}
