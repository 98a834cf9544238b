// Lists the calls that wait for a person, and sends what that person decides. Whatever comes from
// a client or a tool is shown as text, never as markup.
"use strict";

const KEPT = "gantry-admin-token";
const PAUSE = 2000;
const SCOPES = [
  ["once", "this once", "once"],
  ["session", "for this session", "session"],
  ["hour", "for an hour", { for: "1h" }],
  ["day", "for a day", { for: "24h" }],
  ["matching", "these exact arguments, for 30 days", { matching: true, for: "30d" }],
];

const at = (id) => document.getElementById(id);
let shown = "";

function element(name, className, text) {
  const made = document.createElement(name);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
}

async function ask(method, path, body) {
  const headers = { Authorization: `Bearer ${sessionStorage.getItem(KEPT) ?? ""}` };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  const response = await fetch(path, { method, headers, body: body && JSON.stringify(body) });
  const told = await response.json().catch(() => ({}));
  if (response.status === 401) {
    sessionStorage.removeItem(KEPT);
    enter("That is not the token.");
  }
  if (!response.ok) throw new Error(told.error?.error_message ?? `the gateway answers ${response.status}`);
  return told;
}

function enter(why) {
  at("board").hidden = true;
  at("entry").hidden = false;
  at("state").textContent = why;
  at("token").focus();
}

function when(seconds) {
  return new Date(seconds * 1000).toLocaleString();
}

function facts(entry) {
  const client = entry.client ? ` with ${entry.client}` : "";
  const server = entry.server ? ` · server ${entry.server}` : "";
  return `${entry.principal}${client}${server} · ${when(entry.since)}`;
}

function described(entry, className) {
  const card = element("article", `card ${className}`);
  card.append(element("div", "name", entry.tool));
  card.append(element("p", "facts", facts(entry)));
  card.append(element("p", "facts", `Stopped because ${entry.reason}.`));
  card.append(element("pre", "", exact(entry)));
  return card;
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
  card.append(element("p", "facts", `Refused by itself at ${when(entry.expires)}.`));
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
  choice.append(scope, ...buttons);
  card.append(choice);
  return card;
}

async function decide(id, decision, scope, choice) {
  for (const control of choice.children) control.disabled = true;
  const body = { decision, by: "the web page" };
  if (decision === "approve") body.scope = SCOPES.find(([value]) => value === scope)[2];
  try {
    await ask("POST", `/api/approvals/${encodeURIComponent(id)}`, body);
  } catch (error) {
    at("state").textContent = error.message;
  }
  shown = "";
  await refresh();
}

function granted(grant) {
  const card = element("article", "card");
  const until = grant.expires ? ` until ${when(grant.expires)}` : "";
  const limits = [grant.session && "in one session", grant.arguments && "with the same arguments",
    grant.subset && `with ${grant.subset}`].filter(Boolean).join(", ");
  card.append(element("div", "name", grant.tool));
  card.append(element("p", "facts", `${grant.principal}${until}${limits ? `, ${limits}` : ""} · by ${grant.by}`));
  const end = element("button", "no", "End it");
  end.addEventListener("click", async () => {
    end.disabled = true;
    await ask("DELETE", `/api/approvals/${encodeURIComponent(grant.id)}`).catch(() => {});
    shown = "";
    await refresh();
  });
  card.append(end);
  return card;
}

function past(entry) {
  const card = described(entry, "");
  card.append(element("p", entry.verdict, `${entry.verdict} by ${entry.by}, ${when(entry.at)}`));
  return card;
}

function fill(place, entries, make) {
  const cards = entries.map(make);
  at(place).replaceChildren(...(cards.length ? cards : [element("p", "empty", "None.")]));
}

async function refresh() {
  if (!sessionStorage.getItem(KEPT)) return enter("");
  try {
    const all = await ask("GET", "/api/approvals");
    at("entry").hidden = true;
    at("board").hidden = false;
    const count = all.pending.length;
    at("state").textContent = count === 1 ? "1 call waits" : `${count} calls wait`;
    document.title = count ? `(${count}) Gantry: approvals` : "Gantry: approvals";
    const now = JSON.stringify(all);
    // A page that is made anew under the hand of a person would lose what they have chosen.
    if (now === shown) return;
    shown = now;
    fill("pending", all.pending, waiting);
    fill("grants", all.grants, granted);
    fill("past", all.past, past);
  } catch (error) {
    at("state").textContent = error.message;
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
