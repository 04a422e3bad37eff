// A question about a whole bag: which of these are in it? One key for each class, Enter sends.

import { find, make } from "/static/dom.js";

const KEYS = [..."1234567890cdfgijkmopqtvwx"];
const NEXT = { absent: "present", present: "unsure", unsure: "absent" };
const PRESSED = { absent: "false", present: "true", unsure: "mixed" };
const NOT_FOR_WHOLE_BAGS = "#buttons [data-key=y], #buttons [data-key=n], #buttons [data-key=u]";

let said = new Map();

export const isWhole = (question) => (question?.classes.length ?? 0) > 1;

export function showChecklist(question, send) {
  const whole = isWhole(question);
  find("checklist").hidden = !whole;
  for (const button of document.querySelectorAll(NOT_FOR_WHOLE_BAGS)) button.hidden = whole;
  said = new Map(whole ? question.classes.map((name) => [name, "absent"]) : []);
  const items = [...said.keys()].map((name, place) => item(name, KEYS[place]));
  const button = make("button", { type: "button", class: "send", onclick: send }, make("b", {}, "Send"), make("kbd", {}, "Enter"));
  find("checklist").replaceChildren(...(whole ? [...items, button] : []));
}

function item(name, key) {
  const button = make("button", { type: "button", "aria-pressed": "false", onclick: () => turn(name) }, key ? make("kbd", {}, key.toUpperCase()) : "", ` ${name}`);
  button.dataset.class = name;
  return button;
}

function turn(name) {
  said.set(name, NEXT[said.get(name)]);
  const button = [...find("checklist").children].find((one) => one.dataset.class === name);
  button.setAttribute("aria-pressed", PRESSED[said.get(name)]);
}

// Whether the key was one of a class.
export function pressChecklist(key) {
  const name = [...said.keys()][KEYS.indexOf(key)];
  if (name === undefined) return false;
  turn(name);
  return true;
}

// What was said, for the server.
export function checked() {
  const names = (value) => [...said.keys()].filter((name) => said.get(name) === value);
  return { classes: [...said.keys()], present: names("present"), unsure: names("unsure") };
}
