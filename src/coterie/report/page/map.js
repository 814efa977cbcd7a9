// The map: points stamped into pixels, so that it needs no graphics card and no library; a grid finds what is near.

const CELLS = 128;
const REACH = 14;
const MOST_ZOOM = 60;

class TextMap {
  // told: { hover(point, x, y), pick(point, x, y, touch), lasso(points) }
  constructor(canvas, data, told) {
    Object.assign(this, { canvas, data, told });
    this.context = canvas.getContext("2d", { alpha: false });
    this.shown = new Uint8Array(data.n).fill(1);
    this.hollow = new Uint8Array(data.n);
    this.looks = data.groups.map((group) => ({ colour: group.colour, shape: group.shape }));
    this.labels = data.groups.map((group) => this.labelOf(group));
    const reach = (places) => places.reduce((most, place) => Math.max(most, Math.abs(place)), 0.05);
    this.extent = { x: reach(data.x), y: reach(data.y) };
    this.zoom = 1;
    this.middle = { x: 0, y: 0 };
    this.marked = -1;
    this.lassoing = false;
    this.path = [];
    this.pointers = new Map();
    this.index();
    this.listen();
    new ResizeObserver(() => this.resize()).observe(canvas.parentElement);
  }

  labelOf(group) {
    const { data } = this;
    const [xs, ys] = [[], []];
    for (let i = 0; i < data.n; i++) {
      if (data.group[i] === group.place) xs.push(data.x[i]), ys.push(data.y[i]);
    }
    const half = (values) => values.sort((a, b) => a - b)[values.length >> 1] ?? 0;
    const text = group.given_name ?? group.name.split(", ").slice(0, 2).join(", ");
    return { x: half(xs), y: half(ys), text: text.length > 26 ? text.slice(0, 25) + "…" : text };
  }

  // Points by cell of a grid, each cell's in a row.
  index() {
    const { n, x, y } = this.data;
    const cellOf = (i) => this.cell(y[i]) * CELLS + this.cell(x[i]);
    this.starts = new Uint32Array(CELLS * CELLS + 1);
    for (let i = 0; i < n; i++) this.starts[cellOf(i) + 1]++;
    for (let c = 0; c < CELLS * CELLS; c++) this.starts[c + 1] += this.starts[c];
    const next = this.starts.slice();
    this.members = new Uint32Array(n);
    for (let i = 0; i < n; i++) this.members[next[cellOf(i)]++] = i;
  }

  cell(place) {
    return Math.min(CELLS - 1, Math.max(0, Math.floor(((place + 1) / 2) * CELLS)));
  }

  resize() {
    const box = this.canvas.getBoundingClientRect();
    this.dots = Math.min(2, window.devicePixelRatio || 1);
    this.width = Math.max(1, box.width);
    this.height = Math.max(1, box.height);
    this.canvas.width = Math.round(this.width * this.dots);
    this.canvas.height = Math.round(this.height * this.dots);
    this.pixels = this.context.createImageData(this.canvas.width, this.canvas.height);
    this.draw();
  }

  theme(dark) {
    this.dark = dark;
    this.colours = this.data.palettes[dark ? "dark" : "light"].map(rgb);
    this.ground = dark ? [20, 23, 28] : [255, 255, 255];
    this.ink = dark ? "#f1f2f4" : "#1b1d22";
    this.grey = dark ? [72, 78, 90] : [206, 209, 216];
    this.draw();
  }

  get scale() {
    return Math.min(this.width / this.extent.x, this.height / this.extent.y) * 0.45 * this.zoom;
  }

  toScreen(x, y) {
    return [(x - this.middle.x) * this.scale + this.width / 2, (this.middle.y - y) * this.scale + this.height / 2];
  }

  toData(left, top) {
    return [(left - this.width / 2) / this.scale + this.middle.x, this.middle.y - (top - this.height / 2) / this.scale];
  }

  // Many changes, one picture.
  draw() {
    if (this.waiting || !this.pixels || !this.colours) return;
    this.waiting = requestAnimationFrame(() => {
      this.waiting = 0;
      this.paint();
    });
  }

