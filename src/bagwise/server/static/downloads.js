// Labels, predictions, detections, answers and the model as files.

import { find, get, make } from "/static/dom.js";
import { recorded } from "/static/recorded.js";
import { expected, signedOut } from "/static/signin.js";

const ABOUT = {
  labels: "What is known: imported, or decided by answers. Unknown stays unknown.",
  predictions: "What the model believes about every bag and class.",
  detections: "Each sound, region or passage that is of a class: where and when it is, and how sure that is.",
  answers: "All answers: who, when, what, how long it took, corrections and all.",
  model: "The model that the predictions come from; bagwise predict and the library read it.",
};

export async function showDownloads() {
  if (!find("downloads").children.length) find("download-message").textContent = "One moment…";
  try {
    find("downloads").replaceChildren(...(await get("/api/downloads")).map(item));
    find("download-message").textContent = "";
  } catch (error) {
    find("download-message").textContent = error.message;
  }
}

function item({ what, forms, model }) {
  const buttons = forms.map((form) => make("button", {
    type: "button",
    "aria-label": `Download ${what} as ${form}`,
    onclick: () => download(what, form),
  }, form.replaceAll("_", " ")));
  return make("li", {}, make("h2", {}, what), make("p", { class: "note" }, ABOUT[what]),
    ...(model ? [make("p", { class: "note model" }, model.sentence)] : []), make("div", { class: "forms" }, ...buttons));
}

async function download(what, form) {
  const message = find("download-message");
  message.textContent = `Preparing the ${what}…`;
  try {
    // A model is that of all bags.
    const given = Object.entries({ form, ...(what === "model" ? {} : recorded("download")) }).filter(([, value]) => value);
    const response = await fetch(`/api/downloads/${what}?${new URLSearchParams(given)}`, { headers: expected() });
    if (response.status === 401) signedOut();
    if (!response.ok) throw new Error((await response.json()).detail);
    const named = /filename\*?=(?:utf-8''|")?([^";]+)/i.exec(response.headers.get("Content-Disposition") ?? "");
    const address = URL.createObjectURL(await response.blob());
    make("a", { href: address, download: named ? decodeURIComponent(named[1]) : what }).click();
    setTimeout(() => URL.revokeObjectURL(address), 60_000);
    message.textContent = `Downloaded the ${what}.`;
  } catch (error) {
    message.textContent = error.message;
  }
}
