// One question, one key, the next question already there. Answers are kept until the server has them.

import { Outbox } from "/static/outbox.js";
import { drawBag, drawExample } from "/static/bag.js";
import { prepare, pressMedium } from "/static/media.js";
import { enter, signedOut } from "/static/signin.js";

const AHEAD = 3;
const ANSWERS = { y: "present", ArrowUp: "present", n: "absent", ArrowDown: "absent", u: "unsure", s: "skipped", ArrowRight: "skipped" };
const UNDO = ["z", "ArrowLeft", "Backspace"];
const WORDS = { present: "yes", absent: "no", unsure: "unsure", skipped: "skipped" };

const find = (id) => document.getElementById(id);
const newKey = () => crypto.randomUUID().replaceAll("-", "");

let questions = [];
let shownAt = 0;
let highlighted = true;
let fetching = false;
let generation = 0; // An undo makes everything fetched before it out of date.
const answered = new Set();

const outbox = new Outbox(
  (waiting) => {
    find("pending").textContent = waiting ? `${waiting} not saved yet, trying again…` : "";
  },
  (saved) => {
    find("said").textContent = saved.kind === "retraction"
      ? `Taken back: ${saved.class_name} in ${saved.bag_id}.`
      : `Saved: ${saved.class_name} in ${saved.bag_id}, ${WORDS[saved.answer]}.`;
    refreshStatus();
  },
  (sentence) => {
    find("said").textContent = sentence;
  },
);

async function get(path) {
  const response = await fetch(path);
  if (response.status === 401) signedOut();
  if (!response.ok) throw new Error((await response.json()).detail ?? response.statusText);
  return response.json();
}

async function fetchAhead() {
  if (fetching) return;
  fetching = true;
  const asked = generation;
  try {
    const waiting = outbox.keys();
    const found = await get(`/api/questions/next?count=${Math.min(20, AHEAD + waiting.size)}`);
    if (asked === generation) {
      const known = new Set([...questions.map((one) => one.key), ...outbox.keys(), ...answered]);
      questions.push(...found.filter((one) => !known.has(one.key)));
      prepare(questions);
      if (document.body.dataset.shown !== (questions[0]?.key ?? "") || !questions.length) show();
    }
  } catch {
    setTimeout(fetchAhead, 1000);
  }
  fetching = false;
  if (asked !== generation) fetchAhead();
}

function show() {
  const one = questions[0];
  document.body.dataset.shown = one?.key ?? "";
  find("examples").replaceChildren();
  if (!one) {
    find("question").textContent = outbox.keys().size ? "One moment…" : "Nothing is left to ask you.";
    find("which").textContent = "";
    find("bag").replaceChildren();
    return;
  }
  const name = document.createElement("b");
  name.textContent = one.class_name;
  find("question").replaceChildren("Is there a ", name, ` in this ${one.bag_word}?`);
  find("which").textContent = one.bag.id + (one.audit ? " · an audit question, drawn at random" : "");
  find("bag").replaceChildren(drawBag(one.bag, one.evidence));
  find("bag").classList.toggle("highlight", highlighted);
  if (one.examples.length) {
    find("examples").append("Answered yes before: ", ...one.examples.map(drawExample));
  }
  shownAt = performance.now();
}

function answer(said) {
  const one = questions.shift();
  if (!one) return;
  answered.add(one.key);
  outbox.send("/api/answers", { key: one.key, answer: said, seconds: (performance.now() - shownAt) / 1000, highlighted });
  show();
  if (questions.length < AHEAD) fetchAhead();
}

function undo() {
  questions = [];
  find("question").textContent = "One moment…";
  outbox.send("/api/undo", { key: newKey() }).then(() => {
    generation += 1;
    questions = [];
    fetchAhead();
  });
}

async function refreshStatus() {
  let status;
  try {
    status = await get("/api/status");
  } catch {
    return;
  }
  find("name").textContent = status.name;
  document.title = `Bagwise: ${status.name}`;
  const percent = (value) => `${Math.round(100 * value)} %`;
  const figures = [
    ["answers", status.answers],
    ["pairs known", percent(status.filled)],
    ["right about random pairs", status.quality === null ? "not known yet"
      : `${percent(status.quality)} (${percent(status.quality_low)} to ${percent(status.quality_high)})`],
    ["seconds per answer", status.seconds_per_answer === null ? "" : status.seconds_per_answer.toFixed(1)],
    ["you are", status.annotator],
  ];
  find("figures").replaceChildren(...figures.flatMap(([term, value]) => {
    const dt = document.createElement("dt");
    const dd = document.createElement("dd");
    dt.textContent = term;
    dd.textContent = value;
    return [dt, dd];
  }));
  find("classes").tBodies[0].replaceChildren(...status.classes.map((one) => {
    const row = document.createElement("tr");
    const total = one.present + one.absent + one.unsure + one.open;
    for (const text of [one.name, one.present, one.absent, percent((one.present + one.absent) / total)]) {
      row.insertCell().textContent = text;
    }
    return row;
  }));
}

function press(key) {
  if (key in ANSWERS) answer(ANSWERS[key]);
  else if (UNDO.includes(key)) undo();
  else if (key === "h") {
    highlighted = !highlighted;
    find("bag").classList.toggle("highlight", highlighted);
  } else if (key === "b" && questions[0]) {
    find("which").textContent = `The model believes it with ${Math.round(100 * questions[0].belief)} %.`;
  } else if (key === "?") find("help").showModal();
  else return pressMedium(key);
  return true;
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.repeat || document.querySelector("dialog[open]")) return;
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  if (key === " " && event.target.closest("button, a, input, select, summary")) return;
  if (press(key)) event.preventDefault();
});
for (const button of document.querySelectorAll("#buttons button")) {
  button.addEventListener("click", () => press(button.dataset.key));
}
// After a click the keys are the page's again: else Space, which replays, would press the button once more.
document.addEventListener("click", (event) => event.detail && event.target.closest("button")?.blur());
find("help-button").addEventListener("click", () => find("help").showModal());

await enter();
outbox.resume();
fetchAhead();
refreshStatus();
