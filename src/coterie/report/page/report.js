// The page: what is chosen, and everything that follows from it.

const ROWS_AT_ONCE = 60;
const MOST_CARDS_AT_ONCE = 24;
const EVIDENCE = [["Stability", "stability"], ["Silhouette", "silhouette"], ["Prediction strength", "prediction_strength"]];
const byId = (id) => document.getElementById(id);
const count = (number) => number.toLocaleString("en");

class Report {
  constructor(data) {
    this.data = data;
    this.chosen = new Set(); // groups; none means all
    this.lassoed = null; // points; null means all
    this.query = "";
    this.threshold = data.config.outliers_below ?? 0;
    this.onlyOutliers = false;
    this.left = data.groups.length; // larger groups after the cut
    this.parts = data.groups.map((group) => group.place);
    this.found = [];
    this.listed = ROWS_AT_ONCE;
    this.map = new TextMap(byId("map"), data, {
      hover: (point, x, y) => this.tell(point, x, y),
      pick: (point, x, y, touch) => this.pick(point, x, y, touch),
      lasso: (points) => this.lasso(points),
    });
    this.map.named = (group) => !this.chosen.size || this.chosen.has(group);
    this.setColours();
    this.writeFacts();
    this.writeLegend();
    this.writeEdits();
    this.writeCards();
    this.writeRest();
    this.writeSections();
    this.listen();
    this.cut(this.left);
    this.choose();
  }

  // Colours and theme

  setColours() {
    const { light, dark } = this.data.palettes;
    light.forEach((colour, i) => document.documentElement.style.setProperty(`--c${i}`, `light-dark(${colour}, ${dark[i]})`));
    const system = matchMedia("(prefers-color-scheme: dark)");
    const isDark = () => (document.documentElement.dataset.theme ?? (system.matches ? "dark" : "light")) === "dark";
    const apply = () => {
      this.map.theme(isDark());
      byId("theme-name").textContent = isDark() ? "Light" : "Dark";
    };
    system.addEventListener("change", apply);
    byId("theme").addEventListener("click", () => {
      document.documentElement.dataset.theme = isDark() ? "light" : "dark";
      apply();
    });
    apply();
  }

  lookOf(group) {
    const { colour, shape } = this.data.groups[this.leaders[this.parts[group]]];
    return { colour, shape, shapeName: this.data.palettes.shapes[shape] };
  }

  // What is chosen

  choose() {
    const { data, map, query } = this;
    const inLasso = this.lassoed && new Set(this.lassoed);
    let outliers = 0;
    this.found = [];
    for (let i = 0; i < data.n; i++) {
      const outlier = data.confidence[i] < this.threshold;
      outliers += outlier;
      const here =
        (!this.chosen.size || this.chosen.has(data.group[i])) &&
        (!inLasso || inLasso.has(i)) &&
        (!this.onlyOutliers || outlier) &&
        (!query || this.lower[i].includes(query));
      map.shown[i] = here ? 1 : 0;
      map.hollow[i] = outlier ? 1 : 0;
      if (here) this.found.push(i);
    }
    map.draw();
    this.listed = ROWS_AT_ONCE;
    this.writeThreshold(outliers);
    this.writeSelection();
    this.writeList();
    for (const button of byId("legend").querySelectorAll("button")) {
      button.setAttribute("aria-pressed", this.chosen.has(Number(button.dataset.place)));
    }
    for (const section of this.sections) section.choose(this.chosen);
    byId("legend").classList.toggle("filtered", this.chosen.size > 0);
    byId("all-groups").hidden = !this.chosen.size;
  }

  toggle(group) {
    if (!this.chosen.delete(group)) this.chosen.add(group);
    this.choose();
  }

  showOnly(group) {
    this.chosen = new Set([group]);
    this.lassoed = null;
    this.choose();
    byId("map-section").scrollIntoView();
  }

  clear() {
    this.chosen.clear();
    this.lassoed = null;
    this.query = byId("search").value = "";
    this.onlyOutliers = byId("only-outliers").checked = false;
    this.setLasso(false);
    this.map.mark(-1);
    this.choose();
  }

  search(text) {
    this.lower ??= this.data.texts.map((one) => one.toLowerCase());
    this.query = text.trim().toLowerCase();
    this.choose();
  }

  lasso(points) {
    this.lassoed = points.length ? points : null;
    this.setLasso(false);
    this.choose();
  }

  setLasso(on) {
    this.map.setLasso(on);
    byId("lasso").setAttribute("aria-pressed", on);
  }

  pick(point, x, y, touch) {
    if (touch) this.tell(point, x, y);
    else if (point >= 0) this.toggle(this.data.group[point]);
  }

