// The data of the page: compressed JSON in a block that a browser never runs.

function bytesOf(base64) {
  const text = atob(base64);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return bytes;
}

function unpacked(kind, base64) {
  return new kind(bytesOf(base64).buffer);
}

async function readData() {
  const block = document.getElementById("data");
  const packed = new Blob([bytesOf(block.textContent.trim())]).stream();
  block.remove(); // the texts are in memory twice otherwise
  const data = await new Response(packed.pipeThrough(new DecompressionStream("gzip"))).json();
  const { points } = data;
  data.groups.forEach((group, at) => (group.place = at)); // how the page tells them; `id` is what people call them by
  const place = (base64) => Float32Array.from(unpacked(Uint16Array, base64), (step) => (step / 65535) * 2 - 1);
  return {
    ...data,
    n: data.texts.length,
    row: unpacked(Uint32Array, points.row),
    x: place(points.x),
    y: place(points.y),
    group: unpacked(Uint32Array, points.group),
    confidence: unpacked(Float32Array, points.confidence),
    truthOf: data.truth ? unpacked(Uint32Array, data.truth.codes) : null,
  };
}

// For each group the number of the larger group it is in, when `left` of them are left; numbered by their first group.
function cutTree(merges, groups, left) {
  const leader = Array.from({ length: groups }, (_, group) => group);
  const find = (group) => {
    while (leader[group] !== group) group = leader[group] = leader[leader[group]];
    return group;
  };
  for (const [, a, b] of merges.slice(0, Math.max(0, groups - left))) {
    const [first, second] = [find(a), find(b)].sort((one, other) => one - other);
    leader[second] = first;
  }
  const roots = [...new Set(leader.map((_, group) => find(group)))].sort((a, b) => a - b);
  return leader.map((_, group) => roots.indexOf(find(group)));
}

// One cell of a CSV file, safe to open in a spreadsheet: what would run as a formula gets an apostrophe.
function csvCell(value) {
  let text = String(value);
  if (/^[=+\-@\t\r]/.test(text) && !/^[+-](\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/.test(text)) text = "'" + text;
  return /[",\r\n]/.test(text) ? '"' + text.replaceAll('"', '""') + '"' : text;
}

function download(name, text) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob(["\ufeff", text], { type: "text/csv;charset=utf-8" }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
