// Small drawings: a histogram, lines, a tree, a table of counts. Every word goes in as text.

function node(name, { text, className, ...attributes } = {}, ...children) {
  const element = document.createElement(name);
  if (className) element.className = className;
  if (text !== undefined) element.textContent = text;
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children.filter((child) => child !== null));
  return element;
}

function wording(x, y, text, attributes = {}) {
  const element = drawing("text", { x, y, ...attributes });
  element.textContent = text;
  return element;
}

function histogram(counts, label) {
  const [width, height] = [200, 44];
  const most = Math.max(1, ...counts);
  const step = width / counts.length;
  const picture = drawing("svg", { viewBox: `0 0 ${width} ${height + 14}`, class: "histogram", role: "img" });
  picture.setAttribute("aria-label", label);
  counts.forEach((count, bin) => {
    const tall = count ? Math.max(1.5, (count / most) * height) : 0;
    const bar = drawing("rect", { x: bin * step + 0.5, y: height - tall, width: step - 1, height: tall, rx: 1 });
    bar.dataset.from = bin / counts.length;
    picture.append(bar);
  });
  picture.append(
    drawing("line", { x1: 0, x2: width, y1: height + 0.5, y2: height + 0.5 }),
    wording(0, height + 12, "0"),
    wording(width, height + 12, "1", { "text-anchor": "end" }),
    wording(width / 2, height + 12, "confidence", { "text-anchor": "middle" }),
  );
  return picture;
}

function compact(value) {
  const size = Math.abs(value);
  if (size !== 0 && (size < 0.001 || size >= 100_000)) return value.toExponential(1);
  return String(Number(value.toPrecision(3)));
}

// One line over the epochs; a new phase begins where `breaks` says.
function lineChart(name, values, breaks) {
  const [width, height, pad] = [260, 110, 6];
  const known = values.filter(Number.isFinite);
  const [low, high] = [Math.min(...known), Math.max(...known)];
  const x = (i) => (values.length > 1 ? (i / (values.length - 1)) * (width - 2 * pad) + pad : width / 2);
  const y = (value) => (high > low ? height - pad - ((value - low) / (high - low)) * (height - 2 * pad) : height / 2);
  const picture = drawing("svg", { viewBox: `0 0 ${width} ${height}`, role: "img" });
  picture.setAttribute("aria-label", `${name}: from ${compact(known[0])} to ${compact(known.at(-1))}`);
  for (const at of breaks) picture.append(drawing("line", { class: "break", x1: x(at), x2: x(at), y1: 0, y2: height }));
  let path = "";
  values.forEach((value, i) => {
    if (Number.isFinite(value)) path += `${path && Number.isFinite(values[i - 1]) ? "L" : "M"}${x(i).toFixed(1)} ${y(value).toFixed(1)}`;
  });
  picture.append(drawing("path", { d: path }));
  if (known.length === 1) picture.append(drawing("circle", { cx: x(values.indexOf(known[0])), cy: y(known[0]), r: 3 }));
  const range = node("span", { className: "range", text: `${compact(low)} – ${compact(high)}` });
  const last = node("span", { className: "last", text: compact(known.at(-1)) });
  return node("figure", { className: "curve" }, node("figcaption", {}, node("b", { text: name }), last), picture, range);
}

// Every number that the epochs of a training have, as series by name.
function series(epochs) {
  const found = new Map();
  epochs.forEach((epoch, at) => {
    const numbers = { ...epoch.losses, ...epoch };
    for (const [name, value] of Object.entries(numbers)) {
      if (["epoch", "seconds"].includes(name) || typeof value !== "number" || !Number.isFinite(value)) continue;
      if (!found.has(name)) found.set(name, new Array(epochs.length).fill(NaN));
      found.get(name)[at] = value;
    }
  });
  return found;
}

function trainingCurves(epochs) {
  const breaks = epochs.flatMap((epoch, at) => (at && epoch.phase !== epochs[at - 1].phase ? [at - 0.5] : []));
  return [...series(epochs)].map(([name, values]) => lineChart(name, values, breaks));
}