  // The map's own words

  tell(point, x, y) {
    const tip = byId("tip");
    tip.hidden = point < 0;
    if (point < 0) return;
    const { data } = this;
    const group = data.groups[data.group[point]];
    const facts = [`${group.id} ${group.name}`, `confidence ${data.confidence[point].toFixed(2)}`, `row ${count(data.row[point] + 1)}`];
    if (data.truthOf) facts.push(`${data.truth.column}: ${data.truth.names[data.truthOf[point]]}`);
    const { colour, shapeName } = this.lookOf(group.place);
    const text = data.texts[point];
    tip.replaceChildren(
      node("p", { text: text.length > 400 ? text.slice(0, 399) + "…" : text }),
      node("p", { className: "meta" }, swatch(shapeName, colour), facts.join(" · ")),
    );
    const [width, height] = [tip.offsetWidth, tip.offsetHeight];
    const left = Math.max(6, Math.min(this.map.width - width - 6, x - width / 2));
    const top = y > height + 24 ? y - height - 16 : y + 20;
    tip.style.transform = `translate(${left}px, ${top}px)`;
  }

  // What stands on the page

  writeFacts() {
    const { data } = this;
    const { options, created, input } = data.config;
    const facts = [
      `${count(data.rows)} texts`,
      `${count(data.groups.length)} groups`,
      `method ${options.method}`,
      `column ${input.text_column}`,
      `${data.metrics.seconds.toFixed(1)} s`,
      created.slice(0, 10),
    ];
    if (data.n < data.rows) facts.push(`the map and the list show ${count(data.n)} of them, evenly chosen`);
    byId("facts").replaceChildren(...facts.map((text) => node("span", { text })));
    byId("map").setAttribute("aria-label", `Map of ${count(data.n)} texts in ${count(data.groups.length)} groups`);
  }

  writeLegend() {
    byId("legend").replaceChildren(
      ...this.data.groups.map((group) => {
        const button = node("button", { type: "button", "data-group": group.id, "data-place": group.place, "aria-pressed": "false" },
          swatch(this.data.palettes.shapes[group.shape], group.colour),
          node("span", { className: "number", text: group.id }),
          node("span", { className: "name", text: group.name, title: group.name }),
          node("span", { className: "many", text: count(group.size) }),
        );
        button.addEventListener("click", () => this.toggle(group.place));
        return node("li", {}, button);
      }),
    );
  }

  writeThreshold(outliers) {
    const share = ((100 * outliers) / Math.max(1, this.data.n)).toFixed(1);
    byId("threshold-value").textContent = this.threshold.toFixed(2);
    byId("outlier-count").textContent = `only these: ${count(outliers)} (${share} %)`;
    this.markBars();
  }

  markBars() {
    for (const bar of document.querySelectorAll(".histogram rect")) {
      bar.classList.toggle("below", Number(bar.dataset.from) + 1e-9 < this.threshold);
    }
  }

  writeSelection() {
    const all = this.found.length === this.data.n;
    byId("selection").textContent = all ? `All ${count(this.data.n)} texts` : `${count(this.found.length)} of ${count(this.data.n)} texts`;
    byId("clear").hidden = all;
    byId("export").disabled = !this.found.length;
  }

  ordered() {
    const { confidence } = this.data;
    const order = byId("order").value;
    if (order === "file") return this.found;
    const sign = order === "low" ? 1 : -1;
    return this.found.slice().sort((a, b) => sign * (confidence[a] - confidence[b]) || a - b);
  }

  writeList() {
    const rows = this.ordered();
    byId("list").replaceChildren(...rows.slice(0, this.listed).map((point) => this.listItem(point)));
    const more = byId("more");
    more.hidden = rows.length <= this.listed;
    more.textContent = `Show more (${count(rows.length - this.listed)} left)`;
  }

  listItem(point) {
    const { data } = this;
    const group = data.groups[data.group[point]];
    const { colour, shapeName } = this.lookOf(group.place);
    const item = node("button", { type: "button", className: "text" },
      swatch(shapeName, colour),
      node("span", { className: "words-of", text: data.texts[point] }),
      node("span", { className: "meta" },
        node("span", { className: "name", text: `${group.id} ${group.name}`, title: group.name }),
        node("span", { className: "sure", text: data.confidence[point].toFixed(2) }),
      ),
    );
    const mark = () => this.map.mark(point);
    item.addEventListener("focus", mark);
    item.addEventListener("pointerenter", mark);
    item.addEventListener("blur", () => this.map.mark(-1));
    item.addEventListener("click", () => {
      this.map.middle = { x: data.x[point], y: data.y[point] };
      this.map.zoom = Math.max(this.map.zoom, 4);
      mark();
      byId("map").scrollIntoView({ block: "nearest" });
    });
    return node("li", {}, item);
  }

