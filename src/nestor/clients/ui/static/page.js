// What every page does: keeps its live parts up to date, tells screen readers what is new, and counts the time.

const SECONDS = { d: 86400, h: 3600, m: 60, s: 1 };

/** `3m5s`, `2h`, `4d`: two units below ten of the larger one, else one. */
export function short(seconds) {
  const whole = Math.max(0, Math.floor(seconds));
  if (whole < 120) return `${whole}s`;
  const [unit, smaller] = whole < 7200 ? ["m", "s"] : whole < 172800 ? ["h", "m"] : ["d", "h"];
  const count = Math.floor(whole / SECONDS[unit]);
  const rest = Math.floor((whole % SECONDS[unit]) / SECONDS[smaller]);
  return count < 10 && rest ? `${count}${unit}${rest}${smaller}` : `${count}${unit}`;
}

function tick() {
  const now = Date.now();
  for (const item of document.querySelectorAll("time[data-age]")) {
    const at = new Date(item.dateTime), words = item.dataset.age;
    const text = words === "at" ? at.toLocaleString() : `${short((now - at) / 1000)}${words ? " " + words : ""}`;
    if (item.textContent !== text) item.textContent = text;
    item.title = at.toLocaleString();
  }
  for (const item of document.querySelectorAll("time[data-from]")) {
    const end = item.dataset.to ? new Date(item.dataset.to) : now;
    const text = short((end - new Date(item.dataset.from)) / 1000);
    if (item.textContent !== text) item.textContent = text;
  }
}

function say(text) {
  document.getElementById("announce").textContent = text;
}

function readSaid(part) {
  return new Map([...part.querySelectorAll("[data-say]")].map((item, index) => [item.querySelector("a[id]")?.id ?? index, item.dataset.say]));
}

/** Replace one part's content. Whoever is at a link, a button or a field in it stays there, and what was typed stays as well. */
function replace(part, html, digest) {
  if (part.dataset.digest === digest) return;
  const focused = part.contains(document.activeElement) ? document.activeElement.id : "";
  const before = readSaid(part);
  const typed = new Map([...part.querySelectorAll("input[id], select[id]")].map((item) => [item.id, item.value]));
  const closed = new Set([...part.querySelectorAll("details[id]:not([open])")].map((item) => item.id));
  part.innerHTML = html;
  part.dataset.digest = digest;
  for (const [id, value] of typed) {
    const item = document.getElementById(id);
    if (item && item.type !== "hidden") item.value = value;
  }
  for (const id of closed) document.getElementById(id)?.removeAttribute("open");
  if (focused) (document.getElementById(focused) ?? document.getElementById("main")).focus({ preventScroll: true });
  const news = [...readSaid(part)].filter(([key, text]) => before.get(key) !== text).map(([, text]) => text);
  if (news.length) say(news.slice(0, 3).join("; "));
  tick();
  filter();
}

function filter() {
  const field = document.querySelector("[data-filter]");
  if (!field) return;
  const wanted = field.value.trim().toLowerCase();
  let shown = 0;
  for (const item of document.querySelectorAll(field.dataset.filter)) {
    item.hidden = !item.textContent.toLowerCase().includes(wanted);
    shown += !item.hidden;
  }
  if (wanted) document.getElementById("filtered").textContent = `${shown} found`;
}

/** Browsers allow six connections to one address for all tabs, so only tabs that are looked at have one. */
function follow(path) {
  const banner = document.getElementById("connection");
  let source = null, isOver = false;
  const tell = (text) => {
    banner.hidden = !text;
    banner.textContent = text;
  };
  const end = (event) => {
    isOver = true;
    source?.close();
    const told = JSON.parse(event.data);
    tell(event.type === "gone" ? "This is gone: it was deleted." : `${told.title}. ${told.message} ${told.hint}`);
  };
  const begin = () => {
    if (isOver || document.hidden || source) return;
    source = new EventSource(path);
    source.addEventListener("part", (event) => {
      const { id, html, digest } = JSON.parse(event.data);
      const part = document.getElementById(id);
      if (part) replace(part, html, digest);
      document.body.dataset.fresh = "yes";
    });
    source.addEventListener("trouble", (event) => tell(JSON.parse(event.data).message));
    source.addEventListener("gone", end);
    source.addEventListener("problem", end);
    source.addEventListener("open", () => tell(""));
    source.addEventListener("error", () => {
      if (banner.hidden || source.readyState === EventSource.CLOSED) tell(document.body.dataset.lost);
      // Browsers ask again by themselves, except after an answer that is an error.
      if (isOver || source.readyState !== EventSource.CLOSED) return;
      source = null;
      setTimeout(begin, 10000);
    });
  };
  const pause = () => {
    source?.close();
    source = null;
  };
  document.addEventListener("visibilitychange", () => (document.hidden ? pause() : begin()));
  begin();
  return (other) => {
    pause();
    path = other;
    begin();
  };
}

/** The server picks the jobs as people type, and the address says which, so that it can be kept and sent on. */
function choose(form, go) {
  let timer;
  form.addEventListener("input", ({ target }) => {
    if (target.name === "namespace") return;
    const query = new URLSearchParams(location.search);
    query.set(target.name, target.value);
    history.replaceState(null, "", `${location.pathname}?${query}`);
    clearTimeout(timer);
    timer = setTimeout(() => go(`${location.pathname}/live?${query}`), 300);
  });
}

tick();
setInterval(tick, 1000);
document.querySelector("[data-filter]")?.addEventListener("input", filter);
document.getElementById("problem")?.focus();
const go = document.body.dataset.live && follow(document.body.dataset.live), chooser = document.getElementById("choose");
if (go && chooser) choose(chooser, go);
// A message about what was just done does not come back by a reload.
if (new URLSearchParams(location.search).has("said")) history.replaceState(null, "", location.pathname);
// Whoever clicks twice means once.
document.addEventListener("submit", (event) => {
  const button = event.submitter;
  if (button && event.target.method === "post") setTimeout(() => (button.disabled = true));
});
addEventListener("pageshow", (event) => event.persisted && location.reload());
