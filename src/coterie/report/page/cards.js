// A card for each group.

const WORDS_SHOWN = 10;

function card(group, data, show) {
  const shape = data.palettes.shapes[group.shape];
  const button = node("button", { type: "button", className: "quiet", text: "Show on the map" });
  button.addEventListener("click", () => show(group.place));
  const head = node("header", {},
    swatch(shape, group.colour),
    node("h3", {}, node("span", { className: "number", text: group.id }), ` ${group.name}`),
  );
  const share = ((100 * group.size) / data.rows).toFixed(1);
  const facts = node("p", { className: "size", text: `${group.size.toLocaleString("en")} ${group.size === 1 ? "text" : "texts"}, ${share} % · mean confidence ${group.confidence.toFixed(2)}` });
  return node("article", { className: "card", id: `group-${group.id}` },
    head,
    facts,
    wordList(group.words.slice(0, WORDS_SHOWN)),
    group.topics?.length ? part("Topics", topicItems(group.topics)) : null,
    part("Telling texts", group.examples.slice(0, 4).map((text) => node("li", { text }))),
    group.borderline.length ? part("At the border", group.borderline.slice(0, 3).map((text) => borderline(text, data))) : null,
    histogram(group.histogram, `Confidence of group ${group.id}`),
    group.nearest.length ? nearest(group, data, show) : null,
    button,
  );
}

function part(title, items) {
  return node("section", {}, node("h4", { text: title }), node("ul", {}, ...items));
}

function wordList(words) {
  const most = Math.max(...words.map(({ score }) => score), 1e-9);
  const items = words.map(({ word, score }) => {
    const item = node("li", { text: word });
    item.style.setProperty("--weight", (score / most).toFixed(2));
    return item;
  });
  return node("ul", { className: "words", "aria-label": "Words" }, ...items);
}

function topicItems(topics) {
  return [...topics].sort((a, b) => b.weight - a.weight).map(({ weight, words }) => {
    const text = words.map(({ word }) => word).join(", ");
    return node("li", { text: `${Math.round(100 * weight)} % · ${text}` });
  });
}

function borderline({ text, other, confidence, other_confidence: second }, data) {
  const [own, next] = [confidence, second].map((share) => `${Math.round(100 * share)} %`);
  const { id, name } = data.groups[other];
  const note = node("span", { className: "between", text: `${own} here, ${next} in ${id} ${name}` });
  return node("li", { text }, note);
}

function nearest(group, data, show) {
  const links = group.nearest.map(({ place }) => {
    const other = data.groups[place];
    const button = node("button", { type: "button", className: "chip" }, swatch(data.palettes.shapes[other.shape], other.colour), `${other.id} ${other.name}`);
    button.addEventListener("click", () => show(place));
    return button;
  });
  return node("section", {}, node("h4", { text: "Nearest groups" }), node("div", { className: "chips" }, ...links));
}
