// The page: a plan as text, two runs of it, and the changes that somebody makes.

// The timeline shows what decides who leads; a report of the run shows the rest too.
const SHOWN_KINDS = new Set(["violation", "fault", "calm", "store-crash", "lease", "claim", "leads", "quarantine", "started",
  "crashed", "resign-asked", "stepped-down", "message"]);
const TIMEOUT = 60000;
// A search for a smaller plan may take longer, and is stopped by its button.
const SHRINK_RUNS = 2000;

const state = { plan: "", short: "", against: "key-flag", rows: [], past: [], busy: false };
const module = (async () => {
  const text = by("wasm").textContent.trim();
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  return WebAssembly.compile(bytes);
})();

// A simulator in a worker of its own. Each request has one answer, in order.
const simulator = () => {
  const source = URL.createObjectURL(new Blob([by("worker").textContent], { type: "text/javascript" }));
  let worker, waiting = new Map(), last = 0;
  const start = () => {
    worker = new Worker(source);
    worker.onmessage = ({ data }) => {
      const answered = waiting.get(data.id);
      waiting.delete(data.id);
      if (answered) answered(JSON.parse(data.answer));
    };
    worker.onerror = (event) => stop(`The simulator can't be started: ${event.message}`);
    const started = worker;
    module.then((of) => started.postMessage({ module: of }));
  };
  const stop = (why) => {
    worker.terminate();
    const ended = waiting;
    waiting = new Map();
    start();
    ended.forEach((answered) => answered({ error: why }));
  };
  const ask = async (request, timeout = TIMEOUT) => {
    await module;
    return new Promise((answered) => {
      const id = ++last;
      const timer = timeout && setTimeout(() => waiting.has(id) && stop(`A run takes longer than ${timeout / 1000} s: shorten the plan`), timeout);
      waiting.set(id, (answer) => { clearTimeout(timer); answered(answer); });
      worker.postMessage({ id, text: JSON.stringify(request) });
    });
  };
  start();
  return { ask, stop };
};
const simulators = [simulator(), simulator()];
const ask = (request, timeout) => simulators[0].ask(request, timeout);

const problem = (why) => {
  by("problem").hidden = !why;
  by("problem").textContent = why || "";
};

// A fault that names no member strikes the leader.
const placeOf = (fault) => (fault.of_store ? "store" : fault.node === null ? "the leader" : laneName(fault.node));
const tool = (of) => document.querySelector(`input[name=${of}]:checked`).value;

