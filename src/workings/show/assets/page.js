for (const button of document.querySelectorAll(".tools button")) {
  button.addEventListener("click", () => {
    for (const part of document.querySelectorAll("details.inside")) part.open = Boolean(button.dataset.open);
  });
}
let folded = [];
addEventListener("beforeprint", () => {
  folded = [...document.querySelectorAll("details:not([open])")];
  for (const part of folded) part.open = true;
});
addEventListener("afterprint", () => {
  for (const part of folded) part.open = false;
});
