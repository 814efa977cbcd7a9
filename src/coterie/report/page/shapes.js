// How a group looks: a shape in a colour, as a stamp of pixels for the map and as a drawing for the page.

const SVG = "http://www.w3.org/2000/svg";

// Whether (x, y) is inside each shape, all of about the same area as a circle of radius 1.
const INSIDE = {
  circle: (x, y) => x * x + y * y <= 1,
  square: (x, y) => Math.abs(x) <= 0.89 && Math.abs(y) <= 0.89,
  triangle: (x, y) => y <= 0.85 && y >= -1.25 + 1.75 * Math.abs(x),
  diamond: (x, y) => Math.abs(x) + Math.abs(y) <= 1.25,
  cross: (x, y) => Math.abs(Math.abs(x) - Math.abs(y)) <= 0.52 && Math.abs(x) + Math.abs(y) <= 1.75,
  plus: (x, y) => (Math.abs(x) <= 0.42 && Math.abs(y) <= 1.25) || (Math.abs(y) <= 0.42 && Math.abs(x) <= 1.25),
};

const PATHS = {
  circle: "M-1 0a1 1 0 1 0 2 0a1 1 0 1 0-2 0z",
  square: "M-.89-.89h1.78v1.78h-1.78z",
  triangle: "M0-1.25L1.2 .85H-1.2z",
  diamond: "M0-1.25L1.25 0L0 1.25L-1.25 0z",
  cross: "M0-.52L.62-1.13L1.13-.62L.52 0L1.13 .62L.62 1.13L0 .52L-.62 1.13L-1.13 .62L-.52 0L-1.13-.62L-.62-1.13z",
  plus: "M-.42-1.25h.84v.83h.83v.84h-.83v.83h-.84v-.83h-.83v-.84h.83z",
};

// How much of each pixel around the middle a shape covers, 0 to 255; hollow ones have only a rim.
function stamp(shape, radius, hollow) {
  const half = Math.ceil(radius * 1.3);
  const size = 2 * half + 1;
  const cover = new Uint8Array(size * size);
  const inside = INSIDE[shape];
  const inner = Math.max(0, 1 - 1.5 / radius);
  const fine = 4;
  for (let row = 0; row < size; row++) {
    for (let column = 0; column < size; column++) {
      let hits = 0;
      for (let part = 0; part < fine * fine; part++) {
        const x = (column - half + ((part % fine) + 0.5) / fine - 0.5) / radius;
        const y = (row - half + (Math.floor(part / fine) + 0.5) / fine - 0.5) / radius;
        if (inside(x, y) && !(hollow && inner > 0 && inside(x / inner, y / inner))) hits++;
      }
      cover[row * size + column] = Math.round((255 * hits) / (fine * fine));
    }
  }
  return { half, size, cover };
}

function drawing(name, attributes = {}, ...children) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

function swatch(shape, colour) {
  const path = drawing("path", { d: PATHS[shape] });
  path.style.fill = `var(--c${colour})`;
  const mark = drawing("svg", { viewBox: "-1.5 -1.5 3 3", class: "swatch", "aria-hidden": "true" }, path);
  return mark;
}

function rgb(hex) {
  return [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
}
