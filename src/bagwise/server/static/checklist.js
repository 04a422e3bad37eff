// A question about a whole bag: which of these are in it? Every class has its key for as long as the project lives, by its
// position in the project; beyond twenty, classes are found by typing. Enter sends. A class that is chosen while instances
// are picked is what these are.

import { find, make } from "/static/dom.js";
import { nameInstances, picks } from "/static/pointing.js";

const DIGITS = "1234567890";
const NEXT = { absent: "present", present: "unsure", unsure: "absent" };
const PRESSED = { absent: "false", present: "true", unsure: "mixed" };
const NOT_FOR_WHOLE_BAGS = "#buttons [data-key=y], #buttons [data-key=n], #buttons [data-key=u]";
const FIND = "t";

let answers = new Map(); // In the order of the question, which the server expects.
let places = new Map(); // The instances that a class was said to be.
let keys = new Map(); // From the key to the class.

export const isWhole = (question) => (question?.classes.length ?? 0) > 1;

// "3" of the third class, "Shift+3" of the thirteenth.
function keyOf(position) {
  if (position >= 2 * DIGITS.length) return null;
  return (position < DIGITS.length ? "" : "Shift+") + DIGITS[position % DIGITS.length];
}

export function showChecklist(question) {
  const whole = isWhole(question);
  find("checklist").hidden = !whole;
  find("asking").classList.toggle("whole", whole);
  for (const button of document.querySelectorAll(NOT_FOR_WHOLE_BAGS)) button.hidden = whole;
  find("send").hidden = !whole;
  places = new Map();
  const classes = whole ? question.classes.map((name, place) => ({ name, position: question.positions[place] })) : [];
  answers = new Map(classes.map(({ name }) => [name, "absent"]));
  classes.sort((one, other) => one.position - other.position);
  keys = new Map(classes.map(({ name, position }) => [keyOf(position), name]));
  const needed = classes.some(({ position }) => keyOf(position) === null);
  const items = classes.map(({ name, position }) => item(name, keyOf(position)));
  find("checklist").replaceChildren(...(whole ? [note(), ...(needed ? [finder()] : []), ...items] : []));
  showCounts();
}

function note() {
  return make("p", {}, "Press what is there, again for unsure. ", make("b", {}, "What you leave unpressed is saved as not there."));
}

function item(name, key) {
  const shown = key === null ? "" : make("kbd", {}, key.replace("Shift+", "⇧"));
  const button = make("button", { type: "button", "aria-pressed": "false", onclick: () => turn(name) }, shown, ` ${name}`, make("span", { class: "where" }));
  button.dataset.class = name;
  return button;
}

const items = () => [...find("checklist").querySelectorAll("[data-class]")];

// A field that leaves only the classes whose names have what is typed; Enter presses the first.
function finder() {
  const field = make("input", { type: "search", id: "find-class", autocomplete: "off", spellcheck: "false" });
  const narrow = () => {
    const typed = field.value.trim().toLowerCase();
    for (const one of items()) one.hidden = !one.dataset.class.toLowerCase().includes(typed);
  };
  field.addEventListener("input", narrow);
  field.addEventListener("keydown", (event) => {
    if (!["Enter", "Escape"].includes(event.key)) return;
    const first = items().find((one) => !one.hidden);
    if (event.key === "Enter" && field.value.trim() && first) turn(first.dataset.class);
    else field.blur();
    field.value = "";
    narrow();
    event.preventDefault();
    event.stopPropagation();
  });
  return make("label", { class: "find" }, "Find a class ", make("kbd", {}, FIND.toUpperCase()), " ", field);
}

function turn(name) {
  const picked = picks();
  answers.set(name, picked.length ? "present" : NEXT[answers.get(name)]);
  if (picked.length) places.set(name, [...new Set([...(places.get(name) ?? []), ...picked])].sort((a, b) => a - b));
  else if (answers.get(name) !== "present") places.delete(name);
  const button = items().find((one) => one.dataset.class === name);
  button.setAttribute("aria-pressed", PRESSED[answers.get(name)]);
  button.querySelector(".where").textContent = places.has(name) ? ` · ${places.get(name).length} shown` : "";
  nameInstances(places);
  showCounts();
}

function showCounts() {
  const count = (value) => [...answers.values()].filter((one) => one === value).length;
  const parts = [[count("present"), "there"], [count("unsure"), "unsure"], [count("absent"), "not there"]];
  find("send-counts").textContent = parts.filter(([some]) => some).map((part) => part.join(" ")).join(", ");
}

// The name of a key with Shift that is that of a class; else nothing: on other keyboards it is a sign.
export function classKey({ shiftKey, code, key }) {
  const name = `Shift+${code.slice(-1)}`;
  return shiftKey && /^Digit\d$/.test(code) && !/^\d$/.test(key) && keys.has(name) ? name : null;
}

// Whether the key was one of a class, or led to the field that finds one.
export function pressChecklist(key) {
  if (key === FIND && find("find-class")) find("find-class").focus();
  else if (keys.has(key)) turn(keys.get(key));
  else return false;
  return true;
}

// The answers, for the server.
export function checked() {
  const names = (value) => [...answers.keys()].filter((name) => answers.get(name) === value);
  const said = { classes: [...answers.keys()], present: names("present"), unsure: names("unsure") };
  return places.size ? { ...said, where: Object.fromEntries(places) } : said;
}
