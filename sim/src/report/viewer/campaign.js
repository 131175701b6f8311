// Many runs: tables and bars.
const isNumber = (text) => /^-?$|^-?\d[\d.,]*( ?(ms|us|s|%))?$|^\d+ of \d+$/.test(text);

const showTable = (of) => {
  const columns = of.head.map((_, index) => index > 0 && of.rows.every((row) => isNumber(row[index] || "")));
  const cell = (text, index, head) => {
    const name = of.head[index] || "";
    const classes = [columns[index] ? "number" : "", text === "0" ? "zero" : ""];
    if (/violated$/.test(name) && Number(text) > 0 || text === "violated") classes.push("wrong");
    return make(head || index === 0 ? "th" : "td", { className: classes.join(" ") }, text);
  };
  const row = (texts, head) => make("tr", {}, ...texts.map((text, index) => cell(text, index, head)));
  const table = make("table", {}, make("thead", {}, row(of.head, true)), make("tbody", {}, ...of.rows.map((texts) => row(texts, false))));
  const wide = of.head.length > 7 ? " wide" : "";
  return make("div", { className: "card" + wide }, make("h3", {}, of.title), table);
};

const showBars = (of) => {
  const most = Math.max(1, ...of.bars.map(([, count]) => count));
  const bars = of.bars.map(([name, count]) => {
    const bar = make("i");
    bar.style.width = (count / most) * 100 + "%";
    return make("div", { className: "bar" }, make("span", {}, name), bar, make("b", {}, String(count)));
  });
  return make("div", { className: "card" }, make("h3", {}, of.title), ...bars);
};

const showCampaign = (campaign) => {
  const into = by("campaign");
  into.hidden = false;
  body.dataset.tables = campaign.tables.length;
  const verdicts = make("ul", { className: "said" }, ...campaign.said.map((what) => make("li", {}, what)));
  const cards = make("div", { className: "cards" }, ...campaign.tables.map(showTable), ...campaign.bars.map(showBars));
  into.append(verdicts, cards);
};