// One kind of evidence over the numbers of groups that were tried, on a scale of ratios; the number chosen is marked.
function evidenceChart(name, tried, measure) {
  const [width, height, pad, foot] = [260, 124, 8, 16];
  const known = tried.filter((one) => Number.isFinite(one[measure]));
  const chosen = known.find((one) => one.chosen);
  const best = known.reduce((one, other) => (other[measure] > one[measure] ? other : one));
  const low = Math.min(0, ...known.map((one) => one[measure]));
  const [first, last] = [Math.log(tried[0].k), Math.log(tried.at(-1).k)];
  const x = (one) => pad + ((Math.log(one.k) - first) / (last - first || 1)) * (width - 2 * pad);
  const y = (value) => height - foot - pad - ((value - low) / (best[measure] - low || 1)) * (height - foot - 2 * pad);
  const picture = drawing("svg", { viewBox: `0 0 ${width} ${height}`, role: "img" });
  const at = (one) => `${compact(one[measure])} at ${one.k}`;
  picture.setAttribute("aria-label", `${name} from ${tried[0].k} to ${tried.at(-1).k} groups: ${chosen ? `${at(chosen)}, which was chosen; ` : ""}highest ${at(best)}`);
  if (chosen) picture.append(drawing("line", { class: "chosen", x1: x(chosen), x2: x(chosen), y1: 0, y2: height - foot }));
  const points = known.map((one) => `${x(one).toFixed(1)} ${y(one[measure]).toFixed(1)}`);
  picture.append(drawing("line", { class: "base", x1: 0, x2: width, y1: y(0), y2: y(0) }), drawing("path", { d: `M${points.join("L")}` }));
  for (const one of known) {
    const title = drawing("title");
    title.textContent = `${one.k} groups: ${compact(one[measure])}${one.chosen ? ", chosen" : ""}`;
    picture.append(drawing("circle", { cx: x(one).toFixed(1), cy: y(one[measure]).toFixed(1), r: one.chosen ? 4.5 : 2 }, title));
  }
  const marked = chosen ? x(chosen) : 0;
  const ends = [[tried[0], "start", marked > 30], [tried.at(-1), "end", marked < width - 30]];
  for (const [one, anchor, free] of ends) if (free || one.chosen) picture.append(wording(x(one), height - 3, one.k, { "text-anchor": anchor }));
  const inside = chosen && chosen !== tried[0] && chosen !== tried.at(-1);
  if (inside) picture.append(wording(marked, height - 3, chosen.k, { "text-anchor": "middle", class: "mark" }));
  const caption = node("figcaption", {}, node("b", { text: name }), node("span", { className: "last", text: chosen ? compact(chosen[measure]) : "" }));
  return node("figure", { className: "curve evidence" }, caption, picture);
}

// The same numbers for those who read rather than look.
function evidenceTable(tried, measures) {
  const head = ["groups", ...measures.map(([name]) => name)].map((text) => node("th", { scope: "col", text }));
  const rows = tried.map((one) => {
    const row = node("tr", {}, node("th", { scope: "row", text: one.chosen ? `${one.k}, chosen` : one.k }));
    row.append(...measures.map(([, measure]) => node("td", { text: Number.isFinite(one[measure]) ? one[measure].toFixed(3) : "none" })));
    return row;
  });
  const table = node("table", {}, node("thead", {}, node("tr", {}, ...head)), node("tbody", {}, ...rows));
  const scroll = node("div", { className: "scroll", tabindex: "0", role: "region", "aria-label": "Evidence for every number" }, table);
  return node("details", { className: "numbers" }, node("summary", { text: `All ${tried.length} numbers` }), scroll);
}

