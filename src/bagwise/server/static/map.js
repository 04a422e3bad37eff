// The map of the pool: what is alike lies together. A region of it is looked at, labelled, or asked about.

import { find, get, make } from "/static/dom.js";
import { limitTo } from "/static/limit.js";
import { MapCanvas } from "/static/map-canvas.js";
import { showSource } from "/static/predictions.js";
import { recorded, setRecorded } from "/static/recorded.js";

const AGAIN = 1500;
const DIGITS = 6;
const FACTOR = 1.4;
const LAYOUTS = { neighbours: "what is alike together", directions: "main directions" };
const LEVELS = 12; // So many shades, so that points of one shade are drawn together.
const SITES = ["#4477aa", "#cc6677", "#228833", "#aa4499", "#ccaa33", "#44aaaa", "#dd7733", "#8877cc"];
const MOVES = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
const KEYS = {
  "+": () => view.zoomAt(FACTOR),
  "=": () => view.zoomAt(FACTOR),
  "-": () => view.zoomAt(1 / FACTOR),
  0: () => view.whole(),
  Enter: () => choose(view.shown),
  Escape: () => choose(null),
};

let view = null;
let map = null;
let passing = null; // Which points the filters leave; null: not known yet.
let chosen = null; // The region, its bags, and its text for the API.
let asked = 0;
let later = null;

export function startMap() {
  view = new MapCanvas(find("map-canvas"), choose);
  for (const id of ["map-class", "map-colour"]) find(id).addEventListener("change", showColours);
  find("map-recorded").addEventListener("change", () => choose(null) && showColours());
  find("map-layout").addEventListener("change", ({ target }) => showMap(target.value));
  for (const button of document.querySelectorAll("#map-tools button")) button.addEventListener("click", () => pressMap(button.dataset.key) || move(button));
  find("map-look").addEventListener("click", () => cards(true));
  find("map-label").addEventListener("click", () => cards(false));
  find("map-ask").addEventListener("click", ask);
  find("map-clear").addEventListener("click", () => choose(null));
}

// While it is being computed it is looked for again and again; colours are asked for again where a person comes back.
export async function showMap(layout = map?.layout ?? "", again = false) {
  clearTimeout(later);
  asked += 1;
  const mine = asked;
  let found;
  try {
    found = await get("/api/map", { layout });
  } catch (error) {
    find("map-message").textContent = error.message;
    return;
  }
  if (mine !== asked) return;
  const fresh = map?.layout !== found.layout || map?.x.length !== found.x.length;
  map = found;
  find("map-message").textContent = words();
  fillLayouts();
  if (fresh && map.layout) {
    passing = null;
    view.setPoints(map.x, map.y);
    choose(null);
  }
  if (fresh || !again) showColours();
  // The better layout is shown as soon as it is there, unless a person has chosen something.
  if (map.pending && document.body.dataset.view === "map") later = setTimeout(() => showMap(chosen ? map.layout : "", true), AGAIN);
}

function words() {
  const { x, of, layout, pending } = map;
  if (!layout) return pending ? "The map is being computed; labelling goes on meanwhile." : "The map could not be computed: see the messages of the server.";
  const number = x.length.toLocaleString();
  const all = x.length < of ? `${number} of ${of.toLocaleString()} instances, an even sample.` : `All ${number} instances.`;
  const left = passing?.filter(Boolean).length ?? x.length;
  const points = left < x.length ? `${all} ${left.toLocaleString()} of them pass the filters.` : all;
  return pending ? `${points} A better layout is being computed.` : points;
}

function fillLayouts() {
  const options = map.layouts.map((name) => make("option", { value: name }, LAYOUTS[name]));
  find("map-layout").replaceChildren(...options.reverse());
  find("map-layout").value = map.layout ?? "";
}

async function showColours() {
  const name = find("map-class").value;
  if (!map?.layout || !name) return;
  const mine = asked;
  let found;
  try {
    found = await get("/api/map/colours", { layout: map.layout, class_name: name, ...recorded("map") });
  } catch (error) {
    find("map-message").textContent = error.message;
    return;
  }
  if (mine !== asked || found.chance.length !== map.x.length) return;
  passing = found.passing;
  find("map-message").textContent = words();
  find("map-colour").querySelector("[value=site]").hidden = !found.sites.length;
  const paint = { class: paintClass, certainty: paintCertainty, site: paintSite }[find("map-colour").value];
  const { colours, key, last } = paint(found, name);
  view.setColours(colours.map((colour, i) => (passing[i] ? colour : null)), last);
  find("map-key").replaceChildren(...key.map(([colour, word]) => swatch(colour, word)));
  document.body.dataset.map = `${map.layout} ${name} ${find("map-colour").value}`;
}