  writeEdits() {
    const { edits } = this.data;
    byId("edits").hidden = !edits.length;
    byId("edits-list").replaceChildren(...edits.map((text) => node("li", { text })));
  }

  // Many cards are made as they come into sight.
  writeCards() {
    const { groups } = this.data;
    const cards = byId("cards");
    let made = 0;
    const add = () => {
      const next = groups.slice(made, made + MOST_CARDS_AT_ONCE);
      cards.append(...next.map((group) => card(group, this.data, (place) => this.showOnly(place))));
      made += next.length;
      this.markBars();
    };
    add();
    if (made === groups.length) return;
    const end = node("div", { className: "end" });
    cards.after(end);
    new IntersectionObserver((entries, watch) => {
      if (!entries.some((entry) => entry.isIntersecting)) return;
      add();
      if (made === groups.length) watch.disconnect();
    }, { rootMargin: "800px" }).observe(end);
  }

  cut(left) {
    const { data, map } = this;
    this.left = left;
    this.parts = cutTree(data.hierarchy, data.groups.length, left);
    this.leaders = []; // the largest group of each part gives it its look
    this.parts.forEach((part, group) => (this.leaders[part] ??= group));
    const looks = data.groups.map((group) => this.lookOf(group.place));
    map.looks = looks;
    map.draw();
    byId("cut-value").textContent = left === data.groups.length ? `${left} (every group by itself)` : left;
    byId("tree").replaceChildren(treeDrawing(data.hierarchy, data.groups, looks, left));
    byId("legend").querySelectorAll("button").forEach((button, group) => {
      button.firstChild.replaceWith(swatch(looks[group].shapeName, looks[group].colour));
    });
    if (this.found.length) this.writeList();
  }

  writeRest() {
    const { data } = this;
    const epochs = data.history.filter((entry) => entry.losses);
    for (const part of document.querySelectorAll("[data-part=training]")) part.hidden = !epochs.length;
    for (const part of document.querySelectorAll("[data-part=truth]")) part.hidden = !data.truth;
    if (epochs.length) byId("curves").replaceChildren(...trainingCurves(epochs));
    if (data.truth) this.writeTruth();
    this.writeNumber(data.history.filter((entry) => Number.isInteger(entry.k) && "stability" in entry));
    const written = (value) => {
      if (typeof value === "number") return String(Number(value.toPrecision(6)));
      return value !== null && typeof value === "object" ? JSON.stringify(value) : String(value ?? "none");
    };
    const facts = (record) => Object.entries(record).map(([name, value]) => [name, written(value)]);
    const tried = data.history.filter((entry) => entry.candidate);
    const stages = data.history.filter((entry) => entry.stage);
    const notes = data.history.filter((entry) => entry.note);
    const tables = [
      ["Options", facts(data.config.options)],
      ["Input", facts(data.config.input)],
      ["Scores and cost", facts(data.metrics)],
      ["What was tried", tried.map((entry) => [entry.candidate, `${entry.criterion} ${compact(entry.score)}${entry.kept ? ", kept" : ""}`])],
      ["Notes", notes.map((entry, at) => [String(at + 1), entry.note])],
      ["Seconds of each stage", stages.map((entry) => [entry.stage, compact(entry.seconds)])],
      ["Versions", facts(data.config.versions)],
      ["Machine", facts(data.config.machine)],
    ];
    byId("facts-tables").replaceChildren(...tables.filter(([, rows]) => rows.length).map(([name, rows]) => factsTable(name, rows)));
  }

  // What not every run has; those that go by groups are told which are chosen.
  writeSections() {
    const { data } = this;
    const toggle = (group) => this.toggle(group);
    for (const name of ["over_time", "by", "repeats"]) {
      for (const part of document.querySelectorAll(`[data-part=${name}]`)) part.hidden = !data[name];
    }
    this.sections = [];
    if (data.over_time) this.sections.push(new OverTime(byId("periods"), data, toggle));
    if (data.by) this.sections.push(new ByValue(byId("values"), data, toggle));
    if (data.by) byId("by-title").textContent = `By ${data.by.column}`;
    if (data.repeats) writeRepeats(byId("repeats"), data, (group) => this.showOnly(group));
  }

