// Answers and imported labels: filtered, paged, and corrected in place. A correction is a new answer; both are kept.

import { drawExample, whereabouts } from "/static/bag.js";
import { find, get, make, newKey, WORDS } from "/static/dom.js";
import { nameOf } from "/static/instances.js";
import { recorded } from "/static/recorded.js";
import { pager } from "/static/views.js";

const COUNT = 20;
const SAYABLE = ["present", "absent", "unsure"];

let outbox = null;
let start = 0;
let asked = 0; // Only the answer to the last request is shown.

export function startHistory(box) {
  outbox = box;
  find("history-filters").addEventListener("change", () => showHistory(0));
}

export async function showHistory(first = start) {
  start = first;
  asked += 1;
  const mine = asked;
  let found;
  try {
    found = await (find("history-imported").checked ? importedLabels() : answers());
  } catch (error) {
    find("history-message").textContent = error.message;
    return;
  }
  if (mine !== asked) return;
  if (start && start >= found.of) return void showHistory(Math.max(0, start - COUNT));
  find("history").replaceChildren(...found.answers.map(item));
  find("history-message").textContent = found.of ? "" : "No answer fits.";
  pager(find("history-pager"), start, COUNT, found.of, showHistory);
}

async function answers() {
  const found = await get("/api/review/answers", {
    class_name: find("history-class").value,
    answer: find("history-answer").value,
    annotator: find("history-person").value,
    disagreement: find("history-disagreement").checked,
    ...recorded("history"),
    start,
    count: COUNT,
  });
  fillPeople(found.people);
  return found;
}

// Imported labels are present or absent, and have no author.
async function importedLabels() {
  const answer = find("history-answer").value;
  if (!["", "present", "absent"].includes(answer)) return { of: 0, answers: [] };
  const found = await get("/api/review/imported", { class_name: find("history-class").value, answer, ...recorded("history"), start, count: COUNT });
  return { of: found.of, answers: found.labels };
}

function fillPeople(people) {
  const select = find("history-person");
  if (select.options.length === people.length + 1) return;
  const chosen = select.value;
  select.replaceChildren(make("option", { value: "" }, "everybody"), ...people.map((name) => make("option", { value: name }, name)));
  select.value = people.includes(chosen) ? chosen : "";
}

function item(one) {
  const ofInstance = (one.instance ?? null) !== null;
  const place = ` in ${ofInstance ? `${nameOf(one.bag, one.instance)} of ` : ""}${one.bag_id}`;
  const what = `${one.class_name}${place}`;
  const shown = one.where?.length ? one.where : ofInstance ? [one.instance] : null;
  const when = one.at && new Date(one.at).toLocaleString([], { dateStyle: "medium", timeStyle: "short" });
  const corrected = one.replaced && `corrected, before: ${before(one.replaced)}`;
  const note = [one.annotator ?? "imported", when, corrected, one.audit ? "random check" : ""];
  const choices = SAYABLE.map((answer) => make("button", {
    type: "button",
    class: answer,
    "aria-pressed": String(answer === one.answer),
    "aria-label": `${what}: ${WORDS[answer]}`,
    onclick: () => answer !== one.answer && correct(one, answer),
  }, WORDS[answer]));
  return make("li", { "data-number": one.number ?? null },
    make("div", { class: `thumbnail${shown ? " highlight" : ""}` }, drawExample({ ...one.bag, evidence: shown })),
    make("div", { class: "about" },
      make("p", {}, make("b", {}, one.class_name), place, one.answer === "skipped" ? ", skipped" : ""),
      make("p", { class: "note whereabouts" }, whereabouts(one.bag) === one.bag_id ? "" : whereabouts(one.bag)),
      make("p", { class: "pointed" }, pointed(one)),
      make("p", { class: "note" }, note.filter(Boolean).join(" · "))),
    make("div", { class: "choices", role: "group", "aria-label": `Correct ${what}` }, ...choices));
}

// Where it was said to be, in words.
function pointed({ bag, where = [], elsewhere = [], disputed = [] }) {
  const parts = { "here": where, "not here": elsewhere, "people disagree about": disputed };
  const said = Object.entries(parts).filter(([, numbers]) => numbers.length);
  return said.map(([word, numbers]) => `${word}: ${numbers.map((number) => nameOf(bag, number)).join("; ")}`).join(" · ");
}

// What was replaced, and whose it was.
function before(replaced) {
  return `${WORDS[replaced.answer]} ${replaced.annotator === null ? "(imported)" : `(${replaced.annotator})`}`;
}

async function correct(one, answer) {
  find("history-message").textContent = "Saving…";
  const sent = one.number === undefined
    ? ["/api/corrections/imported", { key: newKey(), bag: one.bag_id, class_name: one.class_name, answer }]
    : ["/api/corrections", { key: newKey(), number: one.number, answer }];
  const saved = await outbox.send(...sent);
  await showHistory();
  const was = before({ answer: one.answer, annotator: one.annotator ?? null });
  find("history-message").textContent = saved ? `Corrected: ${one.class_name} in ${one.bag_id}, ${WORDS[answer]}; before: ${was}.` : find("message").textContent;
}
