// Who answers. A token comes in the part of the address that is never sent (#token=...), or is pasted into the form.

const PERSON = "bagwise-person";
const OUTBOX = "bagwise-outbox";

const find = (id) => document.getElementById(id);

const post = (path, body) => fetch(path, {
  method: "POST",
  headers: { "Content-Type": "application/json" },
  body: JSON.stringify(body),
});

// Whoever calls the API and is told 401 calls this; nothing is lost, what was not saved yet waits in the outbox.
export function signedOut() {
  if (find("sign-in").open) return;
  find("sign-in").showModal();
  find("token").focus();
}

async function signIn(token) {
  let response;
  try {
    response = await post("/api/sign-in", { token });
  } catch {
    return "The server cannot be reached: try again.";
  }
  const said = await response.json();
  if (!response.ok) return typeof said.detail === "string" ? said.detail : "This is no token.";
  changePlaces(localStorage.getItem(PERSON), said.name);
  return null;
}

// What one person said and could not be saved yet is never sent as another's: it waits until they are back.
function changePlaces(before, now) {
  localStorage.setItem(PERSON, now);
  if (before === null || before === now) return;
  const move = (from, to) => {
    for (const name of Object.keys(localStorage).filter((one) => one.startsWith(from))) {
      localStorage.setItem(to + name.slice(from.length), localStorage.getItem(name));
      localStorage.removeItem(name);
    }
  };
  move(OUTBOX, `of/${before}/${OUTBOX}`);
  move(`of/${now}/${OUTBOX}`, OUTBOX);
}

async function showMe() {
  const response = await fetch("/api/me").catch(() => null);
  if (response?.status === 401) signedOut();
  if (!response?.ok) return;
  const me = await response.json();
  find("me").hidden = !me.signed_in;
  find("me-name").textContent = me.name;
}

// Everything starts anew with whoever it is now: what was fetched or kept in memory may be another person's.
async function signInWith(token) {
  const refused = await signIn(token);
  if (refused === null) location.reload();
  else find("sign-in-said").textContent = refused;
}

// The way in, before anything else is asked of the server.
export async function enter() {
  const token = new URLSearchParams(location.hash.slice(1)).get("token");
  if (token !== null) {
    history.replaceState(null, "", location.pathname);
    signedOut();
    await signInWith(token);
  }
  await showMe();
  // Signing in loads the page anew: until then there is nothing to ask for.
  if (find("sign-in").open) await new Promise(() => {});
}

find("sign-in").addEventListener("cancel", (event) => event.preventDefault());
find("sign-in-form").addEventListener("submit", async (event) => {
  event.preventDefault();
  await signInWith(find("token").value.trim().split("#token=").at(-1));
});
find("sign-out").addEventListener("click", async () => {
  await post("/api/sign-out", {}).catch(() => null);
  location.reload();
});
