// Shared by all scripts, also by those of the playground: errors as state, elements, times, colours.
const body = document.body;
body.dataset.errors = "0";
const wrong = (what) => {
  body.dataset.errors = String(Number(body.dataset.errors) + 1);
  body.dataset.error = String(what);
};
addEventListener("error", (event) => wrong(event.message));
addEventListener("unhandledrejection", (event) => wrong(event.reason));
document.addEventListener("securitypolicyviolation", (event) => wrong(event.blockedURI));

const by = (id) => document.getElementById(id);

// Text only, so that no text of a run is interpreted as markup.
const make = (tag, fields = {}, ...inside) => {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(fields)) {
    if (name in made) made[name] = value;
    else made.setAttribute(name, value);
  }
  made.append(...inside);
  return made;
};

// With the next frame. A hidden page gets no frames, so a timer must do it too.
const soon = (what) => {
  let isDone = false;
  const once = () => {
    if (!isDone) what();
    isDone = true;
  };
  requestAnimationFrame(once);
  setTimeout(once, 100);
};

const SECOND = 1e9;
// Texts have times with three decimals.
const SHOWN = 1e6;
// A time with as many digits as distinguish it from one that is `step` nanoseconds away.
const clock = (ns, step) => {
  const digits = Math.max(0, Math.min(9, Math.ceil(9 - Math.log10(Math.max(1, step)))));
  return (ns / SECOND).toFixed(digits) + " s";
};
const length = (ns) => {
  const size = Math.abs(ns);
  if (size >= SECOND) return (ns / SECOND).toPrecision(4).replace(/\.?0+$/, "") + " s";
  if (size >= 1e6) return (ns / 1e6).toPrecision(3).replace(/\.?0+$/, "") + " ms";
  if (size >= 1e3) return (ns / 1e3).toPrecision(3).replace(/\.?0+$/, "") + " \u00b5s";
  return ns + " ns";
};

const dark = matchMedia("(prefers-color-scheme: dark)");
const LIGHT = {
  card: "#ffffff", ink: "#1d2530", muted: "#5a6675", line: "#dfe3e9", faint: "#eef0f4", stripe: "#fafbfc",
  on: "#ffffff", bad: "#b3202c", good: "#1f7a4d", select: "#2a6fd6",
  fault: { link: "#b97a10", process: "#a8513a", store: "#7a55a3" },
  nodes: ["#2f6fb3", "#23806a", "#9354ad", "#a8651f", "#4b7a2b", "#ad4672", "#2c7f98", "#75644b", "#5d57bd", "#7d8020"],
};
const DARK = {
  card: "#1a2028", ink: "#e4e9f0", muted: "#9aa7b8", line: "#2c3541", faint: "#222a34", stripe: "#1d242d",
  on: "#0f141a", bad: "#ff8c8c", good: "#6fce9b", select: "#7fb0ff",
  fault: { link: "#e0a83e", process: "#e38b72", store: "#b795e0" },
  nodes: ["#7db3ec", "#5cc4a8", "#c894e0", "#e0a566", "#93c46c", "#e58cb1", "#6cc3dc", "#bfa988", "#a5a0f2", "#c6c95f"],
};
const colours = () => (dark.matches ? DARK : LIGHT);
const nodeColour = (node) => (node === undefined || node === null ? colours().muted : colours().nodes[node % 10]);
const laneName = (node) => (node === undefined || node === null ? "store" : "n" + node);

// Without a permission or a secure context the text is selected instead.
const copy = (text) => {
  if (navigator.clipboard) navigator.clipboard.writeText(text).catch(() => {});
};
