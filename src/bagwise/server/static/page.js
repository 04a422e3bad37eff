// One question, one key, the next question already there. Answers are kept until the server has them.

import { openAlsoHere, startAlsoHere } from "/static/also-here.js";
import { drawBag, drawExample, whereabouts } from "/static/bag.js";
import { checked, classKey, isWhole, pressChecklist, showChecklist } from "/static/checklist.js";
import { fetchClasses, showClassList, startClassList } from "/static/class-list.js";
import { counted, find, get, make, newKey, percent, WORDS } from "/static/dom.js";
import { showDownloads } from "/static/downloads.js";
import { findSimilar, startFinding } from "/static/finding.js";
import { showGuide } from "/static/guide.js";
import { likelyAfter, showLikely } from "/static/likely.js";
import { lift, limited, showLimit, startLimit } from "/static/limit.js";
import { pressMap, showMap, startMap } from "/static/map.js";
import { prepare, pressMedium } from "/static/media.js";
import { openNote, showNotes, startNotes } from "/static/notes.js";
import { Outbox } from "/static/outbox.js";
import { refresh, refreshSoon } from "/static/panel.js";
import { wordOf } from "/static/instances.js";
import { elsewhere, isOfInstance, move, picks, pointedAt, refreshPointing, showPointing, somewhere, startPointing, unpick, yes } from "/static/pointing.js";
import { fillRecorded } from "/static/recorded.js";
import { pressCards, showPredictions, startPredictions } from "/static/predictions.js";
import { showHistory, startHistory } from "/static/review.js";
import { isOff, startShortcuts } from "/static/shortcuts.js";
import { enter } from "/static/signin.js";
import { shownView, startViews } from "/static/views.js";

const AHEAD = 3;
const LOOK_AGAIN = 10_000;
const ANSWERS = { y: "present", ArrowUp: "present", n: "absent", ArrowDown: "absent", u: "unsure", s: "skipped", ArrowRight: "skipped" };
const OPEN = "open again";
const OF_INSTANCE = { absent: "no, not the marked one", unsure: "unsure about the marked one" };
const UNDO = ["z", "ArrowLeft", "Backspace"];
const MOVES = { ",": -1, ".": 1 };
const PRESS = { label: press, predictions: (key) => pressCards(key, findSimilar), map: pressMap };
const REPEATED = /^(?:[-+=]|Shift\+Arrow.*)$/; // Held down, these zoom and move on.

let questions = [];
let shownAt = 0;
let highlighted = true;
let fetching = false;
let again = false;
let later = null;
let undoing = 0;
let generation = 0; // An undo makes everything fetched before it out of date.
let offered = []; // The names of the classes that can be chosen.
const answered = new Set();
const said = new Map(); // What an answer that is on its way said, in words.

await enter();
const outbox = new Outbox(
  (waiting) => {
    find("pending").textContent = waiting ? `${waiting} not saved yet, trying again…` : "";
  },
  (saved, sent) => {
    find("message").textContent = Array.isArray(saved) ? `Saved: ${counted(saved.length, "answer")}.` : inWords(saved, said.get(sent.key));
    said.delete(sent.key);
    refreshSoon();
    likelyAfter(Array.isArray(saved) ? saved.length : 1);
    if (!questions.length) fetchAhead();
  },
  (sentence) => {
    find("message").textContent = sentence;
  },
);

function inWords(saved, words = WORDS[saved.answer]) {
  if ("text" in saved) return `Noted about ${saved.bag_id}.`;
  if (!("others" in saved)) return `Saved: ${saved.class_name} in ${saved.bag_id}, ${words}.`;
  const undone = [...saved.others, saved];
  if (undone.length === 1) return `Taken back: ${saved.class_name} in ${saved.bag_id}, ${left(saved)}.`;
  const known = undone.filter((one) => left(one) !== OPEN).map((one) => `${one.class_name} ${left(one)}`);
  return `Taken back: ${counted(undone.length, "answer")} about ${saved.bag_id}, ${known.length ? `with ${known.join(", ")}` : OPEN}.`;
}

// What an undo left of a pair.
function left(undone) {
  if (undone.kind === "restoration") return `${WORDS[undone.answer]} again`;
  return undone.counts_as === null ? OPEN : `which counts as ${WORDS[undone.counts_as]}`;
}

async function fetchAhead() {
  clearTimeout(later);
  if (fetching || undoing) {
    again = true;
    return;
  }
  fetching = true;
  again = false;
  const asked = generation;
  try {
    const waiting = [...questions.map((one) => one.key), ...outbox.keys()];
    const found = await get("/api/questions/next", { count: Math.min(20, AHEAD + outbox.keys().size), known: waiting.slice(0, 20).join(","), ...limited() });
    if (asked === generation) {
      const known = new Set([...questions.map((one) => one.key), ...outbox.keys(), ...answered]);
      questions.push(...found.filter((one) => !known.has(one.key)));
      document.body.dataset.ready = questions.length;
      prepare(questions);
      if (document.body.dataset.shown !== (questions[0]?.key ?? "") || !questions.length) show();
    }
    // A question that is leased to another person may come back.
    if (!questions.length) later = setTimeout(fetchAhead, LOOK_AGAIN);
  } catch ({ message, status }) {
    later = setTimeout(fetchAhead, 1000);
    // No bag passes the limit, or the bags have changed, and with them the map that it was drawn on.
    if (status === 400 && lift()) find("message").textContent = message;
  }
  fetching = false;
  if (again || asked !== generation) fetchAhead();
}

