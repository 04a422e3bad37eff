// *Also here*: what a person recognises although another class is asked. It is an answer like any other: yes, by bag
// and class. A class that does not exist yet can be added on the spot by whoever may.

import { change, fetchClasses, isActive } from "/static/class-list.js";
import { find, make } from "/static/dom.js";

let names = [];
let mayChange = false;
let asked = null;
let choose = () => {};

const dialog = find("also");
const field = find("also-field");
const list = find("also-list");

export function startAlsoHere() {
  field.addEventListener("input", draw);
  field.addEventListener("keydown", (event) => {
    const [options, now] = [[...list.children], list.querySelector("[aria-selected=true]")];
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step && options.length) select(options[(options.indexOf(now) + step + options.length) % options.length]);
    else if (event.key === "Enter") now?.click();
    else return;
    event.preventDefault();
  });
  find("also-cancel").addEventListener("click", () => dialog.close());
}

// `chosen` is called with the name of the class.
export async function openAlsoHere(question, picked, chosen) {
  [asked, choose] = [question, chosen];
  find("also-title").textContent = `What else is in this ${question.bag_word}?`;
  find("also-about").textContent = picked ? `Said of the ${picked === 1 ? "one" : picked} you picked.` : "";
  find("also-message").textContent = "";
  field.value = "";
  names = [];
  draw();
  dialog.showModal();
  field.focus();
  try {
    const found = await fetchClasses();
    names = found.classes.filter(isActive);
    mayChange = found.may_change;
  } catch (error) {
    find("also-message").textContent = error.message;
  }
  draw();
}

function draw() {
  const wanted = field.value.trim().toLowerCase();
  const called = (one) => [one.name, one.scientific_name, one.common_name].filter(Boolean);
  const starts = (one) => called(one).some((name) => name.toLowerCase().startsWith(wanted));
  const fits = names.filter((one) => called(one).some((name) => name.toLowerCase().includes(wanted)));
  fits.sort((a, b) => starts(b) - starts(a));
  const options = fits.map((one, place) => option(`also-${place}`, [one.name, " ", make("i", {}, one.scientific_name)], () => pick(one.name)));
  const isNew = wanted && mayChange && !names.some((one) => called(one).some((name) => name.toLowerCase() === wanted));
  if (isNew) options.push(option("also-new", ["Add the class ", make("b", {}, field.value.trim())], addAndPick));
  list.replaceChildren(...options);
  find("also-nothing").hidden = options.length > 0 || !names.length;
  select(options[0]);
}

function option(id, content, onclick) {
  return make("li", { role: "option", id, onclick, "aria-selected": "false" }, ...content);
}

function select(one) {
  for (const other of list.children) other.setAttribute("aria-selected", String(other === one));
  field.setAttribute("aria-activedescendant", one?.id ?? "");
  one?.scrollIntoView({ block: "nearest" });
}

function pick(name) {
  dialog.close();
  choose(asked, name);
}

async function addAndPick() {
  const name = field.value.trim();
  if (await change("", { name }, find("also-message"))) pick(name);
}
