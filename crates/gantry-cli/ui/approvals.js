// Lists the calls that wait for a person, and sends what that person decides. Whatever comes from
// a client or a tool is shown as text, never as markup.
"use strict";

const KEPT = "gantry-admin-token";
const PAUSE = 2000;
// So many characters of arguments may not fit into their box.
const LONG = 700;
const SCOPES = [
  ["once", "this once", "once"],
  ["session", "for this session", "session"],
  ["hour", "for an hour", { for: "1h" }],
  ["day", "for a day", { for: "24h" }],
  ["always", "always for this tool", "always"],
  ["matching", "these exact arguments, for 30 days", { matching: true, for: "30d" }],
];

const at = (id) => document.getElementById(id);
// What was said last about an answer that failed; the next answer that works takes it away.
let trouble = "";

function element(name, className, text) {
  const made = document.createElement(name);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
}

// The token was not taken, and the page has said so.
class Refused extends Error {}

async function ask(method, path, body) {
  const headers = { Authorization: `Bearer ${sessionStorage.getItem(KEPT) ?? ""}` };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  const response = await fetch(path, { method, headers, body: body && JSON.stringify(body) }).catch(() => {
    throw new Error("The gateway cannot be reached; trying again.");
  });
  const told = await response.json().catch(() => ({}));
  if (response.status === 401) {
    sessionStorage.removeItem(KEPT);
    enter("That token is not good, or no longer; give the one of the gateway that runs.");
    throw new Refused();
  }
  if (!response.ok) throw new Error(told.error?.error_message ?? `the gateway answers ${response.status}`);
  return told;
}

function enter(why) {
  at("board").hidden = true;
  at("entry").hidden = false;
  document.title = "Gantry: approvals";
  say(why, true);
  at("token").focus();
}

function say(text, isTrouble) {
  at("state").textContent = text;
  at("state").className = isTrouble ? "trouble" : "";
}

function when(seconds) {
  return new Date(seconds * 1000).toLocaleString();
}

// How long it is until then, roughly.
function left(seconds) {
  const rest = Math.max(0, seconds - Date.now() / 1000);
  return rest < 90 ? `${Math.round(rest)} seconds` : `${Math.round(rest / 60)} minutes`;
}

function facts(entry) {
  const parts = [`caller ${entry.principal}`, entry.client && `client ${entry.client}`,
    entry.server && `server ${entry.server}`, `call ${entry.id}`, when(entry.since)];
  return parts.filter(Boolean).join(" · ");
}

function described(entry, className) {
  const card = element("article", `card ${className}`);
  card.append(element("div", "name", entry.tool));
  card.append(element("p", "facts", facts(entry)));
  card.append(element("p", "facts", `Stopped because ${entry.reason}.`));
  return card;
}

// The arguments, and what a person might miss about them.
function withArguments(entry) {
  const text = exact(entry);
  const pre = element("pre", "", text);
  pre.tabIndex = 0;
  const notes = [];
  if (entry.argumentsText.includes("…")) notes.push("What is shown as … is kept secret or left out.");
  if (text.length > LONG) notes.push(`These are ${text.length} characters: scroll to see them all.`);
  return [pre, ...notes.map((note) => element("p", "facts", note))];
}

// The arguments as they were written. They are laid out only if that loses nothing: a number with
// many digits, or a member that is there twice, would look different.
function exact(entry) {
  const text = entry.argumentsText;
  const same = JSON.stringify(entry.arguments) === text;
  return same ? JSON.stringify(entry.arguments, null, 2) : text;
}

function waiting(entry) {
  const card = described(entry, "waits");
  card.append(...withArguments(entry));
  const end = element("p", "facts");
  end.dataset.expires = entry.expires;
  end.dataset.waiting = entry.waiting;
  card.append(end);
  const choice = element("div", "choice");
  const scope = element("select");
  scope.setAttribute("aria-label", "How far the approval reaches");
  for (const [value, label] of SCOPES) {
    if (value === "session" && !entry.session) continue;
    const option = element("option", "", label);
    option.value = value;
    scope.append(option);
  }
  const buttons = [["yes", "Approve", "approve"], ["no", "Deny", "deny"]].map(([kind, label, decision]) => {
    const button = element("button", kind, label);
    button.addEventListener("click", () => decide(entry.id, decision, scope.value, choice));
    return button;
  });
  const [approve, deny] = buttons;
  choice.append(approve, scope, deny);
  card.append(choice);
  return card;
}