const tone = (variable) => getComputedStyle(find("map-canvas")).getPropertyValue(variable).trim();

// A few shades between two colours, for shares from 0 to 1.
function shades(from, to) {
  const [one, other] = [from, to].map((name) => [1, 3, 5].map((place) => parseInt(tone(name).slice(place, place + 2), 16)));
  const all = Array.from({ length: LEVELS + 1 }, (_, level) => `rgb(${one.map((value, i) => Math.round(value + ((other[i] - value) * level) / LEVELS)).join(" ")})`);
  return (share) => all[Math.round(LEVELS * share)];
}

// Answers in full colour, on top; the others the bluer the likelier the model finds that they are of the class.
function paintClass({ labels, chance }, name) {
  const answered = { present: tone("--yes-now"), absent: tone("--no-now"), unsure: tone("--mark-now") };
  const shade = shades("--line-now", "--focus-now");
  const colours = labels.map((label, i) => (label === null ? shade(chance[i]) : answered[label]));
  const key = [[answered.present, `${name}: yes`], [answered.absent, "no"], [answered.unsure, "unsure"], [shade(1), "likely"], [shade(0), "unlikely"]];
  return { colours, key, last: (i) => (labels[i] === null ? chance[i] : 2) };
}

function paintCertainty({ certainty }) {
  const shade = shades("--mark-now", "--line-now");
  return { colours: certainty.map(shade), key: [[shade(0), "the model is unsure"], [shade(1), "it is sure"]], last: (i) => -certainty[i] };
}

function paintSite({ site, sites }) {
  const unknown = tone("--line-now");
  const colour = (number) => (number < 0 ? unknown : SITES[number % SITES.length]);
  return { colours: site.map(colour), key: sites.map((name, number) => [colour(number), name]), last: (i) => site[i] };
}

function swatch(colour, word) {
  const square = make("span", { class: "swatch" });
  square.style.background = colour;
  return make("li", {}, square, word);
}

// A rectangle, or null for nothing.
function choose(region) {
  chosen = null;
  if (region && map?.layout) {
    const [left, right, bottom, top] = [region.left, region.right, region.bottom, region.top].map((edge) => Number(edge.toFixed(DIGITS)));
    const inside = map.x.flatMap((x, i) => (x >= left && x <= right && map.y[i] >= bottom && map.y[i] <= top && (passing?.[i] ?? true) ? [i] : []));
    const bags = new Set(inside.map((i) => map.bags[i]));
    chosen = { region: { left, right, bottom, top }, bags: bags.size, instances: inside.length, text: [map.layout, left, right, bottom, top].join(",") };
  }
  view.setRegion(chosen?.region ?? null);
  find("map-chosen").hidden = !chosen;
  for (const id of ["map-look", "map-label", "map-ask"]) find(id).disabled = !chosen?.bags;
  find("map-chosen-words").textContent = chosen ? `${chosen.instances} instances of ${chosen.bags === 1 ? "one bag" : `${chosen.bags} bags`}.` : "";
  return true;
}

function cards(answered) {
  find("belief-class").value = find("map-class").value;
  setRecorded("belief", recorded("map"));
  const title = answered ? "A region of the map" : "Label a region of the map";
  const words = `${chosen.bags === 1 ? "One bag has" : `${chosen.bags} bags have`} an instance in it${answered ? "" : "; those without an answer"}.`;
  showSource({ path: "/api/map/bags", title, words, ordered: true, query: { region: chosen.text, answered } });
}

function ask() {
  limitTo(chosen.text, chosen.bags, recorded("map"));
  location.hash = "#label";
}

function move(button) {
  if (button.id !== "map-move") return;
  view.moving = !view.moving;
  button.setAttribute("aria-pressed", String(view.moving));
}

// Whether the key meant something here.
export function pressMap(key) {
  const arrow = MOVES[key?.replace("Shift+", "")];
  if (!map?.layout || (!arrow && !(key in KEYS))) return false;
  if (arrow) view.step(...arrow);
  else KEYS[key]();
  return true;
}
