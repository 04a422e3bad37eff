// Questions about some bags alone, until a person lifts the limit: those of a region of the map, or of some sites, days and
// hours. Kept while the tab is open.

import { find } from "/static/dom.js";
import { inWords, recorded, setRecorded } from "/static/recorded.js";
import { whose } from "/static/signin.js";

const name = () => `bagwise-limit/${whose()}`;
const stored = () => JSON.parse(sessionStorage.getItem(name()) ?? "null");

let onChange = () => {};

export function startLimit(changed) {
  onChange = changed;
  find("lift").addEventListener("click", lift);
  find("limit-recorded").addEventListener("change", () => keep({ ...stored(), recorded: recorded("limit") }));
  // The keys are the page's again, which answer.
  find("limit-recorded").addEventListener("keydown", ({ key, target }) => key === "Enter" && target.blur());
  showLimit();
}

// What is added to a request for questions.
export const limited = () => ({ region: stored()?.region ?? "", ...stored()?.recorded });

export function limitTo(region, bags, where) {
  keep({ region, bags, recorded: where });
}

// Whether there was a limit.
export function lift() {
  const was = stored() !== null;
  keep({});
  return was;
}

function keep(limit) {
  const isNone = !limit.region && !inWords(limit.recorded ?? {});
  if (isNone) sessionStorage.removeItem(name());
  else sessionStorage.setItem(name(), JSON.stringify(limit));
  showLimit();
  onChange();
}

export function showLimit() {
  const { bags, recorded: where = {} } = stored() ?? {};
  const chosen = bags && `${bags === 1 ? "one bag" : `${bags} bags`} that you chose on the map`;
  const said = inWords(where) && `what was recorded ${inWords(where)}`;
  find("limit").hidden = stored() === null;
  find("limit-words").textContent = `Only about ${[chosen, said].filter(Boolean).join(" and ")}; no random checks.`;
  find("limit-by").hidden = find("limit-recorded").hidden;
  setRecorded("limit", where);
}
