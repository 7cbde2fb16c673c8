// What a page of worked solutions does beyond folding: find, step by keyboard, link, read a cell of a picture.
// Every function takes the element it works in, so that another page can use them.

const parents = function* (node) {
  for (let at = node.parentElement; at; at = at.parentElement) yield at;
};

/** The statements that can be seen, in order; gradients belong to their statement. */
export const statements = (root) =>
  [...root.querySelectorAll(".step[id]")].filter((step) => !step.closest(".gradients") && step.checkVisibility());

/** Unfold all that a statement stands in, mark it as the current one and bring it into view. */
export const go = (root, step) => {
  for (const part of parents(step)) if (part.tagName === "DETAILS") part.open = true;
  for (const old of root.querySelectorAll("[aria-current]")) old.removeAttribute("aria-current");
  step.setAttribute("aria-current", "step");
  const ids = new Set([step.id, ...[...parents(step)].map((part) => part.id)]);
  const links = [...root.querySelectorAll(".contents ul a")].filter((link) => ids.has(target(link)));
  links.at(-1)?.setAttribute("aria-current", "location");
  links.at(-1)?.scrollIntoView({ block: "nearest", inline: "nearest" });
  step.tabIndex = -1;
  step.focus({ preventScroll: true });
  step.scrollIntoView({ block: "center" });
};

const target = (link) => decodeURIComponent(link.hash.slice(1));

/** The next statement (by = 1) or the one before (by = -1). */
export const move = (root, by) => {
  const all = statements(root);
  const here = all.indexOf(root.querySelector(".step[aria-current]"));
  const next = all[here < 0 ? (by > 0 ? 0 : all.length - 1) : Math.min(all.length - 1, Math.max(0, here + by))];
  if (!next) return;
  go(root, next);
  history.replaceState(null, "", `#${encodeURIComponent(next.id)}`);
};

/** What can be searched of a statement: its address and its source. */
const words = (step) => `${step.id} ${step.querySelector(":scope > .forward > .source > code")?.textContent ?? ""}`;

/** The statements in which every word occurs. */
export const find = (root, query) => {
  const wanted = query.toLowerCase().split(/\s+/).filter(Boolean);
  const all = wanted.length ? [...root.querySelectorAll(".step[id]")] : [];
  return all.filter((step) => wanted.every((word) => words(step).toLowerCase().includes(word)));
};

/** `text` with the first occurrence of each word marked. */
const marked = (text, query) => {
  const word = query.trim().split(/\s+/)[0].toLowerCase();
  const at = text.toLowerCase().indexOf(word);
  if (at < 0) return [text];
  const mark = document.createElement("mark");
  mark.textContent = text.slice(at, at + word.length);
  return [text.slice(0, at), mark, text.slice(at + word.length)];
};

const MOST_FOUND = 60;

const list = (root, query) => {
  const [tree, found] = [root.querySelector(".contents > ul"), root.querySelector("#found")];
  const steps = find(root, query);
  tree.hidden = Boolean(query.trim());
  found.hidden = !tree.hidden;
  const count = document.createElement("li");
  count.textContent = `${steps.length} found${steps.length > MOST_FOUND ? `, the first ${MOST_FOUND}` : ""}`;
  const items = steps.slice(0, MOST_FOUND).map((step) => {
    const [item, link, place] = ["li", "a", "small"].map((tag) => document.createElement(tag));
    link.href = `#${encodeURIComponent(step.id)}`;
    const source = step.querySelector(":scope > .forward > .source > code")?.textContent ?? step.id;
    place.textContent = step.id;
    link.append(...marked(source, query), place);
    item.append(link);
    return item;
  });
  found.replaceChildren(...(query.trim() ? [count, ...items] : []));
};

/** Where an image of a picture stands in it. */
const placed = (image) => {
  let found = new DOMMatrix();
  for (const part of [image, ...parents(image)]) {
    if (part.tagName === "svg") break;
    found = DOMMatrix.fromMatrix(part.transform?.baseVal.consolidate()?.matrix ?? {}).multiply(found);
  }
  return found;
};

const numbers = (image) => {
  const bytes = Uint8Array.from(atob(image.dataset.values), (character) => character.charCodeAt(0));
  return new Float32Array(bytes.buffer);
};

const digits = (value) => {
  if (Number.isNaN(value)) return "NaN";
  const written = Number.isInteger(value) ? String(value) : String(Number(value.toPrecision(6)));
  return written.replace("Infinity", "∞").replaceAll("-", "−");
};

