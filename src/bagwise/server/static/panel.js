// Does it learn? The live panel: refreshed after answers, but never so often that answering would wait for it.

import { Chart } from "/static/chart.js";
import { counted, find, get, make, percent } from "/static/dom.js";

const PAUSE = 1000;
const TARGET = "bagwise-target";
const PARTS = { present: "yes", absent: "no", unsure: "unsure", open: "open" };

const chart = new Chart(find("chart"));
const target = find("target");
let waiting = null;
let asking = false;
let again = false;

export function refreshSoon() {
  waiting ??= setTimeout(refresh, PAUSE);
}

export async function refresh() {
  clearTimeout(waiting);
  waiting = null;
  if (asking) {
    again = true;
    return;
  }
  asking = true;
  try {
    show(await get("/api/progress", { target: localStorage.getItem(TARGET) ?? "" }));
  } catch {
    // The next answer asks again.
  }
  asking = false;
  if (again) refreshSoon();
  again = false;
}

function show(found) {
  find("name").textContent = found.name;
  document.title = `Bagwise: ${found.name}`;
  showFigures(found);
  chart.draw(found.curve);
  find("checks").textContent = counted(found.audits, "random check");
  find("key-truth").hidden = found.curve.every((one) => one.truth === null);
  showTarget(found.target);
  find("forecast").textContent = found.forecast_sentence;
  find("in-words").textContent = found.sentence ?? "";
  find("verdict").hidden = !found.verdict?.stop;
  find("verdict").textContent = found.verdict?.stop ? `You could stop. ${found.verdict.why}` : "";
  for (const place of document.querySelectorAll(".metric")) place.textContent = found.metric_title;
  find("metric-meaning").textContent = `${found.metric_title[0].toUpperCase()}${found.metric_title.slice(1)}: ${inSentence(found.metric_description)}`;
  for (const place of document.querySelectorAll(".bags")) place.textContent = `${found.bag_word}s`;
  find("classes").replaceChildren(...found.classes.map(classRow));
  showQuality(found.classes);
  // The quality is worked out beside the answers, and after a restart the true one of older answers as well.
  const truthLags = found.curve[0].truth !== null && found.curve.at(-1).truth === null;
  if (truthLags || found.pending) refreshSoon();
}

function showFigures(found) {
  // It is estimated beside the answers, and may be of fewer of them.
  const of = found.curve.findLast((one) => one.estimate !== null)?.answers ?? found.answers;
  const when = of < found.answers ? `, after ${of}` : "";
  const quality = found.quality === null ? ["–", "after more answers"]
    : [percent(found.quality.value), `${percent(found.quality.low)} to ${percent(found.quality.high)}${when}`];
  const seconds = found.seconds_per_answer === null ? "–" : `${found.seconds_per_answer.toFixed(1)} s`;
  const figures = [
    ["answers", found.answers, `${percent(found.filled)} known`],
    [found.metric_title, ...quality],
    ["per answer", seconds, "median"],
  ];
  find("figures").replaceChildren(...figures.map(([term, value, note]) =>
    make("div", {}, make("dt", {}, term), make("dd", {}, String(value)), make("dd", { class: "note" }, note))));
  const parts = [[found.unsure, "of them unsure"], [found.skipped, "skipped"], [found.replaced, "corrected or taken back, counted once or not at all"]];
  find("answers-note").textContent = parts.filter(([count]) => count).map((part) => part.join(" ")).join(" · ");
}

const inSentence = (text) => text[0].toLowerCase() + text.slice(1);

// How well the model does on every class, in a sentence, and as shares that need no explanation of precision and recall.
function showQuality(classes) {
  const known = classes.filter((one) => one.prevalence);
  find("by-class").hidden = !known.length;
  find("by-class-words").replaceChildren(...known.map(sentenceItem));
  // A name has a row of its own: beside three estimates there is no room for it.
  find("by-class-rows").replaceChildren(...known.flatMap((one) => [
    make("tr", {}, make("th", { scope: "rowgroup", colspan: "3" }, one.name)),
    make("tr", {}, having(one), share(one.found), share(one.false_alarms)),
  ]));
}

// A sentence begins with the name of its class.
function sentenceItem({ name, sentence }) {
  return make("li", {}, make("b", {}, name), sentence.slice(name.length));
}

function share(one) {
  if (!one) return make("td", {}, "–");
  return estimate(percent(one.value), Math.round(100 * one.low), Math.round(100 * one.high));
}

// How many of the bags have the class.
function having(one) {
  if (!one.prevalence) return make("td", {}, "–");
  const bags = one.present + one.absent + one.unsure + one.open;
  return estimate(...["value", "low", "high"].map((end) => Math.round(bags * one.prevalence[end])));
}

const estimate = (value, low, high) => make("td", {}, String(value), make("span", { class: "note" }, ` ${low}–${high}`));

function classRow(one) {
  const total = Math.max(1, one.present + one.absent + one.unsure + one.open);
  const description = Object.entries(PARTS).map(([part, word]) => `${one[part]} ${word}`).join(", ");
  const bar = make("span", { class: "bar", role: "img", "aria-label": description, title: description });
  for (const part of Object.keys(PARTS)) {
    if (!one[part]) continue;
    const piece = make("span", { class: part });
    piece.style.flexGrow = one[part] / total;
    bar.append(piece);
  }
  const name = make("span", { class: "class-name" }, one.name);
  if (one.rare) name.append(" ", make("span", { class: "rare", title: "hardly ever found present" }, "rare"));
  const counts = make("span", { class: "counts", "aria-hidden": "true" }, `${one.present} / ${one.absent}`);
  return make("li", {}, name, bar, counts);
}

// The project's own target unless a person chose another.
function showTarget(value) {
  if (![...target.options].some((one) => Number(one.value) === value)) {
    target.append(make("option", { value: String(value) }, percent(value)));
  }
  target.value = [...target.options].find((one) => Number(one.value) === value).value;
}

target.addEventListener("change", () => {
  localStorage.setItem(TARGET, target.value);
  refresh();
});
document.addEventListener("visibilitychange", () => document.hidden || refreshSoon());
