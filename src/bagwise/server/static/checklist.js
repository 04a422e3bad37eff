// A question about a whole bag: which of these are in it? One key for each class, Enter sends. A class that is chosen
// while instances are picked is what these are.

import { find, make } from "/static/dom.js";
import { nameInstances, picks } from "/static/pointing.js";

const KEYS = [..."1234567890dijkopqtwx"]; // The others mean something already.
const NEXT = { absent: "present", present: "unsure", unsure: "absent" };
const PRESSED = { absent: "false", present: "true", unsure: "mixed" };
const NOT_FOR_WHOLE_BAGS = "#buttons [data-key=y], #buttons [data-key=n], #buttons [data-key=u]";

let answers = new Map();
let places = new Map(); // The instances that a class was said to be.

export const isWhole = (question) => (question?.classes.length ?? 0) > 1;

export function showChecklist(question, send) {
  const whole = isWhole(question);
  find("checklist").hidden = !whole;
  for (const button of document.querySelectorAll(NOT_FOR_WHOLE_BAGS)) button.hidden = whole;
  places = new Map();
  answers = new Map(whole ? question.classes.map((name) => [name, "absent"]) : []);
  const items = [...answers.keys()].map((name, place) => item(name, KEYS[place]));
  const button = make("button", { type: "button", class: "send", onclick: send }, make("b", {}, "Send"), make("kbd", {}, "Enter"));
  find("checklist").replaceChildren(...(whole ? [...items, button] : []));
}

function item(name, key) {
  const button = make("button", { type: "button", "aria-pressed": "false", onclick: () => turn(name) }, key ? make("kbd", {}, key.toUpperCase()) : "", ` ${name}`, make("span", { class: "where" }));
  button.dataset.class = name;
  return button;
}

function turn(name) {
  const picked = picks();
  answers.set(name, picked.length ? "present" : NEXT[answers.get(name)]);
  if (picked.length) places.set(name, [...new Set([...(places.get(name) ?? []), ...picked])].sort((a, b) => a - b));
  else if (answers.get(name) !== "present") places.delete(name);
  const button = [...find("checklist").children].find((one) => one.dataset.class === name);
  button.setAttribute("aria-pressed", PRESSED[answers.get(name)]);
  button.querySelector(".where").textContent = places.has(name) ? ` · ${places.get(name).length} shown` : "";
  nameInstances(places);
}

// Whether the key was one of a class.
export function pressChecklist(key) {
  const name = [...answers.keys()][KEYS.indexOf(key)];
  if (name === undefined) return false;
  turn(name);
  return true;
}

// The answers, for the server.
export function checked() {
  const names = (value) => [...answers.keys()].filter((name) => answers.get(name) === value);
  const said = { classes: [...answers.keys()], present: names("present"), unsure: names("unsure") };
  return places.size ? { ...said, where: Object.fromEntries(places) } : said;
}
