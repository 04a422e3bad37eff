// Cards of bags that could still be decided for a class, answered one at a time or many: what the model believes, what is
// like something (finding.js), or what is in a region of the map (map.js).

import { drawExample, whereabouts } from "/static/bag.js";
import { counted, find, get, make, newKey, percent, WORDS } from "/static/dom.js";
import { recorded } from "/static/recorded.js";
import { pager } from "/static/views.js";

const COUNT = 24;
const KEYS = { y: "present", n: "absent", u: "unsure" };
const NEAR = 1e-3;
const UNDO = ["z", "Backspace"];
const MOVES = { ",": -1, ArrowLeft: -1, ".": 1, ArrowRight: 1 };
const BELIEFS = { path: "/api/review/predictions", title: "Predictions", words: "", ordered: true, query: {} };

let outbox = null;
let start = 0;
let asked = 0; // Only the answer to the last request is shown.
let source = BELIEFS;
let shown = [];
let onSaved = () => {};

export function startPredictions(box, saved) {
  outbox = box;
  onSaved = saved;
  for (const id of ["belief-class", "belief-order", "belief-recorded"]) find(id).addEventListener("change", () => showPredictions(0));
  find("belief-all").addEventListener("change", (event) => {
    for (const box of boxes()) box.checked = event.target.checked;
    count();
  });
  find("beliefs").addEventListener("change", count);
  for (const [id, answer] of [["accept", "present"], ["reject", "absent"], ["doubt", "unsure"]]) find(id).addEventListener("click", () => say(answer, chosen()));
  find("belief-undo").addEventListener("click", undo);
  find("belief-every").addEventListener("click", () => showSource(BELIEFS));
}

// Other cards: from this path of the API, called so, in an order of their own or by belief.
export function showSource(other) {
  source = other;
  find("view-predictions").querySelector("h1").textContent = source.title;
  find("belief-source").textContent = source.words;
  find("belief-every").hidden = source === BELIEFS;
  find("belief-order").parentElement.hidden = !source.ordered;
  find("beliefs").replaceChildren();
  start = 0;
  if (location.hash === "#predictions") showPredictions(0, true);
  else location.hash = "#predictions";
}

export async function showPredictions(first = start, focus = source !== BELIEFS) {
  start = first;
  asked += 1;
  const mine = asked;
  const name = find("belief-class").value;
  if (!name) return;
  const order = source.ordered ? { order: find("belief-order").value } : {};
  let found;
  try {
    found = await get(source.path, { class_name: name, ...order, ...source.query, ...recorded("belief"), start, count: COUNT });
  } catch (error) {
    find("belief-message").textContent = error.message;
    return;
  }
  if (mine !== asked) return;
  if (start && start >= found.of) return void showPredictions(Math.max(0, start - COUNT), focus);
  const at = current() === null ? 0 : boxes().indexOf(current());
  shown = found.bags;
  find("beliefs").replaceChildren(...found.bags.map((one) => item(one, name)));
  find("belief-model").textContent = found.model.sentence;
  find("belief-all").checked = false;
  find("belief-message").textContent = found.of ? "" : `No ${source === BELIEFS ? "" : "such "}bag is left without an answer for ${name}.`;
  count();
  pager(find("belief-pager"), start, COUNT, found.of, showPredictions);
  if (focus && !document.activeElement.closest("select, input:not([type=checkbox])")) (boxes()[at] ?? boxes().at(-1))?.focus();
}

const boxes = () => [...document.querySelectorAll("#beliefs input")];
const chosen = () => boxes().filter((box) => box.checked).map((box) => box.value);
const current = () => document.activeElement.closest("#beliefs li")?.querySelector("input") ?? null;

function item(one, name) {
  const label = one.label ?? null;
  const far = one.distance === undefined ? "" : `${one.distance < NEAR ? 0 : Number(one.distance.toPrecision(2))} away, `;
  const known = label === null ? "" : `, answered ${WORDS[label]}`;
  const description = `${whereabouts(one.bag)}: ${far}${name} is believed with ${percent(one.belief)}${known}`;
  return make("li", { class: label ?? "" }, make("label", {},
    make("input", { type: "checkbox", value: one.bag.id, "aria-label": description, disabled: label !== null }),
    make("div", { class: "thumbnail highlight" }, drawExample({ ...one.bag, evidence: one.evidence })),
    make("span", { class: "note" }, whereabouts(one.bag), make("span", {}, far, make("b", {}, label === null ? percent(one.belief) : WORDS[label])))));
}

function count() {
  const number = chosen().length;
  find("accept").textContent = number ? `Yes to ${number}` : "Yes to all chosen";
  find("reject").textContent = number ? `No to ${number}` : "No to all chosen";
  for (const id of ["accept", "reject", "doubt"]) find(id).disabled = number === 0;
}

// Keys answer what is chosen, else the card that has the focus. Whether the key meant something here.
export function pressCards(key, findSimilar) {
  const one = current();
  if (key in KEYS) {
    const bags = chosen().length ? chosen() : one && !one.disabled ? [one.value] : [];
    if (bags.length) say(KEYS[key], bags);
  } else if (UNDO.includes(key)) undo();
  else if (key in MOVES) move(MOVES[key]);
  else if (key === "g" && one) {
    const { bag, evidence } = shown[boxes().indexOf(one)];
    findSimilar(bag, evidence);
  } else return false;
  return true;
}

function move(by) {
  const all = boxes().filter((box) => !box.disabled);
  const at = all.indexOf(current());
  all[at < 0 ? 0 : Math.min(all.length - 1, Math.max(0, at + by))]?.focus();
}

async function say(answer, bags) {
  const name = find("belief-class").value;
  for (const id of ["accept", "reject", "doubt"]) find(id).disabled = true;
  find("belief-message").textContent = "Saving…";
  const saved = await outbox.send("/api/review/answers", { key: newKey(), class_name: name, answer, bags });
  onSaved();
  await showPredictions(start, current() !== null || source !== BELIEFS);
  const about = bags.length === 1 ? bags[0] : counted(bags.length, "bag");
  find("belief-message").textContent = saved ? `Saved: ${name}, ${WORDS[answer]}, for ${about}.` : find("message").textContent;
}

async function undo() {
  find("belief-message").textContent = "Taking back…";
  await outbox.send("/api/undo", { key: newKey() });
  onSaved();
  await showPredictions();
  find("belief-message").textContent = find("message").textContent;
}
