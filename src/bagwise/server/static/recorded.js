// Filters by where and when bags were recorded, for the views that list bags; hidden where nothing of it is known.

import { find, make } from "/static/dom.js";

const VIEWS = ["history", "belief"];

// Offers the sites and days of the project.
export function fillRecorded({ sites, first_date: first, last_date: last }) {
  const names = sites.map((one) => one.name).filter(Boolean);
  for (const view of VIEWS) {
    const place = find(`${view}-recorded`);
    place.hidden = !names.length && !first;
    place.querySelector(".of-site").hidden = !names.length;
    for (const one of place.querySelectorAll(".of-time")) one.hidden = !first;
    find(`${view}-site`).append(...names.map((name) => make("option", { value: name }, name)));
    for (const id of ["from", "to"]) Object.assign(find(`${view}-${id}`), { min: first ?? "", max: last ?? "" });
  }
}

// What was chosen in a view, as the API takes it.
export function recorded(view) {
  const [site, from_date, to_date, hours] = ["site", "from", "to", "hours"].map((id) => find(`${view}-${id}`).value.trim());
  return { site, from_date, to_date, hours };
}
