// Draws the items in view, and remembers their positions, to find the item under the pointer.
const drawer = (canvas, run, place) => {
  const context = canvas.getContext("2d");
  const by_node = (node) => place.lanes[node === undefined ? 0 : node + 1];
  const hits = [];
  let c, view, width, state;

  const x = (at) => GUTTER + ((at - view.from) / (view.to - view.from)) * (width - GUTTER);
  const clamp = (of) => Math.max(GUTTER - 2, Math.min(width + 2, of));
  const within = (from, to) => to >= view.from && from <= view.to;
  const write = (text, at, y, colour, room = Infinity, align = "left", font = "11px system-ui, 'DejaVu Sans', sans-serif") => {
    context.font = font;
    context.textAlign = align;
    context.textBaseline = "middle";
    context.fillStyle = colour;
    if (room < Infinity) {
      if (room < 14) return;
      while (text.length > 1 && context.measureText(text).width > room) text = text.slice(0, -2) + "\u2026";
      if (text.length < 3 && text.endsWith("\u2026")) return;
    }
    context.fillText(text, at, y);
  };
  const path = (points, colour, thick = 1, dash = []) => {
    context.strokeStyle = colour;
    context.lineWidth = thick;
    context.setLineDash(dash);
    context.beginPath();
    points.forEach(([at, y], index) => (index ? context.lineTo(at, y) : context.moveTo(at, y)));
    context.stroke();
    context.setLineDash([]);
  };
  const shade = (item) => (state.shows(item) ? 1 : 0.1);
  const hit = (item, x0, y0, x1, y1) => hits.push({ item, x0, y0, x1, y1 });

  // A span; `look` is its style.
  const span = (item, y, height, look) => {
    const until = item.until === undefined ? run.end : item.until;
    if (!within(item.at, until)) return;
    const x0 = clamp(x(item.at)), x1 = Math.max(clamp(x(until)), x0 + 1.5);
    context.globalAlpha = shade(item) * (look.alpha || 1);
    context.fillStyle = look.fill;
    if (look.solid !== false) {
      context.beginPath();
      context.roundRect(x0, y, x1 - x0, height, Math.min(3, (x1 - x0) / 2));
      context.fill();
    }
    context.globalAlpha = shade(item);
    if (look.border) {
      context.strokeStyle = look.border;
      context.setLineDash(look.dash || []);
      context.lineWidth = 1;
      context.strokeRect(x0 + 0.5, y + 0.5, Math.max(0.5, x1 - x0 - 1), height - 1);
      context.setLineDash([]);
    }
    if (look.text) write(look.text, x0 + 5, y + height / 2 + 0.5, look.ink, x1 - x0 - 9);
    context.globalAlpha = 1;
    hit(item, x0 - 1, y, x1 + 1, y + height);
    if (state.selected === item) ring(x0, y, x1 - x0, height);
  };
  const ring = (at, y, wide, height) => {
    context.strokeStyle = c.select;
    context.lineWidth = 2;
    context.strokeRect(at - 2, y - 2, wide + 4, height + 4);
  };

  const frame = () => {
    context.fillStyle = c.card;
    context.fillRect(0, 0, width, place.height);
    place.lanes.forEach((lane, index) => {
      if (index % 2 === 0) {
        context.fillStyle = c.stripe;
        context.fillRect(0, lane.y, width, lane.height);
      }
      path([[0, lane.y + 0.5], [width, lane.y + 0.5]], c.line);
    });
    const step = tick(view.to - view.from);
    for (let at = Math.ceil(view.from / step) * step; at <= view.to; at += step) {
      const mark = Math.round(x(at)) + 0.5;
      path([[mark, place.axis - 6], [mark, place.height]], c.faint);
      if (mark > GUTTER + (at > 0 ? 22 : 0)) write(clock(at, step), mark, place.axis - 12, c.muted, Infinity, "center", "10px system-ui, 'DejaVu Sans', sans-serif");
    }
  };

  const gutter = () => {
    context.fillStyle = c.card;
    context.fillRect(0, 0, GUTTER - 2, place.height);
    for (const lane of place.lanes) {
      path([[0, lane.y + 0.5], [GUTTER, lane.y + 0.5]], c.line);
      const names = { fault: "faults", lease: "lease", claim: "claim", leads: "leads", work: "work", clock: "clock", marks: lane.node === undefined ? "requests" : "events" };
      for (const [name, y] of Object.entries(lane.rows)) {
        if (name === "clock") {
          write(lane.error > 1 ? "\u00b1" + length(lane.error) : "exact", GUTTER - 40, y + ROW[name] / 2 + 0.5, c.muted, Infinity, "right", "9px system-ui, 'DejaVu Sans', sans-serif");
        }
        write(names[name], GUTTER - 10, y + ROW[name] / 2 + 0.5, c.muted, Infinity, "right", "9.5px system-ui, 'DejaVu Sans', sans-serif");
      }
      context.fillStyle = lane.node === undefined ? c.ink : nodeColour(lane.node);
      context.fillRect(0, lane.y + 1, 4, lane.height - 1);
      write(laneName(lane.node), 12, lane.y + PAD + 7, c.ink, Infinity, "left", "600 13px system-ui, 'DejaVu Sans', sans-serif");
    }
    path([[GUTTER - 2.5, place.axis], [GUTTER - 2.5, place.height]], c.line);
    write("true time", 12, place.axis - 12, c.muted, Infinity, "left", "10px system-ui, 'DejaVu Sans', sans-serif");
  };

  const calm = (item) => {
    const at = clamp(x(item.at));
    if (at > width) return;
    context.globalAlpha = 0.07 * shade(item);
    context.fillStyle = c.good;
    context.fillRect(at, place.axis, width - at, place.height - place.axis);
    context.globalAlpha = shade(item);
    context.fillRect(at, place.axis - 4, width - at, 3);
    write("recovery phase", at + 4, 8, c.good, width - at - 4);
    context.globalAlpha = 1;
    hit(item, at - 3, 0, at + 30, place.axis);
  };

  const fault = (item) => {
    const lane = by_node(item.node), y = lane.rows.fault + item.row * ROW.fault;
    const colour = c.fault[item.tone];
    if (item.until === undefined) return flag(item, y, colour);
    if (within(item.at, item.until)) {
      context.globalAlpha = 0.07 * shade(item);
      context.fillStyle = colour;
      const x0 = clamp(x(item.at));
      context.fillRect(x0, lane.y + 1, Math.max(1, clamp(x(item.until)) - x0), lane.height - 1);
      context.globalAlpha = 1;
    }
    span(item, y, ROW.fault - 2, { fill: colour, alpha: 0.28, border: colour, text: item.label, ink: c.ink });
  };
  // A fault of one moment.
  const flag = (item, y, colour) => {
    if (!within(item.at, item.at)) return;
    const at = x(item.at);
    context.globalAlpha = shade(item);
    context.fillStyle = colour;
    context.beginPath();
    context.moveTo(at, y);
    context.lineTo(at + 8, y + 5);
    context.lineTo(at, y + 10);
    context.fill();
    path([[at, y], [at, y + ROW.fault - 2]], colour, 1.5);
    write(item.label, at + 11, y + 6, c.ink, gap(item));
    context.globalAlpha = 1;
    hit(item, at - 3, y, at + 11, y + ROW.fault);
    if (state.selected === item) ring(at - 2, y, 12, 11);
  };
  // The room for the name of a mark before the next one.
  const gap = (item) => (item.next === undefined ? 120 : Math.min(120, x(item.next) - x(item.at) - 14));

  const lease = (item) => {
    const y = by_node(undefined).rows.lease + item.row * ROW.lease;
    span(item, y, ROW.lease - 2, { fill: nodeColour(item.holder), text: item.label, ink: c.on });
    if (within(item.until, item.until) && item.tone === "expired") {
      const end = x(item.until);
      path([[end, y - 2], [end, y + ROW.lease]], c.ink, 1.5);
    }
  };

  const marks = {
    started: (at, y) => { context.beginPath(); context.moveTo(at - 3, y - 5); context.lineTo(at + 5, y); context.lineTo(at - 3, y + 5); context.fill(); },
    crashed: (at, y, colour) => { path([[at - 4, y - 4], [at + 4, y + 4]], colour, 2); path([[at + 4, y - 4], [at - 4, y + 4]], colour, 2); },
    "store-crash": (at, y, colour) => marks.crashed(at, y, colour),
    hint: (at, y, colour) => { context.beginPath(); context.arc(at, y, 3, 0, 7); context.strokeStyle = colour; context.lineWidth = 1.2; context.stroke(); },
    "resign-asked": (at, y) => { context.beginPath(); context.moveTo(at, y - 5); context.lineTo(at + 5, y); context.lineTo(at, y + 5); context.lineTo(at - 5, y); context.fill(); },
    "stepped-down": (at, y) => { context.beginPath(); context.moveTo(at - 5, y - 3); context.lineTo(at + 5, y - 3); context.lineTo(at, y + 5); context.fill(); },
    renewal: (at, y, colour) => path([[at, y - 4], [at, y + 4]], colour, 1),
  };
  const mark = (item) => {
    if (!within(item.at, item.at)) return;
    const lane = by_node(item.node), at = x(item.at);
    const alarm = item.kind === "crashed" || item.kind === "store-crash";
    const colour = alarm ? c.bad : item.kind === "renewal" || item.kind === "stepped-down" ? c.ink : nodeColour(item.node);
    const y = item.kind === "renewal" ? lane.rows.claim + ROW.claim / 2 : lane.rows.marks + ROW.marks / 2;
    context.globalAlpha = shade(item) * (item.kind === "renewal" ? 0.55 : 1);
    context.fillStyle = colour;
    marks[item.kind](at, y, colour);
    if (item.kind !== "renewal" && item.kind !== "hint" && item.label !== "starts" && gap(item) > 20) write(item.label, at + 9, y, c.muted, gap(item));
    context.globalAlpha = 1;
    hit(item, at - 5, y - 6, at + 5, y + 6);
    if (state.selected === item) ring(at - 5, y - 6, 10, 12);
  };

  const effect = (item) => {
    if (!within(item.at, item.at)) return;
    const at = x(item.at), y = by_node(item.node).rows.work + ROW.work / 2;
    context.globalAlpha = shade(item);
    if (item.tone === "accepted") {
      context.fillStyle = nodeColour(item.node);
      context.beginPath();
      context.arc(at, y, 2.6, 0, 7);
      context.fill();
    } else {
      if (item.tone === "stale") { context.fillStyle = c.bad; context.beginPath(); context.arc(at, y, 5, 0, 7); context.fill(); }
      const colour = item.tone === "stale" ? c.on : c.bad;
      path([[at - 3.5, y - 3.5], [at + 3.5, y + 3.5]], colour, 2);
      path([[at + 3.5, y - 3.5], [at - 3.5, y + 3.5]], colour, 2);
    }
    context.globalAlpha = 1;
    hit(item, at - 4, y - 5, at + 4, y + 5);
    if (state.selected === item) ring(at - 4, y - 4, 8, 8);
  };

  // From the node to the store's row of requests, and back.
  const message = (item, alpha, many) => {
    const until = item.until === undefined ? item.at : item.until;
    if (!within(item.at, until)) return;
    const store = by_node(undefined).rows.marks + ROW.marks / 2;
    const own = item.node === undefined ? store : by_node(item.node).rows.marks + ROW.marks / 2;
    const way = item.way, lost = way && way.lost, chosen = state.selected === item;
    const colour = chosen ? c.select : lost || item.tone === "fate" ? c.bad : nodeColour(item.node);
    context.globalAlpha = (chosen ? 1 : lost ? Math.max(alpha, 0.5) : alpha) * shade(item);
    const dash = way && way.overtaken ? [6, 3] : [];
    const thick = chosen ? 2 : item.tone === "release" ? 1.6 : 1;
    const lines = [];
    // Among many messages, a fast one shows only its two ends.
    const leg = (from, to, dashed = dash) => {
      if (many && !chosen && !lost && Math.abs(to[0] - from[0]) < 10) {
        const down = Math.sign(to[1] - from[1]) * 9;
        path([from, [from[0], from[1] + down]], colour, thick, dashed);
        path([[to[0], to[1] - down], to], colour, thick, dashed);
      } else path([from, to], colour, thick, dashed);
      lines.push([from, to]);
    };
    const cross = (at, y) => {
      path([[at - 3, y - 3], [at + 3, y + 3]], colour, 1.5);
      path([[at + 3, y - 3], [at - 3, y + 3]], colour, 1.5);
    };
    if (!way || (lost === "to-store" && !way.store.length)) {
      const half = many ? own - 9 : own + (store - own) * 0.18;
      leg([x(item.at), own], [x(item.at) + 6, half], [3, 2]);
      cross(x(item.at) + 6, half);
    } else {
      way.store.forEach((at) => {
        if (item.node !== undefined) leg([x(item.at), own], [x(at), store]);
      });
      const last = way.store[way.store.length - 1];
      if (way.back !== undefined && last !== undefined) leg([x(last), store], [x(way.back), own]);
      else if (lost === "to-node" && last !== undefined) {
        const half = many ? store + 9 : store + (own - store) * 0.18;
        leg([x(last), store], [x(last) + 6, half], [3, 2]);
        cross(x(last) + 6, half);
      }
      context.globalAlpha = (chosen ? 1 : many && !/: (granted|released)/.test(item.label) ? 0.35 : 0.9) * shade(item);
      for (const at of way.store) served(item, x(at), store, colour);
      if (way.store.length > 1 && !many) write("\u00d7" + way.store.length, x(last) + 5, store - 5, c.bad, Infinity, "left", "9px sans-serif");
    }
    context.globalAlpha = 1;
    hits.push({ item, lines });
  };
  // The store's answer: a diamond for a grant, a stroke for a renewal, a ring for a refusal.
  const served = (item, at, y, colour) => {
    if (at < GUTTER || at > width) return;
    context.fillStyle = colour;
    context.strokeStyle = colour;
    context.lineWidth = 1.3;
    context.beginPath();
    if (item.label.includes(": granted")) {
      context.moveTo(at, y - 5); context.lineTo(at + 5, y); context.lineTo(at, y + 5); context.lineTo(at - 5, y); context.fill();
    } else if (item.label.includes(": renewed") || item.label.includes(": released")) {
      context.fillRect(at - 1, y - 4, 2, 8);
    } else {
      context.arc(at, y, 2.5, 0, 7); context.stroke();
    }
    hit(item, at - 5, y - 6, at + 5, y + 6);
  };

  const clockLine = (error, lane) => {
    const top = lane.rows.clock, height = ROW.clock - 4, middle = top + height / 2 + 1;
    const most = Math.max(1, ...error.points.map(([, by]) => Math.abs(by)));
    path([[GUTTER, middle], [width, middle]], c.line, 1, [2, 3]);
    const points = error.points.map(([at, by]) => [x(at), middle - (by / most) * (height / 2)]);
    context.save();
    context.beginPath();
    context.rect(GUTTER, top - 2, width - GUTTER, height + 6);
    context.clip();
    path(points, c.muted, 1.3);
    context.restore();
    lane.error = most;
  };

  const violations = () => {
    const ends = [];
    const inView = (state.of.violation || []).filter((item) => x(item.at) >= GUTTER - 1 && x(item.at) <= width);
    for (const item of inView) {
      path([[x(item.at), 4], [x(item.at), place.height]], c.bad, state.selected === item ? 2.5 : 1.5);
    }
    for (const item of inView) {
      const at = x(item.at);
      context.font = "600 11px system-ui, 'DejaVu Sans', sans-serif";
      const wide = context.measureText(item.label).width + 12;
      const left = at + wide > width ? at - wide : at;
      let row = ends.findIndex((end) => end <= left);
      if (row < 0) row = ends.length < FLAG_ROWS ? ends.length : ends.indexOf(Math.min(...ends));
      ends[row] = left + wide + 4;
      context.fillStyle = c.bad;
      context.fillRect(left, 1 + row * 15, wide, 14);
      write(item.label, left + 6, 8.5 + row * 15, c.on, Infinity, "left", "600 11px system-ui, 'DejaVu Sans', sans-serif");
      hit(item, left, 0, left + wide, 16 + row * 15);
    }
  };

  const draw = (now) => {
    state = now;
    view = now.view;
    c = colours();
    width = canvas.clientWidth;
    hits.length = 0;
    const ratio = devicePixelRatio || 1;
    canvas.style.height = place.height + "px";
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(place.height * ratio);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    frame();
    const each = (kind, what) => (now.off.has(kind) ? [] : now.of[kind] || []).forEach(what);
    each("calm", calm);
    each("fault", fault);
    const inView = (now.of.message || []).filter((item) => within(item.at, item.until === undefined ? item.at : item.until)).length;
    const alpha = inView > 600 ? 0.2 : inView > 150 ? 0.35 : inView > 60 ? 0.45 : 0.65;
    each("message", (item) => message(item, alpha, inView > 150));
    each("lease", lease);
    each("claim", (item) => span(item, by_node(item.node).rows.claim, ROW.claim - 2, { fill: nodeColour(item.node), alpha: 0.38 }));
    each("quarantine", (item) => span(item, by_node(item.node).rows.claim, ROW.claim - 2, { fill: nodeColour(item.node), alpha: 0.12, border: nodeColour(item.node), dash: [3, 2] }));
    each("leads", (item) => span(item, by_node(item.node).rows.leads, ROW.leads - 2, { fill: nodeColour(item.node), text: item.label, ink: c.on }));
    each("work", (item) => span(item, by_node(item.node).rows.work + 3, ROW.work - 6, { fill: nodeColour(item.node), alpha: 0.45 }));
    run.clocks.forEach((error, index) => clockLine(error, place.lanes[index === run.nodes ? 0 : index + 1]));
    for (const kind of ["renewal", "hint", "started", "stepped-down", "resign-asked", "crashed", "store-crash"]) each(kind, mark);
    each("effect", effect);
    each("violation", () => {});
    if (!now.off.has("violation")) violations();
    gutter();
    if (now.selected && now.selected.kind !== "violation") {
      const at = x(now.selected.at);
      if (at >= GUTTER && at <= width) path([[at, place.axis], [at, place.height]], c.select, 1, [3, 3]);
    }
  };

  // The item at that point: marks before spans, and small items before large ones; then lines.
  const find = (px, py) => {
    if (px < GUTTER) return undefined;
    let best, least = Infinity;
    for (const of of hits) {
      let far = Infinity;
      if (of.lines) far = Math.min(...of.lines.map(([from, to]) => distance(px, py, from, to))) < 4 ? 1e8 : Infinity;
      else if (px >= of.x0 && px <= of.x1 && py >= of.y0 && py <= of.y1) far = (of.x1 - of.x0) * (of.y1 - of.y0);
      if (far < least) [best, least] = [of.item, far];
    }
    return best;
  };
  const distance = (px, py, [ax, ay], [bx, by_]) => {
    const wide = bx - ax, high = by_ - ay, size = wide * wide + high * high;
    const part = size ? Math.max(0, Math.min(1, ((px - ax) * wide + (py - ay) * high) / size)) : 0;
    return Math.hypot(px - ax - part * wide, py - ay - part * high);
  };
  const time = (px) => view.from + ((px - GUTTER) / (width - GUTTER)) * (view.to - view.from);
  return { draw, find, time, x };
};
