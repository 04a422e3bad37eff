// Pointing: a person picks the instances that show the class, and *yes* says which they are. Without picks it is the
// marked one, where that is shown: an answer never claims to have pointed at what was not on the screen.

import { find } from "/static/dom.js";
import { knownOf } from "/static/instances.js";
import { hearMedium } from "/static/media.js";

const MOVES = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };
const CLICK = matchMedia("(pointer: coarse)").matches ? "Tap" : "Click";

let question = null; // The one that is pointed in, else null.
let whole = false;
let known = new Map();
let named = new Map(); // Of a whole bag: what a person has called an instance so far.
const picked = new Set();

const bag = find("bag");
const yesButton = document.querySelector("#buttons [data-key=y] b");
const noButton = document.querySelector("#buttons [data-key=n] b");
const elsewhereButton = document.querySelector("#buttons [data-key=e]");
const somewhereButton = document.querySelector("#aids [data-key=p]");

export function startPointing() {
  bag.addEventListener("click", (event) => {
    const surface = event.target.closest("[data-instance], [data-of]");
    if (surface && question) pick(Number(surface.dataset.instance ?? surface.dataset.of));
  });
  bag.addEventListener("keydown", (event) => {
    const number = event.target.dataset?.instance;
    if (number === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    if (["Enter", " "].includes(event.key)) event.repeat || pick(Number(number));
    else if (event.key in MOVES && !event.shiftKey) move(MOVES[event.key]);
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  bag.addEventListener("drawn", refreshPointing);
}

// The question that is shown now, after its bag is drawn.
export function showPointing(one, isWhole) {
  question = one?.pointing ? one : null;
  whole = isWhole;
  known = question ? knownOf(question.bag, question.classes) : new Map();
  named = new Map();
  picked.clear();
  // Once one question of a project is pointed in, the other buttons stay where they are in all of them.
  if (question) find("asking").classList.add("points");
  refreshPointing();
}

export function yes() {
  if (picked.size) return { where: picks(), words: picked.size === 1 ? "yes, the picked one" : `yes, the ${picked.size} picked` };
  return markedIsShown() ? { where: [question.evidence], words: "yes, the marked one" } : { words: "yes" };
}

// Yes, but not the marked one; null where there is none, or where it is picked.
export function elsewhere() {
  if (!markedIsShown() || isOfInstance(question) || picked.has(question.evidence)) return null;
  return { elsewhere: [question.evidence], ...(picked.size ? { where: picks() } : {}), words: "yes, elsewhere" };
}

// Yes, and nothing about where: as where nothing can be pointed at.
export function somewhere() {
  return markedIsShown() && !isOfInstance(question) ? { words: "yes, somewhere" } : null;
}

// Whether it asks about the marked instance alone.
export const isOfInstance = (one) => (one?.instance ?? null) !== null;

// The instance that "this" means: the first picked one, else the marked one where it is shown, else null.
export const pointedAt = () => picks()[0] ?? (markedIsShown() ? question.evidence : null);

export const picks = () => [...picked].sort((a, b) => a - b);

export function unpick() {
  if (!picked.size && !focused()) return false;
  document.activeElement.blur();
  picked.clear();
  refreshPointing();
  return true;
}

// Of a whole bag: what the instances have been called, by class.
export function nameInstances(places) {
  named = new Map();
  for (const [name, numbers] of places) for (const number of numbers) named.set(number, [...(named.get(number) ?? []), name]);
  picked.clear();
  refreshPointing();
}

// To the next instance, or the one before; the first time from the marked one.
export function move(by) {
  const all = targets();
  if (!all.length) return false;
  const at = all.indexOf(focused() ?? (markedIsShown() ? target(question.evidence) : undefined));
  const next = all[at < 0 ? (by > 0 ? 0 : all.length - 1) : (at + by + all.length) % all.length];
  for (const one of all) one.tabIndex = one === next ? 0 : -1;
  next.focus();
  return true;
}

function pick(number) {
  if (!picked.delete(number)) {
    picked.add(number);
    hearMedium(number);
  }
  refreshPointing();
}

const focused = () => bag.querySelector("[data-instance]:focus") ?? undefined;
const target = (number) => bag.querySelector(`[data-instance="${number}"]`) ?? undefined;
const targets = () => (question ? [...bag.querySelectorAll("[data-instance]")].sort((a, b) => a.dataset.instance - b.dataset.instance) : []);
const markedIsShown = () => Boolean(question && !whole && bag.matches(".highlight") && bag.querySelector(".evidence"));

// Everything that says what is marked, picked and known: also after highlighting is switched on or off.
export function refreshPointing() {
  const marked = markedIsShown();
  const tags = new Map([...bag.querySelectorAll("[data-tag]")].map((one) => [Number(one.dataset.tag), one]));
  const all = targets();
  for (const one of all) describe(one, tags.get(Number(one.dataset.instance)), marked);
  for (const one of bag.querySelectorAll("[data-of], [data-within]")) one.classList.toggle("picked", numbersOf(one).some((number) => picked.has(number)));
  if (all.length && all.every((one) => one.tabIndex < 0)) (target(question.evidence) ?? all[0]).tabIndex = 0;
  yesButton.textContent = !picked.size ? (marked ? "Yes, this one" : "Yes") : picked.size === 1 ? "Yes, the picked one" : `Yes, these ${picked.size}`;
  yesButton.parentElement.classList.toggle("for-mark", marked && !picked.size);
  elsewhereButton.hidden = somewhereButton.hidden = !marked || isOfInstance(question);
  noButton.textContent = isOfInstance(question) ? "No, not this one" : "No";
  elsewhereButton.disabled = picked.has(question?.evidence);
  find("hint").textContent = all.length ? hint(marked) : "";
  find("marked").textContent = marked ? `Marked: ${target(question.evidence)?.dataset.name ?? "one instance"}.` : "";
}

function hint(marked) {
  if (whole) return picked.size ? "Now say what it is: choose its class below." : `${CLICK} what you recognise, then choose its class.`;
  if (picked.size) return `Picked: ${picked.size}. ${CLICK} more, or again to take one back.`;
  if (isOfInstance(question)) return `Only the marked one is asked about. You see it elsewhere? ${CLICK} it there.`;
  return marked ? `Not this one? ${CLICK} the right one, or several.` : `${CLICK} the one that shows it, if you like.`;
}

const numbersOf = (element) => (element.dataset.within ?? element.dataset.of).split(" ").map(Number);

function describe(element, tag, marked) {
  const number = Number(element.dataset.instance);
  const [isMarked, isPicked] = [marked && number === question.evidence, picked.has(number)];
  const isKnown = [...(named.get(number) ?? []), ...(known.get(number) ?? [])].join(", ");
  element.setAttribute("aria-pressed", String(isPicked));
  element.classList.toggle("picked", isPicked);
  const { name, content } = element.dataset;
  const spoken = [name, isMarked ? "marked" : "", isKnown ? `known: ${isKnown}` : ""].filter(Boolean).join(", ");
  element.setAttribute("aria-label", content ? `${spoken}: ${content}` : spoken);
  const shown = [isPicked ? "✓" : "", isKnown, isMarked && !isPicked ? "this one?" : ""].filter(Boolean).join(" ");
  const kind = isPicked ? "picked" : isMarked ? "marked" : "known";
  // Text and tables have no room for a tag of their own: it is drawn before or after the element.
  if (tag) {
    tag.textContent = shown;
    tag.className = `tag ${kind}`;
  } else {
    element.dataset.label = shown;
    element.dataset.kind = shown ? kind : "";
  }
}
