// Filters by where and when bags were recorded, for every view that is about bags; hidden where nothing of it is known.

import { find, make } from "/static/dom.js";

const VIEWS = ["limit", "history", "belief", "map", "download"];
const FIELDS = { site: "site", from_date: "from", to_date: "to", hours: "hours" };

// Offers the sites and days of the project.
export function fillRecorded({ sites, first_date: first, last_date: last }) {
  const names = sites.map((one) => one.name).filter(Boolean);
  for (const view of VIEWS) {
    const place = find(`${view}-recorded`);
    place.replaceChildren(...(names.length ? [site(view, names)] : []), ...(first ? times(view, first, last) : []));
    place.hidden = !place.children.length;
  }
}

function site(view, names) {
  const options = names.map((name) => make("option", { value: name }, name));
  return make("label", {}, "Site ", make("select", { id: `${view}-site` }, make("option", { value: "" }, "all sites"), ...options));
}

function times(view, first, last) {
  const day = (id, word) => make("label", {}, `${word} `, make("input", { type: "date", id: `${view}-${id}`, min: first, max: last }));
  const hours = make("input", { id: `${view}-hours`, placeholder: "4-9", size: "6", maxlength: "13", autocomplete: "off" });
  return [day("from", "From"), day("to", "To"), make("label", {}, "Hours ", hours)];
}

// What was chosen in a view, as the API takes it.
export function recorded(view) {
  return Object.fromEntries(Object.entries(FIELDS).map(([name, id]) => [name, find(`${view}-${id}`)?.value.trim() ?? ""]));
}

export function setRecorded(view, chosen) {
  for (const [name, id] of Object.entries(FIELDS)) {
    const field = find(`${view}-${id}`);
    if (field) field.value = chosen[name] ?? "";
  }
}

// What was chosen, as in "at reed, from 2026-05-01, to 2026-05-31, 4-9"; empty where nothing was.
export function inWords({ site: name, from_date: from, to_date: to, hours }) {
  return [name && `at ${name}`, from && `from ${from}`, to && `to ${to}`, hours && `at ${hours}`].filter(Boolean).join(", ");
}