  paint() {
    const { data, shown } = this;
    const ground = (255 << 24) | (this.ground[2] << 16) | (this.ground[1] << 8) | this.ground[0];
    new Uint32Array(this.pixels.data.buffer).fill(ground);
    const room = Math.min(1, Math.sqrt(Math.min(this.width, this.height) / 600));
    const size = Math.max(1.5, (6.6 - 0.95 * Math.log10(data.n)) * room);
    const radius = this.dots * size * Math.min(2.2, this.zoom ** 0.35);
    const stamps = data.palettes.shapes.map((shape) => [stamp(shape, radius, false), stamp(shape, radius, true)]);
    const speck = stamp("circle", Math.max(this.dots, radius * 0.6), false);
    const left = (this.width / 2 - this.middle.x * this.scale) * this.dots;
    const top = (this.height / 2 + this.middle.y * this.scale) * this.dots;
    const step = this.scale * this.dots;
    for (let i = 0; i < data.n; i++) {
      if (!shown[i]) this.blot(speck, left + data.x[i] * step, top - data.y[i] * step, this.grey, 170);
    }
    const strength = data.n > 50_000 ? 190 : 222;
    for (let i = 0; i < data.n; i++) {
      if (!shown[i]) continue;
      const look = this.looks[data.group[i]];
      const mark = stamps[look.shape][this.hollow[i]];
      this.blot(mark, left + data.x[i] * step, top - data.y[i] * step, this.colours[look.colour], strength);
    }
    this.context.putImageData(this.pixels, 0, 0);
    this.write();
  }

  blot({ half, size, cover }, atX, atY, [red, green, blue], strength) {
    const { width, height, data: target } = this.pixels;
    const left = Math.round(atX) - half;
    const top = Math.round(atY) - half;
    if (left >= width || top >= height || left + size <= 0 || top + size <= 0) return;
    const [fromRow, toRow] = [Math.max(0, -top), Math.min(size, height - top)];
    const [fromColumn, toColumn] = [Math.max(0, -left), Math.min(size, width - left)];
    for (let row = fromRow; row < toRow; row++) {
      let at = ((top + row) * width + left + fromColumn) * 4;
      for (let column = fromColumn; column < toColumn; column++, at += 4) {
        const share = cover[row * size + column] * strength;
        if (!share) continue;
        target[at] += ((red - target[at]) * share) / 65025;
        target[at + 1] += ((green - target[at + 1]) * share) / 65025;
        target[at + 2] += ((blue - target[at + 2]) * share) / 65025;
      }
    }
  }

  // Names of groups where there is room, larger groups first; the marked point; the lasso.
  write() {
    const { context } = this;
    context.save();
    context.scale(this.dots, this.dots);
    context.font = "600 12.5px system-ui, sans-serif";
    context.textAlign = "center";
    context.textBaseline = "middle";
    context.lineJoin = "round";
    const taken = [];
    this.labels.forEach((label, group) => {
      if (this.named && !this.named(group)) return;
      const [middle, level] = this.toScreen(label.x, label.y);
      if (middle < 0 || middle > this.width || level < 0 || level > this.height) return;
      const half = context.measureText(label.text).width / 2 + 5;
      if (2 * half > this.width - 4) return;
      // A group at the edge has its name beside it rather than none.
      const x = Math.min(Math.max(middle, half + 2), this.width - half - 2);
      const y = Math.min(Math.max(level, 12), this.height - 12);
      const box = [x - half, y - 10, x + half, y + 10];
      if (taken.some((other) => box[0] < other[2] && box[2] > other[0] && box[1] < other[3] && box[3] > other[1])) return;
      taken.push(box);
      context.lineWidth = 4;
      context.strokeStyle = `rgba(${this.ground.join()},0.88)`;
      context.strokeText(label.text, x, y);
      context.fillStyle = this.ink;
      context.fillText(label.text, x, y);
    });
    context.strokeStyle = this.ink;
    if (this.marked >= 0) {
      const [x, y] = this.toScreen(this.data.x[this.marked], this.data.y[this.marked]);
      context.lineWidth = 2;
      context.beginPath();
      context.arc(x, y, 8, 0, 7);
      context.stroke();
    }
    if (this.path.length) {
      context.lineWidth = 1.5;
      context.setLineDash([5, 4]);
      context.beginPath();
      this.path.forEach(([x, y]) => context.lineTo(x, y));
      context.closePath();
      context.stroke();
    }
    context.restore();
  }

  // The shown point nearest to a place on the screen, or -1.
  nearest(left, top) {
    const { data } = this;
    const [x, y] = this.toData(left, top);
    const reach = REACH / this.scale;
    let best = -1;
    let least = reach * reach;
    for (let row = this.cell(y - reach); row <= this.cell(y + reach); row++) {
      for (let column = this.cell(x - reach); column <= this.cell(x + reach); column++) {
        const cell = row * CELLS + column;
        for (let at = this.starts[cell]; at < this.starts[cell + 1]; at++) {
          const point = this.members[at];
          const distance = (data.x[point] - x) ** 2 + (data.y[point] - y) ** 2;
          if (this.shown[point] && distance <= least) [best, least] = [point, distance];
        }
      }
    }
    return best;
  }