// The tree with its leaves on the right; `parts` are the larger groups, shown by their looks.
function treeDrawing(merges, groups, looks, left) {
  const leafHeight = 24;
  const [width, height] = [420, groups.length * leafHeight];
  const heights = merges.map(([tall]) => tall);
  const [low, high] = [Math.min(...heights, 1), Math.max(...heights, 0)];
  const span = 1.12 * Math.max(1e-6, high - low);
  const across = (tall) => 20 + ((high - tall) / span) * (width - 20); // names are just beyond the lowest join
  const nodes = groups.map((group) => ({ leaves: [group.place], x: width }));
  const standing = nodes.slice();
  const joints = [];
  merges.forEach(([tall, a, b], at) => {
    const [one, other] = [standing[a], standing[b]].sort((p, q) => Math.min(...p.leaves) - Math.min(...q.leaves));
    const joint = { leaves: [...one.leaves, ...other.leaves], x: across(tall), one, other, at };
    joint.leaves.forEach((leaf) => (standing[leaf] = joint));
    joints.push(joint);
  });
  const order = standing.length ? standing[0].leaves : [];
  order.forEach((leaf, place) => (nodes[leaf].y = (place + 0.5) * leafHeight));
  const picture = drawing("svg", { viewBox: `0 0 ${width + 330} ${height}`, width: width + 330, height, class: "tree" });
  for (const joint of joints) {
    joint.y = (joint.one.y + joint.other.y) / 2;
    const path = `M${joint.one.x} ${joint.one.y}H${joint.x}V${joint.other.y}H${joint.other.x}`;
    picture.append(drawing("path", { d: path, class: joint.at < groups.length - left ? "joined" : "open" }));
  }
  if (left > 1 && left < groups.length) {
    const [above, below] = [merges.at(-left + 1)[0], merges.at(-left)[0]];
    const x = across((above + below) / 2);
    picture.append(drawing("line", { class: "level", x1: x, x2: x, y1: 0, y2: height }));
  }
  for (const leaf of order) {
    const mark = drawing("g", { transform: `translate(${width + 14} ${nodes[leaf].y}) scale(5)` });
    const shape = drawing("path", { d: PATHS[looks[leaf].shapeName], class: "leaf" });
    shape.style.fill = `var(--c${looks[leaf].colour})`;
    mark.append(shape);
    picture.append(mark, wording(width + 28, nodes[leaf].y + 4, `${groups[leaf].id} ${groups[leaf].name} (${groups[leaf].size.toLocaleString("en")})`));
  }
  return picture;
}

// Counts by true class and group; the darker, the larger the share of the class.
function confusion(truth, groups) {
  const cell = groups.length > 60 ? 10 : 24;
  const longest = Math.max(...truth.names.map((name) => name.length));
  const side = cell > 12 ? 20 + 7.2 * Math.min(24, longest) : 8;
  const [width, height] = [groups.length * cell, truth.order.length * cell];
  const picture = drawing("svg", { viewBox: `0 0 ${width + side + 8} ${height + 34}`, width: width + side + 8, height: height + 34, class: "confusion", role: "img" });
  picture.setAttribute("aria-label", "Rows by true class and group");
  truth.order.forEach((one, row) => {
    const total = truth.table[one].reduce((sum, count) => sum + count, 0);
    const name = truth.names[one];
    if (cell > 12) picture.append(wording(side - 8, row * cell + cell / 2 + 4, name.length > 24 ? name.slice(0, 23) + "…" : name, { "text-anchor": "end" }));
    truth.table[one].forEach((count, group) => {
      if (!count) return;
      const share = count / total;
      const box = drawing("rect", { x: side + group * cell + 1, y: row * cell + 1, width: cell - 2, height: cell - 2, rx: 2 });
      box.style.opacity = (0.08 + 0.92 * share).toFixed(3);
      const title = drawing("title");
      title.textContent = `${name}: ${count.toLocaleString("en")} of ${total.toLocaleString("en")} in group ${groups[group].id} (${groups[group].name})`;
      box.append(title);
      picture.append(box);
      if (cell > 12 && count < 10_000) {
        const digits = wording(side + group * cell + cell / 2, row * cell + cell / 2 + 3.5, count, { "text-anchor": "middle", class: share > 0.45 ? "count strong" : "count" });
        picture.append(digits);
      }
    });
  });
  if (cell > 12) groups.forEach((group) => picture.append(wording(side + (group.place + 0.5) * cell, height + 15, group.id, { "text-anchor": "middle" })));
  picture.append(wording(side, height + 31, "group"));
  return picture;
}

// The same as a table, for those who cannot point at a cell.
function confusionTable(truth, groups) {
  return folded("All counts as a table", () => {
    const head = node("tr", {}, node("th", { scope: "col", text: truth.column }), ...groups.map((group) => node("th", { scope: "col", text: `${group.id} ${group.name}` })));
    const lines = truth.order.map((one) => node("tr", {}, node("th", { scope: "row", text: truth.names[one] }), ...truth.table[one].map((many) => node("td", { text: count(many) }))));
    return scrolling("Rows by true class and group", node("table", {}, node("thead", {}, head), node("tbody", {}, ...lines)));
  });
}

function factsTable(caption, facts) {
  const rows = facts.map(([name, value]) => node("tr", {}, node("th", { scope: "row", text: name }), node("td", { text: value })));
  return node("table", {}, node("caption", { text: caption }), node("tbody", {}, ...rows));
}
