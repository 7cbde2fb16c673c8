const findings = [...document.querySelectorAll(".finding")];
const go = (step) => {
  if (!findings.length) return;
  const here = findings.indexOf(document.activeElement.closest(".finding"));
  const next = findings[here < 0 ? (step > 0 ? 0 : findings.length - 1) : (here + step + findings.length) % findings.length];
  for (let part = next; part; part = part.parentElement) if (part.tagName === "DETAILS") part.open = true;
  next.focus({ preventScroll: true });
  next.scrollIntoView({ block: "center" });
};
addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "n") go(1);
  if (event.key === "p") go(-1);
});
for (const button of document.querySelectorAll(".tools button")) {
  button.addEventListener("click", () => {
    for (const part of document.querySelectorAll("details:not(.read)")) part.open = Boolean(button.dataset.open);
  });
}
const reveal = () => {
  const target = document.getElementById(location.hash.slice(1));
  for (let part = target; part; part = part.parentElement) if (part.tagName === "DETAILS") part.open = true;
  if (target) target.scrollIntoView({ block: "center" });
};
addEventListener("hashchange", reveal);
for (const link of document.querySelectorAll("summary a")) {
  link.addEventListener("click", (event) => event.stopPropagation()); // a mark leads to its finding and folds nothing
}
reveal();
let folded = [];
addEventListener("beforeprint", () => {
  folded = [...document.querySelectorAll("details:not([open]):not(.read)")];
  for (const part of folded) part.open = true;
});
addEventListener("afterprint", () => {
  for (const part of folded) part.open = false;
});
