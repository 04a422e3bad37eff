// Does it learn? The live panel: refreshed after answers, but never so often that answering would wait for it.

import { Chart } from "/static/chart.js";
import { find, get, make, percent } from "/static/dom.js";

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
    show(await get("/api/progress", { target: target.value }));
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
  find("checks").textContent = found.audits;
  find("key-truth").hidden = found.curve.every((one) => one.truth === null);
  find("forecast").textContent = forecast(found);
  find("classes").replaceChildren(...found.classes.map(classRow));
  // After a restart the true quality of older answers is still being worked out.
  if (found.curve.some((one) => one.truth === null) && found.curve[0].truth !== null) refreshSoon();
}

function showFigures(found) {
  const quality = found.quality === null ? ["–", "after more random checks"]
    : [percent(found.quality), `${percent(found.quality_low)} to ${percent(found.quality_high)}`];
  const seconds = found.seconds_per_answer === null ? "–" : `${found.seconds_per_answer.toFixed(1)} s`;
  const figures = [
    ["answers", found.answers, `${percent(found.filled)} known`],
    ["quality", ...quality],
    ["per answer", seconds, "median"],
  ];
  find("figures").replaceChildren(...figures.map(([term, value, note]) =>
    make("div", {}, make("dt", {}, term), make("dd", {}, String(value)), make("dd", { class: "note" }, note))));
}

function forecast(found) {
  const one = found.forecast;
  if (one === null) return "cannot be said yet";
  if (one.more === null) return "more answers alone will hardly do";
  if (one.more === 0) return "reached";
  const range = one.high === null ? `at least ${one.low}` : `${one.low} to ${one.high}`;
  return `about ${one.more} more answers (${range})`;
}

function classRow(one) {
  const total = Math.max(1, one.present + one.absent + one.unsure + one.open);
  const told = Object.entries(PARTS).map(([part, word]) => `${one[part]} ${word}`).join(", ");
  const bar = make("span", { class: "bar", role: "img", "aria-label": told, title: told });
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

const kept = localStorage.getItem(TARGET);
if ([...target.options].some((one) => one.value === kept)) target.value = kept;
target.addEventListener("change", () => {
  localStorage.setItem(TARGET, target.value);
  refresh();
});
document.addEventListener("visibilitychange", () => document.hidden || refreshSoon());