async function decide(id, decision, scope, choice) {
  for (const control of choice.children) control.disabled = true;
  const body = { decision, by: "the web page" };
  if (decision === "approve") body.scope = SCOPES.find(([value]) => value === scope)[2];
  await attempt("POST", id, body);
  for (const control of choice.children) control.disabled = false;
}

// Sends what a person decided. What went wrong stays on the page until something goes well.
async function attempt(method, id, body) {
  try {
    await ask(method, `/api/approvals/${encodeURIComponent(id)}`, body);
    trouble = "";
  } catch (error) {
    if (error instanceof Refused) return;
    trouble = error.message;
  }
  await refresh();
}

function always(grant) {
  return !(grant.expires || grant.session || grant.arguments || grant.subset);
}

function granted(grant) {
  const card = element("article", "card");
  const until = grant.expires ? ` until ${when(grant.expires)}` : "";
  const limits = [grant.session && "in one session", grant.arguments && "with the same arguments",
    grant.subset && `with ${grant.subset}`, always(grant) && "every call of this tool"].filter(Boolean).join(", ");
  card.append(element("div", "name", grant.tool));
  card.append(element("p", "facts", `caller ${grant.principal}${until}${limits ? `, ${limits}` : ""} · given by ${grant.by}`));
  const end = element("button", "no", "End it");
  end.addEventListener("click", async () => {
    end.disabled = true;
    await attempt("DELETE", grant.id);
    end.disabled = false;
  });
  card.append(end);
  return card;
}

function past(entry) {
  const card = described(entry, "");
  card.append(element("p", entry.verdict, `${entry.verdict} by ${entry.by}${entry.via ? ` (${entry.via})` : ""}, ${when(entry.at)}`));
  const more = element("details");
  more.append(element("summary", "", "Arguments"), ...withArguments(entry));
  card.append(more);
  return card;
}

// A card that says the same as before stays as it is: one that is made anew under the hand of a
// person would lose what they have chosen, or be another than the one they meant.
function fill(place, entries, make, nothing) {
  const known = new Map([...at(place).children].map((card) => [card.dataset.entry, card]));
  const cards = entries.map((entry) => {
    const key = JSON.stringify(entry);
    const card = known.get(key) ?? make(entry);
    card.dataset.entry = key;
    return card;
  });
  const wanted = cards.length ? cards : [element("p", "empty", nothing)];
  const present = [...at(place).children];
  for (const card of present) if (!wanted.includes(card)) card.remove();
  wanted.forEach((card, index) => {
    const there = at(place).children[index];
    if (there !== card) at(place).insertBefore(card, there ?? null);
  });
}

// What is held back of a server, or has changed: one line, with the command that accepts it.
function definitions(line) {
  const card = element("article", "card");
  card.append(element("div", "name", line.server || "own tools"));
  card.append(element("p", "facts", line.text));
  return card;
}

async function refresh() {
  if (!sessionStorage.getItem(KEPT)) {
    if (at("entry").hidden) enter("");
    return;
  }
  try {
    const all = await ask("GET", "/api/approvals");
    at("entry").hidden = true;
    at("board").hidden = false;
    const count = all.pending.length;
    say(trouble || (count === 1 ? "1 call waits" : count ? `${count} calls wait` : "nothing waits"), trouble);
    document.title = count ? `(${count}) Gantry: approvals` : "Gantry: approvals";
    fill("pending", all.pending, waiting, "No call waits for you. This page looks again by itself.");
    at("changed").hidden = !all.definitions?.length;
    fill("definitions", all.definitions ?? [], definitions, "Every definition is as it was pinned.");
    fill("grants", all.grants, granted, "Nothing was approved for longer than one call.");
    fill("past", all.past, past, "Nothing was decided yet.");
    for (const end of document.querySelectorAll("[data-expires]")) {
      const note = end.dataset.waiting === "true" ? "" : " Its call has been answered: once approved, it runs when it is repeated.";
      end.textContent = `Open for ${left(end.dataset.expires)}, until ${when(end.dataset.expires)}.${note}`;
    }
  } catch (error) {
    if (!(error instanceof Refused)) say(error.message, true);
  }
}

at("entry").addEventListener("submit", (event) => {
  event.preventDefault();
  sessionStorage.setItem(KEPT, at("token").value.trim());
  at("token").value = "";
  refresh();
});

refresh();
setInterval(refresh, PAUSE);
