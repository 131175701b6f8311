// The positions of all parts, top to bottom: the axis, the store, then a lane for each node.
const GUTTER = 112;
const ROW = { fault: 14, lease: 15, claim: 10, leads: 15, marks: 14, work: 9, clock: 18 };
const PAD = 7;
const FAULT_ROWS = 6;
const FLAG_ROWS = 8;
// The part of a whole run that a mark and its name take on the screen.
const FLAG_WIDTH = 0.1;

// Puts overlapping spans into separate rows, as few as possible.
const stacked = (items, most, width = 1) => {
  const ends = [];
  for (const item of items) {
    let row = ends.findIndex((end) => end <= item.at);
    // If there are too many, it uses the row that is free first.
    if (row < 0) row = ends.length < most ? ends.length : ends.indexOf(Math.min(...ends));
    ends[row] = Math.max(ends[row] || 0, item.until === undefined ? item.at + width : item.until);
    item.row = row;
  }
  return Math.max(1, ends.length);
};

const lanes = (run) => {
  // Above the times there is room for the names of violations that are close together.
  const axis = 26 + 15 * Math.max(1, Math.min(FLAG_ROWS, run.violations.length));
  let y = axis;
  const made = [];
  const lane = (node, rows) => {
    const of = { node, y, rows: {} };
    let at = y + PAD;
    for (const [name, count] of rows) {
      if (count) of.rows[name] = at;
      at += ROW[name] * count + (count ? 2 : 0);
    }
    of.height = at + PAD - 2 - y;
    y += of.height;
    made.push(of);
  };
  const own = (node, kind) => run.items.filter((item) => item.kind === kind && item.node === node);
  const faults = (node) => stacked(own(node, "fault"), FAULT_ROWS, run.end * FLAG_WIDTH) * (own(node, "fault").length ? 1 : 0);
  lane(undefined, [["fault", faults(undefined)], ["lease", stacked(own(undefined, "lease"), 3)], ["marks", 1], ["clock", 1]]);
  // A node that never led needs no room for it.
  const any = (node, ...kinds) => (kinds.some((kind) => own(node, kind).length) ? 1 : 0);
  for (let node = 0; node < run.nodes; node++) {
    const claims = any(node, "claim", "quarantine", "renewal");
    const works = any(node, "work", "effect");
    lane(node, [["marks", 1], ["fault", faults(node)], ["claim", claims], ["leads", any(node, "leads")], ["work", works], ["clock", 1]]);
  }
  return { axis, lanes: made, height: y };
};

// A step of the axis that gives about ten marks.
const tick = (span) => {
  const raw = span / 10;
  const power = 10 ** Math.floor(Math.log10(raw));
  return [1, 2, 5, 10].map((of) => of * power).find((of) => of >= raw);
};

// The text that the filter searches.
const searched = (item, run) => {
  const words = [item.kind, item.label, item.tone, laneName(item.node)];
  if (item.holder !== undefined) words.push("n" + item.holder);
  if (item.way) words.push(item.way.lost ? "lost" : "", item.way.duplicated ? "duplicated" : "", item.way.overtaken ? "overtaken" : "");
  for (const [name, value] of item.facts) words.push(name, value);
  return words.join(" ").toLowerCase();
};

const matches = (item, words) => words.every((word) => {
  if (/^n\d+$/.test(word)) return item.node === Number(word.slice(1)) || item.holder === Number(word.slice(1));
  return item.words.includes(word);
});

const grouped = (items) => items.reduce((of, item) => { (of[item.kind] = of[item.kind] || []).push(item); return of; }, {});

// Each mark knows the time of the next one in its row, so that its name ends before it.
const spaced = (items) => {
  const last = {};
  for (const item of items) {
    const row = item.kind === "fault" ? "fault" + item.row : ["renewal", "message", "effect"].includes(item.kind) ? undefined : item.until === undefined && item.kind !== "violation" ? "marks" : undefined;
    if (!row) continue;
    const key = row + laneName(item.node);
    if (last[key]) last[key].next = item.at;
    last[key] = item;
  }
};
