// One run: the view, the selection, and their changes.
const LEAST = 1e3;

const showRun = (run) => {
  by("run").hidden = false;
  run.items.forEach((item) => { item.words = searched(item, run); });
  const of = Object.groupBy ? Object.groupBy(run.items, (item) => item.kind) : grouped(run.items);
  spaced(run.items);
  const whole = { from: -run.end * 0.005, to: Math.max(run.end * 1.005, 1e6) };
  const state = { view: { ...whole }, selected: undefined, off: new Set(), words: [], of };
  state.shows = (item) => !state.words.length || matches(item, state.words);
  const canvas = by("view");
  const lane = drawer(canvas, run, lanes(run));
  const strip = overview(by("overview"), run, whole);
  let order = run.items, asked = false;

  const redraw = () => {
    if (asked) return;
    asked = true;
    soon(() => {
      asked = false;
      lane.draw(state);
      strip.draw(state);
      showState();
    });
  };
  // The state as attributes of the page, for links and tests.
  const showState = () => {
    const { selected, view } = state;
    Object.assign(body.dataset, { from: Math.round(view.from), to: Math.round(view.to), items: run.items.length, shown: order.length });
    body.dataset.selected = selected ? selected.kind : "";
    body.dataset.at = selected ? selected.at : "";
    body.dataset.label = selected ? selected.label : "";
  };
  const look = (from, to) => {
    const most = whole.to - whole.from;
    const wide = Math.max(LEAST, Math.min(most, to - from));
    const start = Math.max(whole.from, Math.min(whole.to - wide, (from + to) / 2 - wide / 2));
    state.view = { from: start, to: start + wide };
    redraw();
  };
  const zoom = (by_, around) => {
    const { from, to } = state.view;
    const fixed = around === undefined ? (inView(state.selected) ? state.selected.at : (from + to) / 2) : around;
    look(fixed - (fixed - from) * by_, fixed + (to - fixed) * by_);
  };
  const inView = (item) => item && item.at >= state.view.from && item.at <= state.view.to;
  const pan = (part) => {
    const by_ = (state.view.to - state.view.from) * part;
    look(state.view.from + by_, state.view.to + by_);
  };
  const select = (item, keepHash = false) => {
    state.selected = item;
    details(item, run);
    near(order, item, select);
    if (item && !inView(item)) {
      const half = (state.view.to - state.view.from) / 2;
      look(item.at - half, item.at + half);
    }
    if (item && !keepHash) remember(item.at);
    redraw();
  };
  const remember = (at) => {
    try { history.replaceState(null, "", "#t=" + (at / SECOND).toFixed(9)); } catch { /* Some browsers forbid it for files. */ }
  };
  const changed = () => {
    order = run.items.filter((item) => !state.off.has(item.kind) && state.shows(item));
    const all = order.length === run.items.length;
    by("found").textContent = all ? "" : order.length + " of " + run.items.length;
    near(order, state.selected, select);
    redraw();
  };
  const step = (by_) => {
    const index = order.indexOf(state.selected);
    if (index >= 0) return order[index + by_] && select(order[index + by_]);
    const at = state.selected ? state.selected.at : state.view.from;
    const after = order.findIndex((item) => item.at >= at);
    const next = by_ > 0 ? order[after] : order[(after < 0 ? order.length : after) - 1];
    if (next) select(next);
  };
  // Goes to the next violation, in a view so narrow that the events before it can be distinguished.
  const jump = (number) => {
    const all = of.violation || [];
    if (!all.length) return;
    const now = all.indexOf(state.selected);
    const item = all[(number === undefined ? now + 1 : number) % all.length];
    const index = run.items.indexOf(item);
    const first = run.items[Math.max(0, index - 40)].at, last = run.items[Math.min(run.items.length - 1, index + 20)].at;
    const wide = Math.max(last - first, 1e6);
    look(Math.min(first, item.at - wide * 0.2) - wide * 0.05, Math.max(last, item.at + wide * 0.1) + wide * 0.05);
    select(item, true);
  };
  const follow = () => {
    const hash = decodeURIComponent(location.hash.slice(1));
    const moment = /^t=(\d+(?:\.\d+)?)$/.exec(hash);
    if (/^violation(=\d+)?$/.test(hash)) return jump(Number(hash.split("=")[1] || 1) - 1);
    if (!moment) return undefined;
    const at = Math.round(Number(moment[1]) * SECOND), half = Math.min((whole.to - whole.from) / 2, Math.max(5e8, run.end / 40));
    look(at - half, at + half);
    const closest = order.reduce((best, item) => (!best || Math.abs(item.at - at) < Math.abs(best.at - at) ? item : best), undefined);
    return select(closest, true);
  };
  const link = () => {
    remember(state.selected ? state.selected.at : Math.max(0, (state.view.from + state.view.to) / 2));
    copy(location.href);
    by("found").textContent = "The link is copied";
  };
  const filter = by("filter");
  filter.addEventListener("input", () => {
    state.words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    changed();
  });
  const help = () => {
    by("help").hidden = !by("help").hidden;
    by("keys").setAttribute("aria-expanded", String(!by("help").hidden));
  };
  const acts = {
    n: () => step(1), p: () => step(-1), v: () => jump(), l: link, "?": help,
    "+": () => zoom(0.5), "=": () => zoom(0.5), "-": () => zoom(2), 0: () => look(whole.from, whole.to),
    ArrowLeft: () => pan(-0.15), ArrowRight: () => pan(0.15), "/": () => filter.focus(), Escape: () => select(undefined),
  };
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target === filter) {
      if (event.key === "Escape") filter.blur();
      return;
    }
    const act = acts[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  });
  const buttons = { jump: "v", previous: "p", next: "n", in: "+", out: "-", fit: "0", link: "l", keys: "?" };
  for (const [id, key] of Object.entries(buttons)) by(id).addEventListener("click", () => acts[key]());
  pointer(canvas, lane, state, { look, zoom, pan, select, redraw });
  strip.on(look, state);
  addEventListener("resize", redraw);
  addEventListener("hashchange", follow);
  dark.addEventListener("change", () => { legend(run, state.off, changed); redraw(); });
  head(run);
  below(run);
  legend(run, state.off, changed);
  select(undefined);
  follow();
  redraw();
};

