// Questions about the bags of a region of the map alone, until a person lifts the limit; kept while the tab is open.

import { find } from "/static/dom.js";
import { whose } from "/static/signin.js";

const name = () => `bagwise-limit/${whose()}`;
const stored = () => JSON.parse(sessionStorage.getItem(name()) ?? "null");

let onChange = () => {};

export function startLimit(changed) {
  onChange = changed;
  find("lift").addEventListener("click", lift);
  show();
}

// What is added to a request for questions.
export const limited = () => (stored() ? { region: stored().region } : {});

export function limitTo(region, bags) {
  sessionStorage.setItem(name(), JSON.stringify({ region, bags }));
  show();
  onChange();
}

export function lift() {
  sessionStorage.removeItem(name());
  show();
  onChange();
}

function show() {
  const limit = stored();
  find("limit").hidden = !limit;
  find("limit-words").textContent = limit ? `Only about ${limit.bags === 1 ? "one bag" : `${limit.bags} bags`} that you chose on the map.` : "";
}
