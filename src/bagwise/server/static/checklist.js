// A question about a whole bag: which of these are in it? One key for each class, Enter sends.

import { find, make } from "/static/dom.js";

const KEYS = [..."1234567890cdfgijkmopqtvwx"];
const NEXT = { absent: "present", present: "unsure", unsure: "absent" };
const PRESSED = { absent: "false", present: "true", unsure: "mixed" };
const NOT_FOR_WHOLE_BAGS = "#buttons [data-key=y], #buttons [data-key=n], #buttons [data-key=u]";

let answers = new Map();

export const isWhole = (question) => (question?.classes.length ?? 0) > 1;

export function showChecklist(question, send) {
  const whole = isWhole(question);
  find("checklist").hidden = !whole;
  for (const button of document.querySelectorAll(NOT_FOR_WHOLE_BAGS)) button.hidden = whole;
  answers = new Map(whole ? question.classes.map((name) => [name, "absent"]) : []);
  const items = [...answers.keys()].map((name, place) => item(name, KEYS[place]));
  const button = make("button", { type: "button", class: "send", onclick: send }, make("b", {}, "Send"), make("kbd", {}, "Enter"));
  find("checklist").replaceChildren(...(whole ? [...items, button] : []));
}

function item(name, key) {
  const button = make("button", { type: "button", "aria-pressed": "false", onclick: () => turn(name) }, key ? make("kbd", {}, key.toUpperCase()) : "", ` ${name}`);
  button.dataset.class = name;
  return button;
}

function turn(name) {
  answers.set(name, NEXT[answers.get(name)]);
  const button = [...find("checklist").children].find((one) => one.dataset.class === name);
  button.setAttribute("aria-pressed", PRESSED[answers.get(name)]);
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
  return { classes: [...answers.keys()], present: names("present"), unsure: names("unsure") };
}
