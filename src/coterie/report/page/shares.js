// The groups over time and by the values of a column.

const PANELS_AT_FIRST = 12;
const FEW = 10; // a share of fewer texts says little: drawn pale, and the scale does not follow it
const percent = (share) => `${(100 * share).toFixed(share > 0 && share < 0.0995 ? 1 : 0)} %`;
const sum = (numbers) => numbers.reduce((total, number) => total + number, 0);

// A small drawing of bars that tells each bar's words when it is pointed at, or reached with the arrow keys.
function bars(heights, words, label, { colour, most, pale = [] }) {
  const [width, height] = [260, 72];
  const step = width / heights.length;
  const picture = drawing("svg", { viewBox: `0 0 ${width} ${height + 1}`, preserveAspectRatio: "none", class: "bars", role: "img", tabindex: "0" });
  picture.setAttribute("aria-label", label);
  picture.append(drawing("line", { x1: 0, x2: width, y1: height + 0.5, y2: height + 0.5, class: "ground" }));
  const told = node("span", { className: "told", "aria-live": "polite" });
  const gap = Math.min(1, step / 4);
  heights.forEach((value, at) => {
    const tall = value ? Math.max(1, Math.min(1, value / most) * height) : 0;
    const bar = drawing("rect", { x: at * step + gap / 2, y: height - tall, width: step - gap, height: tall });
    if (colour !== undefined) bar.style.fill = `var(--c${colour})`;
    if (pale[at]) bar.classList.add("pale");
    picture.append(bar);
  });
  const all = picture.querySelectorAll("rect");
  let at = -1;
  const tell = (place) => {
    all[at]?.classList.remove("here");
    at = place;
    all[at]?.classList.add("here");
    picture.classList.toggle("pointed", at >= 0);
    told.textContent = words[at] ?? "";
  };
  for (const begin of ["pointermove", "pointerdown"]) {
    picture.addEventListener(begin, (event) => {
      const box = picture.getBoundingClientRect();
      tell(Math.max(0, Math.min(heights.length - 1, Math.floor(((event.clientX - box.left) / box.width) * heights.length))));
    });
  }
  picture.addEventListener("pointerleave", (event) => event.pointerType === "mouse" && tell(-1)); // a finger always leaves
  picture.addEventListener("blur", () => tell(-1));
  picture.addEventListener("keydown", (event) => {
    const moved = { ArrowLeft: at < 0 ? heights.length - 1 : at - 1, ArrowRight: at + 1, Home: 0, End: heights.length - 1 }[event.key];
    if (moved === undefined) return;
    event.preventDefault();
    tell(Math.max(0, Math.min(heights.length - 1, moved)));
  });
  return { picture, told };
}

// What a choice of one of several words changes.
function choice(label, options, act) {
  const select = node("select", {}, ...options.map(([value, text]) => node("option", { value, text })));
  select.addEventListener("change", () => act(select.value));
  return node("label", {}, node("span", { className: "label", text: label }), " ", select);
}

function scrolling(label, table) {
  return node("div", { className: "scroll shares", tabindex: "0", role: "region", "aria-label": label }, table);
}

// A heading to open; what is below it is made the first time.
function folded(heading, make) {
  const fold = node("details", {}, node("summary", { text: heading }));
  fold.addEventListener("toggle", () => {
    if (fold.open && fold.children.length === 1) fold.append(make());
  });
  return fold;
}

class OverTime {
  constructor(root, data, toggle) {
    this.over = data.over_time;
    this.toggle = toggle;
    this.shapes = data.palettes.shapes;
    const { counts, groups, changes } = this.over;
    this.totals = counts.map(sum);
    this.pale = this.totals.map((total) => total > 0 && total < FEW);
    this.series = groups.map((place, at) => {
      const own = counts.map((line) => line[at]);
      return { group: data.groups[place], own, total: sum(own), change: changes[at] };
    });
    this.chosen = new Set();
    this.limit = PANELS_AT_FIRST;
    this.unit = "shares";
    this.order = "size";
    this.panels = node("div", { className: "curves" });
    this.more = node("button", { type: "button", className: "quiet" });
    this.more.addEventListener("click", () => {
      this.limit = Infinity;
      this.draw();
    });
    root.replaceChildren(this.about(), this.tools(), this.whole(), this.panels, this.more, this.asTable());
    this.draw();
  }