  inside(path) {
    const corners = path.map(([left, top]) => this.toData(left, top));
    const found = [];
    for (let i = 0; i < this.data.n; i++) {
      const [x, y] = [this.data.x[i], this.data.y[i]];
      if (!this.shown[i]) continue;
      let odd = false;
      for (let a = 0, b = corners.length - 1; a < corners.length; b = a++) {
        const [[ax, ay], [bx, by]] = [corners[a], corners[b]];
        if (ay > y !== by > y && x < ((bx - ax) * (y - ay)) / (by - ay) + ax) odd = !odd;
      }
      if (odd) found.push(i);
    }
    return found;
  }

  zoomBy(factor, left = this.width / 2, top = this.height / 2) {
    const [x, y] = this.toData(left, top);
    this.zoom = Math.min(MOST_ZOOM, Math.max(0.5, this.zoom * factor));
    const [nowX, nowY] = this.toData(left, top);
    this.middle.x += x - nowX;
    this.middle.y += y - nowY;
    this.draw();
  }

  moveBy(left, top) {
    this.middle.x -= left / this.scale;
    this.middle.y += top / this.scale;
    this.draw();
  }

  showAll() {
    this.zoom = 1;
    this.middle = { x: 0, y: 0 };
    this.draw();
  }

  mark(point) {
    this.marked = point;
    this.draw();
  }

  setLasso(on) {
    this.lassoing = on;
    this.path = [];
    this.canvas.classList.toggle("lassoing", on);
    this.draw();
  }

  listen() {
    const { canvas } = this;
    const at = (event) => [event.offsetX, event.offsetY];
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      this.zoomBy(Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : 0.0016)), ...at(event));
    }, { passive: false });
    canvas.addEventListener("pointerdown", (event) => {
      if (event.button) return;
      try {
        canvas.setPointerCapture(event.pointerId);
      } catch {
        // the pointer has gone already
      }
      this.pointers.set(event.pointerId, at(event));
      this.pressed = { at: at(event), moved: false };
      if (this.lassoing) this.path = [at(event)];
    });
    canvas.addEventListener("pointermove", (event) => this.moved(event, at(event)));
    canvas.addEventListener("pointerup", (event) => this.released(event, at(event)));
    canvas.addEventListener("pointercancel", (event) => this.pointers.delete(event.pointerId));
    canvas.addEventListener("pointerleave", () => this.told.hover(-1, 0, 0));
  }

  moved(event, here) {
    const before = this.pointers.get(event.pointerId);
    if (!before) {
      const point = this.lassoing ? -1 : this.nearest(...here);
      setCursor(this.canvas, this.lassoing, point);
      this.told.hover(point, ...here);
      return;
    }
    if (Math.hypot(here[0] - this.pressed.at[0], here[1] - this.pressed.at[1]) > 4) this.pressed.moved = true;
    if (this.lassoing) {
      this.path.push(here);
      this.draw();
    } else if (this.pointers.size === 2) {
      const [other] = [...this.pointers].filter(([id]) => id !== event.pointerId).map(([, place]) => place);
      const distance = (place) => Math.hypot(place[0] - other[0], place[1] - other[1]);
      this.zoomBy(distance(here) / Math.max(1, distance(before)), (here[0] + other[0]) / 2, (here[1] + other[1]) / 2);
    } else if (this.pressed.moved) {
      this.told.hover(-1, 0, 0);
      this.moveBy(here[0] - before[0], here[1] - before[1]);
    }
    this.pointers.set(event.pointerId, here);
  }

  released(event, here) {
    const wasDown = this.pointers.delete(event.pointerId);
    if (!wasDown) return;
    if (this.lassoing) {
      const { path } = this;
      this.path = [];
      this.draw();
      if (path.length > 2) this.told.lasso(this.inside(path));
    } else if (!this.pressed.moved) {
      this.told.pick(this.nearest(...here), ...here, event.pointerType === "touch");
    }
  }
}

function setCursor(canvas, lassoing, point) {
  canvas.style.cursor = lassoing ? "crosshair" : point >= 0 ? "pointer" : "grab";
}