/** The picture that holds the numbers: the same one may stand on a page several times. */
const origin = (picture) => {
  const use = picture.querySelector("use");
  return use ? document.getElementById(use.getAttribute("href").slice(1)) : picture;
};

/** «row 3, column 0–3: 0.25» of cell (column, row) of an image. */
export const cell = (picture, image, column, row) => {
  const { block, rows, columns } = picture.dataset;
  const [tall, wide] = (block ?? "1 1").split(" ").map(Number);
  const entries = (at, size) => (size === 1 ? at : `${Math.floor(at * size)}–${Math.max(Math.floor(at * size), Math.ceil((at + 1) * size) - 1)}`);
  const named = (names, axis, at, size) => names ? JSON.parse(names)[at] : `${axis} ${entries(at, size)}`;
  const which = image.closest("g[transform]").parentElement.querySelector(":scope > text")?.textContent ?? "";
  const value = numbers(image)[row * image.width.baseVal.value + column];
  const place = `${named(rows, "row", row, tall)}, ${named(columns, "column", column, wide)}`;
  return `${which ? `${which} ` : ""}${place}: ${block ? "mean " : ""}${digits(value)}`;
};

/** Say the cell of a picture under the pointer. */
const read = (picture, event) => {
  const source = origin(picture);
  const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(picture.getScreenCTM().inverse());
  for (const image of source.querySelectorAll("image[data-values]")) {
    const { x, y } = at.matrixTransform(placed(image).inverse());
    const [column, row] = [Math.floor(x), Math.floor(y)];
    if (column < 0 || row < 0 || column >= image.width.baseVal.value || row >= image.height.baseVal.value) continue;
    say(picture, cell(source, image, column, row));
  }
};

const say = (picture, text) => {
  const found = picture.nextElementSibling;
  const output = found?.tagName === "OUTPUT" ? found : document.createElement("output");
  if (output !== found) picture.after(output);
  output.textContent = text;
};

const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

/** Arrow keys go from cell to cell of the first matrix of a picture. */
const walk = (picture, key) => {
  const source = origin(picture);
  const image = source.querySelector("image[data-values]");
  const [width, height] = [image.width.baseVal.value, image.height.baseVal.value];
  const [x, y] = (picture.dataset.at ?? "-1 0").split(" ").map(Number);
  const [column, row] = [x + ARROWS[key][0], y + ARROWS[key][1]];
  const at = [Math.min(width - 1, Math.max(0, column)), Math.min(height - 1, Math.max(0, row))];
  picture.dataset.at = at.join(" ");
  say(picture, cell(source, image, ...at));
};

const inField = (element) => element.closest("input, textarea, select, [contenteditable]");

/** Give a page its keys, its search, its buttons. */
export const start = (root) => {
  const search = root.querySelector("#search");
  const keys = { j: () => move(root, 1), k: () => move(root, -1), "/": () => search?.focus(), Escape: () => clear() };
  const clear = () => {
    if (search) list(root, (search.value = ""));
  };
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const picture = event.target.closest?.(".heatmap");
    if (picture && event.key in ARROWS) walk(picture, event.key);
    else if (!(event.key in keys) || (inField(event.target) && event.key !== "Escape")) return;
    else keys[event.key]();
    event.preventDefault();
  });
  const reveal = () => {
    const step = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (step?.matches(".step")) go(root, step);
  };
  addEventListener("hashchange", reveal);
  search?.addEventListener("input", () => list(root, search.value));
  root.addEventListener("pointermove", (event) => {
    const picture = event.target.closest?.(".heatmap");
    if (picture) read(picture, event);
  });
  for (const picture of root.querySelectorAll(".heatmap")) picture.tabIndex = 0;
  for (const button of root.querySelectorAll("[data-fold]")) {
    button.addEventListener("click", () => {
      for (const part of root.querySelectorAll("details.inside")) part.open = Boolean(button.dataset.fold);
    });
  }
  root.querySelector("[data-theme-switch]")?.addEventListener("click", () => {
    const page = document.documentElement;
    const dark = (page.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
    page.dataset.theme = dark ? "light" : "dark";
  });
  let folded = [];
  addEventListener("beforeprint", () => {
    folded = [...root.querySelectorAll("details:not([open])")];
    for (const part of folded) part.open = true;
  });
  addEventListener("afterprint", () => {
    for (const part of folded) part.open = false;
  });
  reveal();
};

start(document.body);