  writeNumber(tried) {
    for (const part of document.querySelectorAll("[data-part=number]")) part.hidden = !tried.length;
    if (!tried.length) return;
    const note = this.data.history.find((entry) => entry.note);
    byId("number-why").textContent = note ? `${note.note}.` : "";
    byId("number-curves").replaceChildren(...EVIDENCE.map(([name, measure]) => evidenceChart(name, tried, measure)));
    byId("number-curves").after(evidenceTable(tried, EVIDENCE));
  }

  writeTruth() {
    const { truth, metrics, groups } = this.data;
    const scores = ["acc", "nmi", "ari", "purity", "ami"].filter((name) => Number.isFinite(metrics[name]));
    const tiles = scores.map((name) => node("div", { className: "tile" }, node("b", { text: (100 * metrics[name]).toFixed(1) }), node("span", { text: name })));
    const scroll = node("div", { className: "scroll", tabindex: "0", role: "region", "aria-label": "Confusion matrix" }, confusion(truth, groups));
    byId("truth").replaceChildren(
      node("div", { className: "tiles" }, ...tiles),
      node("p", { className: "about", text: `Each line is a value of ${truth.column}, each column a group; the darker, the larger the share of the line. Point at a cell for its count.` }),
      scroll,
      confusionTable(truth, groups),
    );
  }

  exportRows() {
    const { data } = this;
    // The page has the beginning of a long text, and rare true groups as one: the columns say so.
    const header = ["row", "cluster", "name", "confidence", "outlier", data.cut ? "text_beginning" : "text"];
    const isCut = this.left < data.groups.length;
    if (isCut) header.push("larger_group");
    if (data.truth) header.push(data.truth.joined ? `${data.truth.column}_rare_ones_joined` : data.truth.column);
    const lines = [header, ...this.ordered().map((point) => {
      const group = data.group[point];
      const line = [data.row[point] + 1, data.groups[group].id, data.groups[group].name, data.confidence[point].toFixed(4), data.confidence[point] < this.threshold, data.texts[point]];
      if (isCut) line.push(this.parts[group]);
      if (data.truth) line.push(data.truth.names[data.truthOf[point]]);
      return line;
    })];
    download("selection.csv", lines.map((line) => line.map(csvCell).join(",")).join("\r\n") + "\r\n");
  }

  listen() {
    const on = (id, event, act) => byId(id).addEventListener(event, act);
    let waiting = 0;
    on("search", "input", (event) => {
      clearTimeout(waiting);
      waiting = setTimeout(() => this.search(event.target.value), 120);
    });
    const slider = byId("threshold");
    slider.value = this.threshold;
    on("threshold", "input", () => {
      this.threshold = Number(slider.value);
      cancelAnimationFrame(this.sliding);
      this.sliding = requestAnimationFrame(() => this.choose());
    });
    on("only-outliers", "change", (event) => {
      this.onlyOutliers = event.target.checked;
      this.choose();
    });
    const cut = byId("cut");
    cut.max = cut.value = this.left;
    on("cut", "input", () => this.cut(Number(cut.value)));
    on("all-groups", "click", () => {
      this.chosen.clear();
      this.choose();
    });
    on("clear", "click", () => this.clear());
    on("order", "change", () => this.writeList());
    on("more", "click", () => {
      this.listed += ROWS_AT_ONCE;
      this.writeList();
    });
    on("export", "click", () => this.exportRows());
    on("lasso", "click", () => this.setLasso(!this.map.lassoing));
    on("zoom-in", "click", () => this.map.zoomBy(1.5));
    on("zoom-out", "click", () => this.map.zoomBy(1 / 1.5));
    on("zoom-all", "click", () => this.map.showAll());
    on("map", "keydown", (event) => this.key(event));
    document.addEventListener("keydown", (event) => {
      if (event.key === "Escape" && event.target.tagName !== "INPUT") this.clear();
    });
  }

  key(event) {
    const { map } = this;
    const keys = {
      ArrowLeft: () => map.moveBy(60, 0),
      ArrowRight: () => map.moveBy(-60, 0),
      ArrowUp: () => map.moveBy(0, 60),
      ArrowDown: () => map.moveBy(0, -60),
      "+": () => map.zoomBy(1.4),
      "=": () => map.zoomBy(1.4),
      "-": () => map.zoomBy(1 / 1.4),
      0: () => map.showAll(),
      l: () => this.setLasso(!map.lassoing),
    };
    if (!(event.key in keys) || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    keys[event.key]();
  }
}

readData()
  .then((data) => {
    new Report(data);
    document.documentElement.dataset.ready = "yes";
  })
  .catch((error) => {
    const problem = byId("problem");
    problem.textContent = `This report could not be shown (${error.message}). It needs a browser of 2024 or newer.`;
    problem.hidden = false;
    throw error;
  });
