// What the model believes about bags without an answer: sorted, and accepted or rejected many at a time.

import { drawExample, whereabouts } from "/static/bag.js";
import { counted, find, get, make, newKey, percent, WORDS } from "/static/dom.js";
import { recorded } from "/static/recorded.js";
import { pager } from "/static/views.js";

const COUNT = 24;

let outbox = null;
let start = 0;
let asked = 0; // Only the answer to the last request is shown.
let onSaved = () => {};

export function startPredictions(box, saved) {
  outbox = box;
  onSaved = saved;
  for (const one of document.querySelectorAll("#belief-class, #belief-order, #belief-recorded select, #belief-recorded input")) {
    one.addEventListener("change", () => showPredictions(0));
  }
  find("belief-all").addEventListener("change", (event) => {
    for (const box of boxes()) box.checked = event.target.checked;
    count();
  });
  find("beliefs").addEventListener("change", count);
  find("accept").addEventListener("click", () => say("present"));
  find("reject").addEventListener("click", () => say("absent"));
}

export async function showPredictions(first = start) {
  start = first;
  asked += 1;
  const mine = asked;
  const name = find("belief-class").value;
  if (!name) return;
  let found;
  try {
    found = await get("/api/review/predictions", { class_name: name, order: find("belief-order").value, ...recorded("belief"), start, count: COUNT });
  } catch (error) {
    find("belief-message").textContent = error.message;
    return;
  }
  if (mine !== asked) return;
  if (start && start >= found.of) return void showPredictions(Math.max(0, start - COUNT));
  find("beliefs").replaceChildren(...found.bags.map((one) => item(one, name)));
  find("belief-model").textContent = found.model.sentence;
  find("belief-all").checked = false;
  count();
  pager(find("belief-pager"), start, COUNT, found.of, showPredictions);
}

const boxes = () => [...document.querySelectorAll("#beliefs input")];
const chosen = () => boxes().filter((box) => box.checked).map((box) => box.value);

function item(one, name) {
  const description = `${whereabouts(one.bag)}: ${name} is believed with ${percent(one.belief)}`;
  return make("li", {}, make("label", {},
    make("input", { type: "checkbox", value: one.bag.id, "aria-label": description }),
    make("div", { class: "thumbnail highlight" }, drawExample({ ...one.bag, evidence: one.evidence })),
    make("span", { class: "note" }, whereabouts(one.bag), make("b", {}, percent(one.belief)))));
}

function count() {
  const number = chosen().length;
  find("accept").textContent = number ? `Yes to ${number}` : "Yes to all chosen";
  find("reject").textContent = number ? `No to ${number}` : "No to all chosen";
  find("accept").disabled = find("reject").disabled = number === 0;
}

async function say(answer) {
  const bags = chosen();
  const name = find("belief-class").value;
  find("accept").disabled = find("reject").disabled = true;
  find("belief-message").textContent = "Saving…";
  const saved = await outbox.send("/api/review/answers", { key: newKey(), class_name: name, answer, bags });
  onSaved();
  await showPredictions();
  find("belief-message").textContent = saved ? `Saved: ${name}, ${WORDS[answer]}, for ${counted(bags.length, "bag")}.` : find("message").textContent;
}
