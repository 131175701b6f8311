// The text beside and below the lanes: the selected event, its neighbours, the plan.
const fact = (name, value) => make("div", { className: "fact" }, make("dt", {}, name), make("dd", {}, value));

const details = (item, run) => {
  const into = by("details");
  into.replaceChildren();
  if (!item) {
    into.append(make("p", {}, "Select an event: click it, or press n."));
    return;
  }
  const list = make("dl");
  list.append(fact("kind", (run.kinds.find((of) => of.kind === item.kind) || {}).name || item.kind));
  if (item.kind !== "violation" && item.kind !== "calm") list.append(fact("lane", laneName(item.node)));
  list.append(fact("at", clock(item.at, SHOWN)));
  if (item.until !== undefined) {
    list.append(fact("until", clock(item.until, SHOWN)), fact("lasts", length(item.until - item.at)));
  }
  for (const [name, value] of item.facts) list.append(fact(name, value));
  into.append(make("p", { className: "headline" }, item.label), list);
};

const AROUND = 12;
const near = (order, item, select) => {
  const index = Math.max(0, order.indexOf(item));
  const rows = order.slice(Math.max(0, index - AROUND), index + AROUND + 1).map((other) => {
    const lane = other.kind === "violation" || other.kind === "calm" ? "" : laneName(other.node);
    const button = make("button", { title: other.label }, make("span", { className: "time" }, clock(other.at, SHOWN)),
      make("span", { className: "lane" }, lane), make("span", {}, describe(other)));
    button.setAttribute("aria-current", String(other === item));
    button.addEventListener("click", () => select(other));
    return make("li", {}, button);
  });
  by("near").replaceChildren(...rows);
};
const describe = (item) => {
  const name = { claim: "claims ", leads: "leads with ", lease: "lease ", violation: "violated: ", fault: "fault: " }[item.kind] || "";
  return name + item.label;
};

const below = (run) => {
  by("again").textContent = run.again;
  by("plan").textContent = run.plan;
  by("copy").addEventListener("click", () => copy(run.again));
  by("save").addEventListener("click", () => {
    const url = URL.createObjectURL(new Blob([run.plan], { type: "application/json" }));
    make("a", { href: url, download: "plan.json" }).click();
    URL.revokeObjectURL(url);
  });
  by("about").append(
    fact("engine", run.engine), fact("seed", run.seed), fact("trace hash", run.hash || "none"),
    fact("version", run.version), fact("beyond", run.beyond.join(", ") || "no assumption"),
    fact("clocks", run.drift), fact("judged", run.judged.join(", ") || "by nothing"),
  );
  for (const [nodes, fields] of run.settings) {
    const head = make("h2", {}, nodes);
    const list = make("dl");
    for (const [name, value] of fields) list.append(fact(name, value));
    by("settings").append(head, list);
  }
};

const legend = (run, off, changed) => {
  const c = colours();
  const counts = {};
  for (const item of run.items) counts[item.kind] = (counts[item.kind] || 0) + 1;
  const buttons = run.kinds.filter((of) => counts[of.kind]).map((of) => {
    const swatch = make("canvas", { className: "swatch", width: 36, height: 24 });
    sample(swatch.getContext("2d"), of.kind, c);
    const button = make("button", { title: of.about }, swatch, of.name + " " + counts[of.kind]);
    button.setAttribute("aria-pressed", String(!off.has(of.kind)));
    button.dataset.kind = of.kind;
    button.addEventListener("click", () => {
      if (!off.delete(of.kind)) off.add(of.kind);
      button.setAttribute("aria-pressed", String(!off.has(of.kind)));
      changed();
    });
    return button;
  });
  by("legend").replaceChildren(...buttons);
};

// A small picture of each kind, as the lanes show it.
const sample = (context, kind, c) => {
  context.scale(2, 2);
  const own = c.nodes[0];
  const bar = (y, high, fill, alpha = 1) => { context.globalAlpha = alpha; context.fillStyle = fill; context.fillRect(0, y, 18, high); context.globalAlpha = 1; };
  const line = (points, colour, thick = 1.5) => {
    context.strokeStyle = colour; context.lineWidth = thick; context.beginPath();
    points.forEach(([x, y], index) => (index ? context.lineTo(x, y) : context.moveTo(x, y)));
    context.stroke();
  };
  const solid = (points, colour) => { line(points, colour, 0.5); context.fillStyle = colour; context.fill(); };
  const dot = (colour, full) => { context.beginPath(); context.arc(9, 6, 3, 0, 7); context.fillStyle = context.strokeStyle = colour; if (full) context.fill(); else context.stroke(); };
  const pictures = {
    violation: () => { line([[9, 0], [9, 12]], c.bad, 2); solid([[9, 0], [17, 0], [17, 5], [9, 5]], c.bad); },
    fault: () => { bar(2, 8, c.fault.link, 0.35); context.strokeStyle = c.fault.link; context.strokeRect(0.5, 2.5, 17, 7); },
    lease: () => bar(1, 10, own), claim: () => bar(3, 6, own, 0.4), leads: () => bar(1, 10, own), work: () => bar(5, 2, own, 0.6),
    quarantine: () => { context.setLineDash([3, 2]); context.strokeStyle = own; context.strokeRect(0.5, 2.5, 17, 7); },
    renewal: () => line([[9, 2], [9, 10]], c.ink, 1), effect: () => dot(own, true), hint: () => dot(own, false),
    message: () => line([[4, 12], [9, 0], [14, 12]], own, 1),
    "resign-asked": () => solid([[9, 1], [14, 6], [9, 11], [4, 6]], own),
    "stepped-down": () => solid([[4, 3], [14, 3], [9, 11]], c.ink),
    started: () => solid([[5, 1], [13, 6], [5, 11]], own),
    crashed: () => { line([[5, 2], [13, 10]], c.bad, 2); line([[13, 2], [5, 10]], c.bad, 2); },
    "store-crash": () => pictures.crashed(), calm: () => bar(0, 12, c.good, 0.3),
  };
  pictures[kind]();
};