function forgetQuestions() {
  generation += 1;
  questions = [];
  // A question that is gone must not look as if it could be answered: the key would be lost.
  document.body.dataset.shown = "";
  find("question").textContent = "One moment…";
  find("bag").replaceChildren();
  showPointing(null, false);
  fetchAhead();
}

function show() {
  const one = questions[0];
  document.body.dataset.shown = one?.key ?? "";
  document.body.dataset.ready = questions.length;
  find("examples").replaceChildren();
  find("belief").textContent = "";
  find("opinion").textContent = one ? thought(one) : "";
  showGuide(one);
  showNotes(one);
  find("audit").hidden = !one?.audit;
  showChecklist(one);
  find("bag").hidden = !one;
  const finished = !one && !outbox.keys().size;
  find("nothing").hidden = !finished;
  for (const button of document.querySelectorAll("#buttons button:not([data-key=z])")) button.disabled = finished;
  if (!one) {
    find("question").textContent = finished ? "Nothing is left to ask you." : "One moment…";
    find("which").textContent = "";
    find("bag").replaceChildren();
    showPointing(null, false);
    return;
  }
  if (isWhole(one)) find("question").textContent = `Which of these are in this ${one.bag_word}?`;
  else if (isOfInstance(one)) find("question").replaceChildren(`Is the marked ${wordOf(one.bag)} `, make("b", {}, one.class_name), "?");
  else find("question").replaceChildren("Is ", make("b", {}, one.class_name), ` in this ${one.bag_word}?`);
  find("which").textContent = whereabouts(one.bag);
  find("bag").replaceChildren(drawBag(one.bag, one.evidence, one.pointing));
  showHighlight();
  showPointing(one, isWhole(one));
  if (one.examples.length) {
    find("examples").append(make("p", { class: "note" }, "Answered yes before:"), ...one.examples.map(drawExample));
  }
  shownAt = performance.now();
}

function answerWhole(skip = false) {
  const one = questions[0];
  if (!skip && picks().length) {
    find("message").textContent = "Choose the class of what you picked, or Esc to pick nothing; then send.";
    return;
  }
  send("/api/answers/whole", { key: one.key, bag: one.bag.id, ...checked(), skip, seconds: (performance.now() - shownAt) / 1000 });
}

// Of a yes, `pointed` says where.
function answer(value, { words, ...pointed } = {}) {
  const one = questions[0];
  if (!one) return;
  // With bag, class and instance it is saved also where the server has forgotten the question.
  const about = { key: one.key, bag: one.bag.id, class_name: one.class_name, instance: one.instance, ...pointed };
  said.set(one.key, words ?? (isOfInstance(one) ? OF_INSTANCE[value] : null) ?? WORDS[value]);
  send("/api/answers", { ...about, answer: value, seconds: (performance.now() - shownAt) / 1000, highlighted: isHighlighted() });
}

function send(path, body) {
  questions.shift();
  answered.add(body.key);
  outbox.send(path, body);
  show();
  if (questions.length < AHEAD) fetchAhead();
}

// What else is there, though another class is asked: the question stays.
function sayAlsoHere(one, name) {
  if (name === one.class_name && !isWhole(one)) return void sayPresent(yes());
  questions = questions.filter((other, place) => place === 0 || other.bag.id !== one.bag.id || other.class_name !== name);
  outbox.send("/api/answers", { key: newKey(), bag: one.bag.id, class_name: name, answer: "present", where: picks(), highlighted: isHighlighted() });
  unpick();
}

function undo() {
  undoing += 1;
  generation += 1;
  questions = [];
  document.body.dataset.shown = "";
  find("question").textContent = "One moment…";
  outbox.send("/api/undo", { key: newKey() }).then(() => {
    undoing -= 1;
    if (!undoing) forgetQuestions();
  });
}

// What a question is about stays marked.
const isHighlighted = () => highlighted || isOfInstance(questions[0]);

function showHighlight() {
  const button = document.querySelector("#aids [data-key=h]");
  find("bag").classList.toggle("highlight", isHighlighted());
  button.setAttribute("aria-pressed", String(isHighlighted()));
  button.disabled = isOfInstance(questions[0]);
}

function toggleHighlight() {
  if (isOfInstance(questions[0])) return;
  highlighted = !highlighted;
  showHighlight();
  refreshPointing();
}

// What a classifier thinks of the question, where the project has its scores.
function thought(one) {
  if (!one.opinions.length) return "";
  const said = one.opinions.map((of) => (isWhole(one) ? `${of.class_name} ${percent(of.probability)}` : percent(of.probability)));
  return `${one.opinions[0].source} thinks: ${said.join(", ")}.`;
}