  about() {
    const { column, period, periods, empty } = this.over;
    const without = empty ? ` ${count(empty)} ${empty === 1 ? "row has" : "rows have"} no date and ${empty === 1 ? "is" : "are"} not drawn.` : "";
    const pale = this.pale.some(Boolean) ? ` Pale bars are shares of fewer than ${FEW} texts.` : "";
    const thirds = this.over.changes.length ? " Above the bars on the right: the group's share of the first and of the last third of the time, with an arrow where they differ by at least three standard errors." : "";
    return node("p", { className: "about", text: `By ${column}: one bar is a ${period}, ${periods[0]} to ${periods.at(-1)}. Every drawing has its own scale.${pale}${thirds}${without}` });
  }

  tools() {
    const orders = [["size", "largest first"], ["rise", "rising most first"], ["fall", "falling most first"]];
    return node("p", { className: "row-tools" },
      choice("Bars", [["shares", `share of the ${this.over.period}`], ["counts", "number of texts"]], (unit) => {
        this.unit = unit;
        this.draw();
      }),
      this.over.changes.length ? choice("Order", orders, (order) => {
        this.order = order;
        this.draw();
      }) : null,
    );
  }

  whole() {
    const { period, periods } = this.over;
    const words = periods.map((name, at) => `${name}: ${count(this.totals[at])}`);
    const most = Math.max(...this.totals);
    return this.panel(node("b", { text: "All texts" }), `at most ${count(most)}`, null, bars(this.totals, words, `All texts by ${period}`, { most }));
  }

  panel(name, most, change, { picture, told }) {
    const { periods } = this.over;
    const ends = node("p", { className: "range ends" }, node("span", { text: periods[0] }), told, node("span", { text: periods.length > 1 ? periods.at(-1) : "" }));
    return node("figure", { className: "sketch" }, node("figcaption", {}, name), node("p", { className: "range ends" }, node("span", { text: most }), change), picture, ends);
  }

  ofGroup({ group, own, change }) {
    const { period, periods } = this.over;
    const inShares = this.unit === "shares";
    const share = own.map((number, at) => (this.totals[at] ? number / this.totals[at] : 0));
    const heights = inShares ? share : own;
    const words = periods.map((name, at) => `${name}: ${count(own[at])} of ${count(this.totals[at])}${this.totals[at] ? ` (${percent(share[at])})` : ""}`);
    const name = node("button", { type: "button", className: "chip", title: "Show only this group", "aria-pressed": this.chosen.has(group.place) }, swatch(this.shapes[group.shape], group.colour), `${group.id} ${group.name}`);
    name.addEventListener("click", () => this.toggle(group.place));
    const most = Math.max(...heights.filter((_, at) => !inShares || !this.pale[at])) || Math.max(...heights) || 1;
    const drawn = bars(heights, words, `Group ${group.id}, ${group.name}, by ${period}`, { colour: group.colour, most, pale: inShares ? this.pale : [] });
    const figure = this.panel(name, `at most ${inShares ? percent(most) : count(most)}`, change ? this.changed(change) : null, drawn);
    figure.dataset.panel = group.id;
    return figure;
  }

  changed([before, after, clear]) {
    const arrow = clear ? (after > before ? "▲ " : "▼ ") : "";
    return node("span", { className: clear ? "change clear" : "change", text: `${arrow}${percent(before)} → ${percent(after)}` });
  }

  ordered() {
    const rise = ({ change }) => (change ? change[1] - change[0] : 0);
    const by = { size: (a, b) => b.total - a.total, rise: (a, b) => rise(b) - rise(a), fall: (a, b) => rise(a) - rise(b) };
    return this.series.slice().sort(by[this.order]);
  }

  choose(chosen) {
    const same = chosen.size === this.chosen.size && [...chosen].every((id) => this.chosen.has(id));
    this.chosen = new Set(chosen);
    if (!same) this.draw();
  }

  draw() {
    const wanted = this.ordered().filter(({ group }) => !this.chosen.size || this.chosen.has(group.place));
    const held = this.panels.contains(document.activeElement) ? document.activeElement.closest("[data-panel]").dataset.panel : null;
    this.panels.replaceChildren(...wanted.slice(0, this.limit).map((series) => this.ofGroup(series)));
    this.panels.querySelector(`[data-panel="${held}"] button`)?.focus();
    this.more.hidden = wanted.length <= this.limit;
    this.more.textContent = `Show all ${count(wanted.length)} groups`;
  }

