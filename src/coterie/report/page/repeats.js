// Texts that are there more than once, and those with hardly any content.

const rowsOf = (number) => `${count(number)} ${number === 1 ? "row" : "rows"}`;

function writeRepeats(root, data, show) {
  const chip = (place) => {
    const group = data.groups[place];
    const button = node("button", { type: "button", className: "chip", title: "Show this group on the map" }, swatch(data.palettes.shapes[group.shape], group.colour), `${group.id} ${group.name}`);
    button.addEventListener("click", () => show(place));
    return button;
  };
  const line = ({ text, group }, number) => [node("span", { className: "times", text: `${count(number)} ×` }), node("span", { className: "words-of", text }), chip(group)];
  const { repeats } = data;
  root.replaceChildren(...[repeatedTexts(repeats, line), hardlyAnything(repeats, line)].filter(Boolean));
}

function repeatedTexts(repeats, line) {
  const { exact, near, different, sets } = repeats;
  if (!exact && !near) return null;
  const counts = [exact ? `${rowsOf(exact)} ${exact === 1 ? "repeats" : "repeat"} another word for word` : "", near ? `${exact ? count(near) : rowsOf(near)} nearly` : ""].filter(Boolean).join(", ");
  const below = repeats.junk ? " Texts with hardly any content are listed by themselves below." : "";
  const shown = sets.length < different ? ` The ${sets.length} largest of ${count(different)} sets:` : "";
  const items = sets.map((one) => {
    const fold = one.others.length ? node("details", {}, node("summary", { text: `${count(one.wordings)} other ${one.wordings === 1 ? "wording" : "wordings"}, ${count(one.rows - one.count)} of the ${rowsOf(one.rows)}` }), node("ul", {}, ...one.others.map((other) => node("li", {}, ...line(other, other.count))))) : null;
    return node("li", {}, ...line(one, one.rows), fold);
  });
  return node("div", { id: "repeated" },
    node("h2", { className: "title", text: "Repeated texts" }),
    node("p", { className: "about", text: `${counts}. When groups are learnt, ${howTheyWeigh(repeats)}; every row keeps its group. All of them are in duplicates.csv.${below}${shown}` }),
    items.length ? node("ol", { className: "repeats" }, ...items) : null,
  );
}

function howTheyWeigh({ one_by_one: oneByOne, too_few_texts: tooFewTexts }) {
  const once = "a text counts once, however often it is there";
  if (!oneByOne) return once;
  if (tooFewTexts) return "equal texts count once, and near repeats one by one, for there are too few texts";
  return `${once}, but ${count(oneByOne)} near ${oneByOne === 1 ? "repeat counts" : "repeats count one by one"}: ${oneByOne === 1 ? "it" : "they"} could be a group`;
}

function hardlyAnything(repeats, line) {
  const { junk, different_junk: different, junk_texts: texts } = repeats;
  if (!junk) return null;
  const shown = texts.length < different ? ` The ${texts.length} commonest of ${count(different)}:` : "";
  return node("div", { id: "junk" },
    node("h2", { className: "title", text: "Hardly any content" }),
    node("p", { className: "about", text: `${rowsOf(junk)} ${junk === 1 ? "holds" : "hold"} hardly anything to group by: no letter, one letter over and over, a word that stands for no answer, or keys beside each other. ${junk === 1 ? "It has its" : "They have their"} group and confidence like any other.${shown}` }),
    node("ol", { className: "repeats" }, ...texts.map((one) => node("li", {}, ...line(one, one.count)))),
  );
}