function believed(one) {
  if (!isWhole(one)) return `The model believes it with ${percent(one.belief)}.`;
  return one.classes.map((name, place) => `${name} ${percent(one.beliefs[place])}`).join(", ");
}

function pressWhole(key) {
  if (key === "Enter") answerWhole();
  else if (key === "s" || key === "ArrowRight") answerWhole(true);
  else return pressChecklist(key);
  return true;
}

function press(key) {
  if (isWhole(questions[0]) && (pressWhole(key) || key in ANSWERS)) return true;
  if (key in MOVES) return move(MOVES[key]);
  if (key === "Escape") return unpick() || pressMedium(key);
  if (key === "e") return sayPresent(elsewhere());
  if (key === "p") return sayPresent(somewhere());
  if (key === "Enter") return sayPresent(picks().length ? yes() : null);
  if (ANSWERS[key] === "present") sayPresent(yes());
  else if (key in ANSWERS) answer(ANSWERS[key]);
  else if (UNDO.includes(key)) undo();
  else if (key === "h") toggleHighlight();
  else if (key === "o" && questions[0]) openAlsoHere(questions[0], picks().length, sayAlsoHere);
  else if (key === "j" && questions[0]) openNote(questions[0]);
  else if (key === "g" && questions[0]) findSimilar(questions[0].bag, pointedAt(), questions[0].class_name);
  else if (key === "b" && questions[0]) find("belief").textContent = believed(questions[0]);
  else return pressMedium(key);
  return true;
}

// Whether there was something to say.
function sayPresent(pointed) {
  if (pointed) answer("present", pointed);
  return pointed !== null;
}

function flash(key) {
  const name = key === "Enter" ? "y" : ANSWERS[key] ? { present: "y", absent: "n", unsure: "u", skipped: "s" }[ANSWERS[key]] : UNDO.includes(key) ? "z" : key;
  const button = document.querySelector(`#buttons [data-key="${CSS.escape(name)}"]`);
  button?.classList.add("pressed");
  setTimeout(() => button?.classList.remove("pressed"), 140);
}

// Arrows with Shift are others than without.
function nameOf({ key, shiftKey }) {
  if (key.length === 1) return key.toLowerCase();
  return shiftKey && key.startsWith("Arrow") ? `Shift+${key}` : key;
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
  const writing = event.target.closest("input:not([type=checkbox]), select, textarea");
  const operates = event.target.closest("a, button, summary") && [" ", "Enter"].includes(event.key);
  if (writing || operates || isOff(event.key)) return;
  const key = classKey(event) ?? nameOf(event);
  if (event.repeat && !REPEATED.test(key)) return;
  if (key === "?") find("help").showModal();
  else if (!PRESS[shownView()]?.(key)) return;
  flash(key);
  event.preventDefault();
});
for (const button of document.querySelectorAll("#buttons button, #aids button")) {
  button.addEventListener("click", () => press(button.dataset.key));
}
// After a click the keys are the page's again: else Space, which plays, would press the button once more.
document.addEventListener("click", (event) => event.detail && event.target.closest("button, [data-instance]")?.blur());
find("help-button").addEventListener("click", () => find("help").showModal());
for (const form of document.querySelectorAll("form.filters")) form.addEventListener("submit", (event) => event.preventDefault());

// The choices of class in every view, now and after each change.
function offerClasses(names) {
  if (offered.join("\n") === names.join("\n")) return;
  offered = names;
  for (const select of document.querySelectorAll("select.of-classes")) {
    const before = select.value;
    const all = [...select.options].filter((one) => one.value === "");
    select.replaceChildren(...all, ...names.map((name) => make("option", { value: name }, name)));
    select.value = names.includes(before) || all.length && before === "" ? before : select.options[0]?.value ?? "";
  }
}

async function fillClasses() {
  try {
    const { classes, name, ...recorded } = await get("/api/status");
    find("name").textContent = name;
    offerClasses(classes.map((one) => one.name));
    fillRecorded(recorded);
    showLimit();
    startFinding(recorded.accepts_files);
    if (shownView() === "predictions") showPredictions(0);
    if (shownView() === "map") showMap();
  } catch {
    setTimeout(fillClasses, 1000);
  }
}

// Another person may have changed the classes since: then it is shown once more.
async function withClasses(show) {
  const before = offered;
  show();
  await fetchClasses().catch(() => null);
  if (before.length && before !== offered) show();
}

function showLabel() {
  shownAt = performance.now(); // Time spent on another page does not count for this question.
  refresh();
  showLikely();
}

startPointing();
startShortcuts();
startClassList(offerClasses);
startAlsoHere();
startNotes(outbox);
outbox.resume();
fetchAhead();
fillClasses();
startHistory(outbox);
startPredictions(outbox, forgetQuestions);
startLimit(forgetQuestions);
startMap();
startViews({
  label: showLabel,
  answers: () => withClasses(() => showHistory(0)),
  predictions: () => withClasses(() => showPredictions(0)),
  map: () => withClasses(() => showMap()),
  "class-list": showClassList,
  downloads: showDownloads,
});
