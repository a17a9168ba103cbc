// Keys, clicks, and the first look.

function move(by) {
  const nth = Math.min(Math.max(itemOf[Math.max(chosen, 0)] + by, 0), items.length - 1);
  show(items[nth].first);
}

// The next row in this direction of which it holds, past what is folded with this one.
function next(by, holds) {
  const { first, last } = items[itemOf[chosen]];
  for (let row = (by > 0 ? last : first) + by; row >= 0 && row < run.steps.length; row += by) {
    if (holds(run.steps[row])) return show(row);
  }
}

// What a loop breaks no step does: it is told at the last one, as in the chain of causes.
const endOfLoop = () => run.loop_start === null ? null : run.steps.length - 1;
const breaks = (step) => step.violations !== undefined || step === run.steps[endOfLoop()];
const strikes = (step) => step.fault === true;
const sameNode = (step) => step.lane === run.steps[chosen].lane;

function toggle() {
  const fold = items[itemOf[chosen]].fold;
  if (fold) unfold([fold], fold.first);
}

const help = document.querySelector(".help");
const keys = {
  ArrowDown: () => move(1), ArrowRight: () => move(1), j: () => move(1),
  ArrowUp: () => move(-1), ArrowLeft: () => move(-1), k: () => move(-1),
  PageDown: () => move(10), PageUp: () => move(-10), Home: () => move(-Infinity), End: () => move(Infinity),
  n: () => next(1, breaks), p: () => next(-1, breaks), f: () => next(1, strikes), F: () => next(-1, strikes),
  "]": () => next(1, sameNode), "[": () => next(-1, sameNode),
  c: () => why().classList.toggle("whole"), b: () => show(run.opens ?? endOfLoop() ?? chosen), Enter: toggle, o: () => unfold(folds, chosen), "/": () => search.focus(),
  i: goToOthers, "?": () => { help.open = !help.open; }, Escape: () => { if (help.open) help.open = false; else leave(); },
};
document.addEventListener("keydown", (event) => {
  const isTaken = event.target instanceof Element && event.target.closest("input, summary, a, button");
  const isOwn = event.key === "Enter" || event.target === search;
  if (event.ctrlKey || event.metaKey || event.altKey || !keys[event.key] || (isTaken && isOwn) || chosen < 0) return;
  event.preventDefault();
  keys[event.key]();
});
sheet.addEventListener("click", (event) => {
  const row = event.target.closest(".row");
  if (!row) return;
  const item = items[Number(row.dataset.item)];
  show(item.first, { opens: isClosed(item), scrolls: false });
});
for (const button of document.querySelectorAll("[data-key]")) {
  button.addEventListener("click", () => { if (chosen >= 0) keys[button.dataset.key](); });
}
// Down to the edge of the window and no further, wherever the tools stand.
help.addEventListener("toggle", () => {
  const shown = help.lastElementChild;
  shown.style.maxHeight = `${Math.max(innerHeight - shown.getBoundingClientRect().top - 8, 120)}px`;
});
foldAnew();

// `#15` is a step of the page's own run, `#12:2/15` one of the second other run in step 12.
function goToAddress(hash, how) {
  const [, step, nth, to] = hash.match(/^#(?:(\d+):(\d+)\/)?(\d+)$/) ?? [];
  if (to === undefined) return false;
  if (step !== undefined) take(Number(step), Number(nth)); else leave();
  show(rowOfStep(Number(to)), how);
  return true;
}

addEventListener("hashchange", () => goToAddress(location.hash));
document.addEventListener("click", (event) => {
  const link = event.target.closest(".why a, header a");
  if (!link) return;
  event.preventDefault();
  show(rowOfStep(Number(link.hash.slice(1))));
});
drawing.addEventListener("scroll", () => requestAnimationFrame(() => { draw(false); drawMap(); }));
addEventListener("beforeprint", () => draw(true, true));
addEventListener("afterprint", () => redraw());
new ResizeObserver(() => { if (run.steps.length > 0) redraw(); }).observe(drawing);

// A run without steps has nothing to choose.
if (run.steps.length > 0) {
  redraw();
  if (!goToAddress(location.hash, { says: false })) show(0, { scrolls: false, says: false });
  // The lanes have their widths only when all is laid out.
  else requestAnimationFrame(() => bringIntoSight(itemOf[chosen]));
}
document.body.dataset.ready = "yes";