// One timeline.
const row = (index) => {
  const name = make("span"), about = make("small"), said = make("p", { className: "said", role: "status" }), why = make("p", { className: "why" });
  const canvas = make("canvas", { tabIndex: 0, role: "application" });
  canvas.setAttribute("aria-roledescription", "timeline");
  canvas.setAttribute("aria-describedby", "help");
  const tip = make("div", { className: "tip", hidden: true });
  const section = make("section", { className: "row" }, make("h2", {}, name, about), said, why, make("div", { className: "frame" }, canvas, tip));
  by("rows").append(section);
  const of = { canvas, cursor: undefined, dragged: undefined };

  const show = ({ lines, run }) => {
    run.items = run.items.filter((item) => SHOWN_KINDS.has(item.kind));
    spaced(run.items);
    of.lines = lines;
    of.run = run;
    of.place = lanes(run);
    of.drawer = drawer(canvas, run, of.place);
    of.view = { view: { from: 0, to: run.end }, selected: undefined, off: new Set(), words: [], of: grouped(run.items), shows: () => true };
    name.textContent = lines.label;
    about.textContent = lines.about;
    const two = lines.overlaps.length > 0;
    said.className = two ? "said two" : "said";
    const first = run.violations[run.headline];
    said.textContent = two
      ? `Two leaders: ${lines.two}.`
      : first ? `${first.property} is violated: ${first.what}.` : "Never more than one leader.";
    const beyond = two && index === 0 && run.beyond.length ? `Broken: ${run.beyond.join(", ")}. ` : "";
    why.textContent = two ? `${lines.why} ${beyond}${run.cause}` : run.cause || "";
    canvas.setAttribute("aria-label", described());
    body.dataset["overlap" + index] = lines.longest;
    body.dataset["hash" + index] = lines.hash;
    section.classList.remove("running");
    draw();
  };
  const described = () => {
    const spans = of.run.items.filter((item) => item.kind === "leads").slice(0, 40);
    const leads = spans.map((item) => `${laneName(item.node)} leads from ${clock(item.at, SHOWN)} to ${clock(item.until === undefined ? of.run.end : item.until, SHOWN)}`);
    const faults = of.lines.faults.slice(0, 40).map((fault) => `${fault.kind} of ${placeOf(fault)} at ${length(fault.at_ms * 1e6)}`);
    return `${of.lines.label}. ${leads.join("; ") || "No member leads"}. Faults: ${faults.join("; ") || "none"}.`;
  };
  const draw = () => {
    if (!of.run) return;
    of.drawer.draw(of.view);
    const context = canvas.getContext("2d"), c = colours(), { x } = of.drawer;
    context.fillStyle = context.strokeStyle = c.bad;
    for (const [from, to] of of.lines.overlaps) {
      const left = x(from), wide = Math.max(2, x(to) - left);
      context.globalAlpha = 0.16;
      context.fillRect(left, of.place.axis, wide, of.place.height - of.place.axis);
      context.globalAlpha = 1;
      context.fillRect(left, of.place.axis - 5, wide, 5);
    }
    const fault = of.dragged && of.dragged.shown;
    context.strokeStyle = context.fillStyle = c.select;
    if (fault) context.fillRect(x(fault.at_ms * 1e6), of.dragged.y - 3, Math.max(2, x((fault.at_ms + fault.for_ms) * 1e6) - x(fault.at_ms * 1e6)), 6);
    if (of.cursor && canvas.matches(":focus-visible")) {
      const at = x(of.cursor.at), lane = of.place.lanes[of.cursor.lane];
      context.lineWidth = 2;
      context.strokeRect(at - 3, lane.y + 2, 6, lane.height - 4);
    }
  };

  // The index of the fault of the plan that an item shows.
  const faultOf = (item) => {
    if (!item || item.kind !== "fault") return -1;
    return of.lines.faults.findIndex((fault) => fault.is_timed && fault.kind === item.label && (fault.node === null || fault.of_store || fault.node === item.node)
      && item.at >= fault.at_ms * 1e6 && item.at <= fault.at_ms * 1e6 + 3e6);
  };
  const laneAt = (y) => of.place.lanes.findIndex((lane) => y >= lane.y && y < lane.y + lane.height);
  const add = (lane, at) => {
    if (lane < 0) return;
    const node = lane === 0 ? null : lane - 1;
    change({ change: "add", tool: tool(node === null ? "of-store" : "of-node"), node, at_ms: Math.max(0, Math.round(at / 1e6)) });
  };
  const EDGE = 8;
  canvas.addEventListener("pointerdown", (event) => {
    if (!of.run || event.button) return;
    const item = of.drawer.find(event.offsetX, event.offsetY), index = faultOf(item);
    of.dragged = { index, from: event.offsetX, y: event.offsetY, moved: false, fault: of.lines.faults[index],
      lengthens: index >= 0 && item.until !== undefined && of.lines.faults[index].lasts && of.drawer.x(item.until) - event.offsetX < EDGE };
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!of.run) return;
    const dragged = of.dragged;
    if (!dragged || !event.buttons) return hover(event);
    dragged.moved = dragged.moved || Math.abs(event.offsetX - dragged.from) > 3;
    if (!dragged.moved || dragged.index < 0) return undefined;
    const by_ms = Math.round((of.drawer.time(event.offsetX) - of.drawer.time(dragged.from)) / 1e6);
    const { at_ms, for_ms } = dragged.fault;
    dragged.shown = dragged.lengthens ? { at_ms, for_ms: Math.max(1, for_ms + by_ms) } : { at_ms: Math.max(0, at_ms + by_ms), for_ms };
    return draw();
  });
  const hover = (event) => {
    const item = of.drawer.find(event.offsetX, event.offsetY), index = faultOf(item);
    tip.hidden = !item;
    canvas.style.cursor = index < 0 ? "" : item.until !== undefined && of.drawer.x(item.until) - event.offsetX < EDGE ? "ew-resize" : "grab";
    if (!item) return;
    tip.textContent = `${clock(item.at, SHOWN)}  ${item.kind === "violation" ? "" : laneName(item.node) + "  "}${item.label}`;
    tip.style.left = Math.max(0, Math.min(event.offsetX + 14, canvas.clientWidth - tip.offsetWidth - 6)) + "px";
    tip.style.top = event.offsetY + 16 + "px";
  };
  canvas.addEventListener("pointerleave", () => { tip.hidden = true; });
  canvas.addEventListener("pointercancel", () => { of.dragged = undefined; draw(); });
  canvas.addEventListener("pointerup", (event) => {
    const dragged = of.dragged;
    of.dragged = undefined;
    if (!dragged || !of.run) return;
    if (dragged.shown) change({ change: "move", index: dragged.index, ...dragged.shown });
    else if (!dragged.moved && dragged.index < 0 && event.offsetX >= GUTTER) add(laneAt(event.offsetY), of.drawer.time(event.offsetX));
  });
  canvas.addEventListener("keydown", (event) => {
    if (!of.run || event.ctrlKey || event.metaKey || event.altKey) return;
    const cursor = of.cursor || { at: of.run.end / 4, lane: 1 };
    const by_ = of.run.end / (event.shiftKey ? 10 : 100);
    const moves = { ArrowLeft: [-by_, 0], ArrowRight: [by_, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    const move = moves[event.key];
    if (move) {
      cursor.at = Math.max(0, Math.min(of.run.end, cursor.at + move[0]));
      cursor.lane = Math.max(0, Math.min(of.place.lanes.length - 1, cursor.lane + move[1]));
      by("where").textContent = `${laneName(of.place.lanes[cursor.lane].node)} at ${clock(cursor.at, SHOWN)}`;
    } else if (event.key === "Enter") add(cursor.lane, cursor.at);
    else if (event.key === "Delete" || event.key === "Backspace") remove(cursor);
    else return;
    of.cursor = cursor;
    event.preventDefault();
    draw();
  });
  const remove = ({ at, lane }) => {
    const index = of.lines.faults.findIndex((fault) => (fault.of_store ? 0 : fault.node === null ? -1 : fault.node + 1) === lane
      && at >= fault.at_ms * 1e6 - of.run.end / 100 && at <= (fault.at_ms + fault.for_ms) * 1e6 + of.run.end / 100);
    if (index >= 0) change({ change: "remove", index });
  };
  canvas.addEventListener("focus", () => { of.cursor = of.cursor || (of.run && { at: of.run.end / 4, lane: 1 }); draw(); });
  canvas.addEventListener("blur", draw);
  return { show, draw, running: (is) => section.classList.toggle("running", is), of };
};

const showFaults = (lines) => {
  const rows = lines.faults.map((fault, index) => {
    const number = (value, set, name) => {
      const field = make("input", { type: "number", min: 0, value, disabled: !fault.is_timed, id: `fault-${index}-${set}` });
      field.setAttribute("aria-label", `${fault.kind}: ${name}`);
      field.addEventListener("change", () => change({ change: "move", index, at_ms: fault.at_ms, for_ms: fault.for_ms, [set]: Math.max(0, Math.round(Number(field.value))) }));
      return field;
    };
    const gone = make("button", { type: "button" }, "Remove");
    gone.setAttribute("aria-label", `Remove ${fault.kind}`);
    gone.addEventListener("click", () => change({ change: "remove", index }));
    return make("tr", {}, make("th", { title: fault.about }, fault.kind), make("td", {}, placeOf(fault) + (fault.is_timed ? "" : ", on a trigger")),
      make("td", {}, number(fault.at_ms, "at_ms", "begins, in milliseconds")), make("td", {}, fault.lasts ? number(fault.for_ms, "for_ms", "lasts, in milliseconds") : "a moment"),
      make("td", {}, gone));
  });
  const focused = document.activeElement && document.activeElement.id;
  by("faults").replaceChildren(...rows);
  // A new field in place of the one that was changed.
  if (focused && focused.startsWith("fault-") && by(focused)) by(focused).focus();
};

const showControls = (lines) => {
  const slider = (id, value, text) => {
    // The one that is moved just now shows its own value.
    if (document.activeElement !== by(id) || !state.held) by(id).value = value;
    by(id).nextElementSibling.textContent = text;
  };
  slider("ttl", lines.ttl_ms, lines.ttl_ms + " ms");
  slider("renew", lines.renew_ms, lines.renew_ms + " ms");
  slider("members", lines.members, String(lines.members));
  if (document.activeElement !== by("seed")) by("seed").value = lines.seed;
  by("undo").disabled = !state.past.length;
  by("hash").textContent = lines.hash;
};

// Runs the plan for both lanes. If it has changed meanwhile, only the last one counts.
let wanted = 0;
const run = async () => {
  const mine = ++wanted;
  const began = performance.now();
  state.rows.forEach((of) => of.running(true));
  const contenders = ["tenure", state.against];
  const answers = await Promise.all(contenders.map((contender, index) => simulators[index].ask({ do: "run", plan: state.plan, contender })));
  if (mine !== wanted) return;
  const failed = answers.find((answer) => answer.error);
  if (failed) {
    state.rows.forEach((of) => of.running(false));
    // What made this plan can be undone, also the first change.
    by("undo").disabled = !state.past.length;
    return problem(failed.error);
  }
  answers.forEach((answer, index) => state.rows[index].show(answer));
  showFaults(answers[0].lines);
  showControls(answers[0].lines);
  body.dataset.took = Math.round(performance.now() - began);
  body.dataset.ready = "true";
  body.dataset.runs = String(Number(body.dataset.runs || 0) + 1);
  return undefined;
};

const encoded = (text) => btoa(Array.from(new TextEncoder().encode(text), (byte) => String.fromCharCode(byte)).join("")).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
const decoded = (text) => new TextDecoder().decode(Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (letter) => letter.charCodeAt(0)));
const remember = () => {
  state.address = `#against=${state.against}&plan=${encoded(state.short)}`;
  try { history.replaceState(null, "", state.address); } catch { /* Some browsers forbid it for files. */ }
};