  // Every number once more, for those who read or hear them.
  asTable() {
    return folded("All numbers as a table", () => {
      const head = node("tr", {}, node("th", { scope: "col", text: this.over.period }), node("th", { scope: "col", text: "all" }), ...this.series.map(({ group }) => node("th", { scope: "col", text: `${group.id} ${group.name}` })));
      const lines = this.over.periods.map((name, at) => node("tr", {}, node("th", { scope: "row", text: name }), node("td", { text: count(this.totals[at]) }), ...this.series.map(({ own }) => node("td", { text: own[at] ? `${count(own[at])} (${percent(own[at] / this.totals[at])})` : "0" }))));
      return scrolling("Groups over time", node("table", {}, node("thead", {}, head), node("tbody", {}, ...lines)));
    });
  }
}

class ByValue {
  constructor(root, data, toggle) {
    this.by = data.by;
    this.toggle = toggle;
    this.shapes = data.palettes.shapes;
    this.groups = this.by.groups.map((place) => data.groups[place]);
    this.ofValue = this.by.counts.map(sum);
    this.ofGroup = this.groups.map((_, at) => sum(this.by.counts.map((line) => line[at])));
    const names = this.by.values.slice();
    if (this.by.joined) names[names.length - 1] = `all others (${count(this.by.joined)})`;
    this.names = this.by.has_empty ? [...names, "empty"] : names;
    this.body = node("tbody");
    const units = [["value", "share of the column"], ["group", "share of the group"], ["counts", "number of texts"]];
    root.replaceChildren(
      node("p", { className: "about", text: "The stronger a cell's colour, the larger its number. ▲ and ▼ mark groups that a value has clearly more or less of than all the other rows, by at least three standard errors." }),
      node("p", { className: "row-tools" }, choice("Cells", units, (unit) => this.draw(unit))),
      scrolling(`Groups by ${this.by.column}`, node("table", { className: "heat" }, this.head(), this.body)),
    );
    this.draw("value");
  }

  head() {
    const column = (name, at) => node("th", { scope: "col" }, node("span", { className: at < this.by.values.length - (this.by.joined ? 1 : 0) ? "value" : "value joined", text: name, title: name }), node("span", { className: "many", text: count(this.ofValue[at]) }));
    return node("thead", {}, node("tr", {}, node("th", { scope: "col", text: "Group" }), node("th", { scope: "col" }, node("span", { className: "value", text: "all" }), node("span", { className: "many", text: count(sum(this.ofValue)) })), ...this.names.map(column)));
  }

  draw(unit) {
    const { counts, signs } = this.by;
    const total = sum(this.ofValue);
    const number = (value, at) => ({ value: counts[value][at] / this.ofValue[value], group: counts[value][at] / this.ofGroup[at], counts: counts[value][at] })[unit] || 0;
    const overall = (at) => ({ value: this.ofGroup[at] / total, group: 1, counts: this.ofGroup[at] })[unit];
    const written = unit === "counts" ? count : percent;
    const most = Math.max(...this.groups.flatMap((_, at) => this.names.map((_, value) => number(value, at))), 1e-9);
    const cell = (value, at) => {
      const marks = { 1: "▲ ", [-1]: "▼ ", 0: "" };
      const title = `${this.names[value]}, ${this.groups[at].name}: ${count(counts[value][at])} texts, ${percent(counts[value][at] / this.ofValue[value])} of the column, ${percent(counts[value][at] / Math.max(1, this.ofGroup[at]))} of the group`;
      const box = node("td", { title }, node("span", { className: "mark", text: marks[signs[value][at]] }), written(number(value, at)));
      box.style.setProperty("--weight", (number(value, at) / most).toFixed(3));
      return box;
    };
    this.body.replaceChildren(...this.groups.map((group, at) => {
      const name = node("button", { type: "button", className: "chip", "aria-pressed": "false", title: "Show only this group" }, swatch(this.shapes[group.shape], group.colour), node("span", { className: "value", text: `${group.id} ${group.name}` }));
      name.addEventListener("click", () => this.toggle(group.place));
      return node("tr", { "data-line": group.id, "data-place": group.place }, node("th", { scope: "row" }, name), node("td", { className: "overall", text: written(overall(at)) }), ...this.names.map((_, value) => cell(value, at)));
    }));
    this.choose(this.chosen ?? new Set());
  }

  choose(chosen) {
    this.chosen = chosen;
    for (const line of this.body.children) {
      const isChosen = chosen.has(Number(line.dataset.place));
      line.hidden = chosen.size > 0 && !isChosen;
      line.querySelector("button").setAttribute("aria-pressed", isChosen);
    }
  }
}
