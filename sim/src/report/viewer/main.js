// The strip of the whole run, the pointer, and the beginning.
const overview = (canvas, run, whole) => {
  const HEIGHT = 30;
  const context = canvas.getContext("2d");
  let width = 1;
  const x = (at) => GUTTER + ((at - whole.from) / (whole.to - whole.from)) * (width - GUTTER);
  const time = (px) => whole.from + ((px - GUTTER) / (width - GUTTER)) * (whole.to - whole.from);
  const bar = (item, y, high, colour, alpha = 1) => {
    context.globalAlpha = alpha;
    context.fillStyle = colour;
    context.fillRect(x(item.at), y, Math.max(1, x(item.until === undefined ? item.at : item.until) - x(item.at)), high);
    context.globalAlpha = 1;
  };
  const draw = (state) => {
    const c = colours(), ratio = devicePixelRatio || 1;
    width = canvas.clientWidth;
    canvas.style.height = HEIGHT + "px";
    canvas.width = Math.round(width * ratio);
    canvas.height = HEIGHT * ratio;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.fillStyle = c.faint;
    context.fillRect(GUTTER, 0, width, HEIGHT);
    for (const item of state.of.leads || []) bar(item, 5, 9, nodeColour(item.node));
    for (const item of state.of.fault || []) bar(item, 18, 7, c.fault[item.tone], 0.45);
    for (const item of state.of.violation || []) bar(item, 0, HEIGHT, c.bad);
    const from = x(state.view.from), to = Math.max(x(state.view.to), from + 3);
    context.fillStyle = c.card;
    context.globalAlpha = 0.65;
    context.fillRect(GUTTER, 0, from - GUTTER, HEIGHT);
    context.fillRect(to, 0, width - to, HEIGHT);
    context.globalAlpha = 1;
    context.strokeStyle = c.select;
    context.strokeRect(from + 0.5, 0.5, to - from - 1, HEIGHT - 1);
    context.fillStyle = c.muted;
    context.font = "9.5px system-ui, 'DejaVu Sans', sans-serif";
    context.textAlign = "right";
    context.fillText("leads", GUTTER - 10, 13);
    context.fillText("faults", GUTTER - 10, 25);
    context.textAlign = "left";
    context.fillText("whole run", 12, 13);
  };
  const on = (look, state) => {
    const move = (event) => {
      if (!event.buttons) return;
      const at = time(event.offsetX), half = (state.view.to - state.view.from) / 2;
      look(at - half, at + half);
    };
    canvas.addEventListener("pointerdown", (event) => { canvas.setPointerCapture(event.pointerId); move(event); });
    canvas.addEventListener("pointermove", move);
  };
  return { draw, on };
};

const pointer = (canvas, lane, state, act) => {
  const tip = by("tip");
  let dragged;
  canvas.addEventListener("wheel", (event) => {
    if (event.offsetX < GUTTER) return;
    event.preventDefault();
    if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) return act.pan((event.deltaX || event.deltaY) / 800);
    act.zoom(Math.exp(Math.max(-300, Math.min(300, event.deltaY)) * 0.0022), lane.time(event.offsetX));
  }, { passive: false });
  canvas.addEventListener("pointerdown", (event) => {
    dragged = { x: event.clientX, view: { ...state.view }, far: false };
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    if (dragged && event.buttons) {
      const far = event.clientX - dragged.x;
      dragged.far = dragged.far || Math.abs(far) > 4;
      if (!dragged.far) return;
      const by_ = (far / (canvas.clientWidth - GUTTER)) * (dragged.view.to - dragged.view.from);
      act.look(dragged.view.from - by_, dragged.view.to - by_);
      tip.hidden = true;
      return;
    }
    const item = lane.find(event.offsetX, event.offsetY);
    tip.hidden = !item;
    canvas.style.cursor = item ? "pointer" : "";
    if (!item) return;
    tip.textContent = `${clock(item.at, SHOWN)}  ${item.kind === "violation" ? "" : laneName(item.node) + "  "}${describe(item)}`;
    const left = Math.min(event.offsetX + 14, canvas.clientWidth - tip.offsetWidth - 6);
    tip.style.left = left + "px";
    tip.style.top = event.offsetY + canvas.offsetTop + 16 + "px";
  });
  canvas.addEventListener("pointerup", (event) => {
    if (dragged && !dragged.far) act.select(lane.find(event.offsetX, event.offsetY));
    dragged = undefined;
  });
  canvas.addEventListener("pointerleave", () => { tip.hidden = true; });
};

const data = JSON.parse(by("data").textContent);
const top_ = data.campaign || data.run;
by("verdict").textContent = top_.verdict || "no verdict";
by("verdict").classList.add((top_.verdict || "none").replaceAll(" ", "-"));
if (data.run) {
  const run = data.run;
  // One colour for what was to be violated: neither alarm nor praise.
  body.classList.toggle("expected", run.verdict === "violated as expected");
  const figure = (name, value) => [name + " ", make("b", {}, value), " \u00a0 "];
  const figures = [["engine", run.engine], ["seed", run.seed], ["candidates", String(run.nodes)], ["simulated", length(run.end)], ["events", String(run.events)]];
  by("figures").append(data.campaign ? "the failed run, below: " : "", ...figures.flatMap(([name, value]) => figure(name, value)));
}
if (data.campaign) showCampaign(data.campaign);
if (data.run) showRun(data.run);
soon(() => { body.dataset.ready = "true"; });
