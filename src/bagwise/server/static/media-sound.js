// Sound: its spectrogram, large to look into and small to compare with. Of a long recording only some seconds are fetched.

import { painted } from "/static/colours.js";
import { firstMarked } from "/static/instances.js";
import { look } from "/static/look.js";
import { box, fill, make } from "/static/parts.js";
import { Player } from "/static/player.js";
import { Recording } from "/static/recording.js";
import { areaIn, COLUMNS, follow, SoundView, stretch } from "/static/sound-view.js";
import { longest } from "/static/time-window.js";

const MOST_WHOLE = 60; // Seconds; of what is longer
const SOME = 30; // so much is shown around what made the model ask.

export async function load(medium, evidence) {
  const recording = medium.sound ? new Recording(medium.url, medium.sound) : await Recording.decoded(medium.url);
  const home = homeOf(recording.sound, medium.places[evidence]);
  await recording.fetch(home.start, home.end);
  const drawing = await recording.analysed(home.start, home.end, COLUMNS);
  return { recording, home, drawing, bytes: recording.bytes + drawing.decibels.byteLength };
}

// Bags are loaded whole where they are short: then it does not matter what is marked.
export function partOf({ url, sound, places }, evidence) {
  if (!sound) return url;
  const { start, end } = homeOf(sound, places[evidence]);
  return `${url}#t=${start},${end}`;
}

function homeOf({ start, end, rate }, place) {
  if (end - start <= longest(MOST_WHOLE, rate)) return { start, end };
  const length = longest(SOME, rate);
  const middle = place ? (place.start + place.end) / 2 : start;
  const from = Math.min(Math.max(start, middle - length / 2), end - length);
  return { start: from, end: from + length };
}

export function draw(bag, evidence, loaded, pointing) {
  const figure = make("div", "sound");
  return fill(figure, loaded, (found) => new SoundView(figure, bag, evidence, found, pointing));
}

export function drawSmall(bag, loaded) {
  const button = make("button", "sound small");
  button.type = "button";
  button.setAttribute("aria-label", `Play ${bag.id}`);
  return fill(button, loaded, ({ recording, home, drawing }) => {
    const seen = look(recording.rate, drawing.range);
    const canvas = make("canvas", "");
    const picture = painted(drawing, seen);
    [canvas.width, canvas.height] = [picture.width, picture.height];
    canvas.getContext("2d").putImageData(picture, 0, 0);
    const place = bag.medium.places[firstMarked(bag.evidence)];
    const marks = place ? [box("place evidence", ...areaIn(home, seen.scale, recording.rate)(place))] : [];
    const head = make("div", "head");
    head.hidden = true;
    const player = new Player(recording, () => button.classList.remove("playing"));
    button.replaceChildren(canvas, ...marks, head);
    button.addEventListener("click", () => {
      const [from, to] = place ? stretch(place, recording.sound.seconds) : [home.start, home.end];
      if (player.playing) player.stop();
      else player.play(from, to);
      button.classList.toggle("playing", player.playing);
      follow(button, player, (time) => {
        head.hidden = time === null;
        head.style.left = `${(100 * (time - home.start)) / (home.end - home.start)}%`;
      });
    });
  });
}