const head = (run) => {
  const list = run.violations;
  const first = by("first");
  by("jump").hidden = !list.length;
  if (list.length > 1) by("jump").textContent = "Go to the next violation";
  const add = (name, at, what) => first.append(make("p", { className: "first" }, make("b", {}, name), at, make("br"), what));
  if (run.trouble) add("The run failed", "", run.trouble);
  if (list.length) {
    const most = list[run.headline];
    add(most.property, " violated at " + clock(most.at, SHOWN) + (list.length > 1 ? `, one of ${list.length} violations` : ""), most.what);
    first.append(make("p", { className: "cause" }, run.cause));
  }
  if (list.length) {
    const rows = list.map((of) => {
      const row = make("button", { title: of.what }, make("span", {}, clock(of.at, SHOWN)), make("span", {}, of.property));
      row.addEventListener("click", () => { location.hash = "violation=" + (list.indexOf(of) + 1); });
      return row;
    });
    by("violations").append(make("h2", {}, list.length > 1 ? "Violations" : "Violation"), ...rows);
  }
  const omitted = Object.entries(run.left_out);
  if (omitted.length) {
    const count = omitted.reduce((sum, [, of]) => sum + of, 0);
    const name = (kind) => (run.kinds.find((of) => of.kind === kind) || { name: kind }).name;
    by("left-out").hidden = false;
    by("left-out").textContent = `This run is long: ${count} of its ${count + run.items.length} items are omitted, evenly over time: `
      + omitted.map(([kind, of]) => `${of} ${name(kind)}`).join(", ")
      + ". Faults, leases, claims, leads, crashes, violations and items near them are never omitted.";
    body.dataset.leftOut = count;
  }
};
