// One page, several views: the part of the address after # says which one is shown.

import { find } from "/static/dom.js";

export const shownView = () => document.body.dataset.view;

// `opened` has a function for every view that wants to know when it is shown.
export function startViews(opened) {
  const links = [...document.querySelectorAll("nav a")];
  const names = links.map((link) => link.hash.slice(1));

  function show(moveFocus) {
    const name = names.includes(location.hash.slice(1)) ? location.hash.slice(1) : names[0];
    document.body.dataset.view = name;
    for (const one of names) find(`view-${one}`).hidden = one !== name;
    for (const link of links) link.toggleAttribute("aria-current", false);
    links[names.indexOf(name)].setAttribute("aria-current", "page");
    if (moveFocus) find(`view-${name}`).querySelector("h1")?.focus({ preventScroll: true });
    window.scrollTo(0, 0);
    opened[name]?.();
  }

  window.addEventListener("hashchange", () => show(true));
  show(false);
}

// Sets the number of the first one shown, and offers the ones before and after.
export function pager(place, start, count, of, go) {
  const [before, shown, after] = place.children;
  shown.textContent = of === 0 ? "none" : `${start + 1} to ${Math.min(start + count, of)} of ${of}`;
  before.disabled = start === 0;
  after.disabled = start + count >= of;
  before.onclick = () => go(Math.max(0, start - count));
  after.onclick = () => go(start + count);
}