// Takes a plan over that a request has as its answer. True if there is one.
const take = async (answer, undoes = true) => {
  const { plan, short, error } = await answer;
  problem(error);
  if (error) return false;
  if (undoes && state.plan && state.plan !== plan) state.past.push(state.plan);
  state.past = state.past.slice(-100);
  Object.assign(state, { plan, short });
  remember();
  await run();
  return true;
};

// One change after the other: each is one of the plan that the last one has made. Of several values of a slider only the last
// one counts.
const pending = {};
let queue = Promise.resolve();
const change = ({ replaces, ...what }) => {
  const number = replaces ? (pending[replaces] = (pending[replaces] || 0) + 1) : 0;
  by("preset").value = "";
  queue = queue.then(async () => {
    if (replaces && number !== pending[replaces]) return;
    await take(ask({ do: "change", plan: state.plan, change: what }), !(replaces && state.held === replaces));
    if (replaces) state.held = replaces;
  }).catch(wrong);
  return queue;
};
const later = (answer) => { queue = queue.then(() => take(answer())).catch(wrong); return queue; };

const controls = (menu) => {
  by("controls").addEventListener("submit", (event) => event.preventDefault());
  const options = (id, choices, first) => by(id).append(...first, ...choices.map(({ value, label }) => make("option", { value }, label)));
  options("preset", menu.scenarios, [make("option", { value: "" }, "a plan of your own"), make("option", { value: "quiet" }, "no fault")]);
  options("against", menu.contenders, []);
  for (const of of ["of-node", "of-store"]) {
    const tools = menu.tools.filter((one) => one.of_store === (of === "of-store"));
    by(of).append(...tools.map(({ value, label }, index) => make("label", {}, make("input", { type: "radio", name: of, value, checked: index === 0 }), label)));
  }
  by("against").value = state.against;
  by("preset").addEventListener("change", () => {
    const chosen = by("preset").value;
    if (chosen) later(() => ask({ do: "preset", scenario: chosen === "quiet" ? null : chosen, members: Number(by("members").value) }));
  });
  by("against").addEventListener("change", () => { state.against = by("against").value; problem(); remember(); queue = queue.then(run).catch(wrong); });
  const slides = { ttl: (ms) => ({ change: "ttl", ms }), renew: (ms) => ({ change: "renew", ms }), members: (count) => ({ change: "members", count }) };
  for (const [id, make_] of Object.entries(slides)) {
    by(id).addEventListener("input", () => change({ ...make_(Number(by(id).value)), replaces: id }));
    by(id).addEventListener("change", () => queue.then(() => { state.held = undefined; return run(); }).catch(wrong));
  }
  by("seed").addEventListener("change", () => change({ change: "seed", seed: by("seed").value }));
  by("draw").addEventListener("click", () => later(() => ask({ do: "draw", seed: by("seed").value })));
  by("undo").addEventListener("click", () => {
    const plan = state.past.pop();
    if (plan) queue = queue.then(() => take(ask({ do: "read", plan }), false)).catch(wrong);
  });
  by("shrink").addEventListener("click", async () => {
    // Of both, the one that has two leaders.
    const two = state.rows.findIndex((of) => of.of.lines && of.of.lines.overlaps.length);
    const contender = two === 0 ? "tenure" : state.against, worker = simulators[two === 0 ? 0 : 1];
    by("stop").hidden = false;
    by("shrink").disabled = true;
    by("stop").onclick = () => worker.stop("The search was stopped");
    await later(() => worker.ask({ do: "shrink", plan: state.plan, contender, runs: SHRINK_RUNS }, 0));
    by("stop").hidden = true;
    by("shrink").disabled = false;
  });
  by("link").addEventListener("click", async () => {
    let told = "The link is copied";
    try {
      await navigator.clipboard.writeText(location.href.replace(/#.*/, "") + state.address);
    } catch {
      told = "Not permitted: it is in the address bar";
    }
    by("link").textContent = told;
    setTimeout(() => { by("link").textContent = "Copy the link"; }, 2000);
  });
  by("save").addEventListener("click", () => {
    const url = URL.createObjectURL(new Blob([state.plan], { type: "application/json" }));
    make("a", { href: url, download: "plan.json" }).click();
    URL.revokeObjectURL(url);
  });
  by("open").addEventListener("change", async () => {
    const [file] = by("open").files;
    const plan = file && await file.text();
    // Else the same file, changed meanwhile, could not be opened again.
    by("open").value = "";
    if (plan !== undefined) later(() => ask({ do: "read", plan }));
  });
};

// The plan of the address; without one, or if it is none, a plan without faults.
const follow = async () => {
  const fields = new URLSearchParams(location.hash.slice(1));
  const against = fields.get("against");
  if ([...by("against").options].some((option) => option.value === against)) state.against = by("against").value = against;
  const plan = fields.get("plan");
  if (plan) {
    let text;
    try { text = decoded(plan); } catch { problem("The address holds no plan: it may have been cut"); }
    if (text !== undefined && await take(ask({ do: "read", plan: text }))) return;
  }
  const told = by("problem").textContent;
  await take(ask({ do: "preset", scenario: null, members: 3 }));
  if (told) problem(told);
};

const begin = async () => {
  body.append(make("p", { id: "where", className: "unseen", role: "status" }));
  state.rows = [row(0), row(1)];
  const redraw = () => soon(() => state.rows.forEach((of) => of.draw()));
  addEventListener("resize", redraw);
  dark.addEventListener("change", redraw);
  const menu = await ask({ do: "menu" });
  if (menu.error) return problem(menu.error);
  controls(menu);
  await follow();
  addEventListener("hashchange", () => { if (location.hash !== state.address) queue = queue.then(follow).catch(wrong); });
};
// For checks of this page.
window.playground = { ask, module, state };
begin().catch((why) => { wrong(why); problem(`This page does not work here: ${why}`); });
