// The whole run in small: a column per node, what it holds, its pauses and crashes, faults, broken promises, and what is in sight.

const map = document.getElementById("map");
const COLUMN = 6, EDGE = 6;
// Before the drawing is measured, which has the rest.
map.style.width = `${2 * EDGE + COLUMN * run.nodes.length}px`;

function colours() {
  const style = getComputedStyle(document.documentElement);
  const named = (name) => style.getPropertyValue(name).trim();
  return { ink: named("--ink"), paper: named("--paper"), faint: named("--faint"), fault: named("--orange-mark"), broken: named("--red"), found: named("--purple"),
    sight: named("--blue"), holds: named("--green"), "holds-too": named("--red"), paused: named("--pause"), down: named("--down") };
}

function drawMap() {
  const dense = window.devicePixelRatio || 1;
  const [wide, high] = [2 * EDGE + COLUMN * run.nodes.length, drawing.clientHeight];
  [map.width, map.height] = [wide * dense, high * dense];
  const pen = map.getContext("2d");
  pen.scale(dense, dense);
  const colour = colours();
  const y = (step) => (step / run.total) * high;
  const fill = (name, left, top, width, height) => {
    pen.fillStyle = colour[name];
    pen.fillRect(left, top, width, height);
  };
  for (const [first, last] of drawnRanges()) fill("faint", 0, y(first), 2, Math.max(y(last) - y(first), 2));
  const bar = ([lane, what, first, last], aside, wide) =>
    fill(what, EDGE + COLUMN * lane + aside, y(first), wide, Math.max(y(last + 1) - y(first), 1));
  const isHeld = ([, what]) => what.startsWith("holds");
  for (const span of run.map.spans) if (!isHeld(span)) bar(span, 0, COLUMN - 1);
  for (const span of run.map.spans) if (isHeld(span)) bar(span, 1, COLUMN - 3);
  for (const step of run.map.faults) fill("fault", wide - EDGE, y(step), EDGE, 1);
  for (const step of run.map.broken) fill("broken", 0, y(step), wide, 2);
  for (const row of hits) fill("found", 0, y(run.steps[row].step - 1), EDGE, 2);
  const [top, bottom] = inSight().map(y);
  pen.strokeStyle = colour.sight;
  pen.lineWidth = 2;
  pen.strokeRect(1, top + 1, wide - 2, Math.max(bottom - top - 2, 4));
  if (chosen >= 0) fill("ink", 0, y(run.steps[chosen].step - 0.5), wide, 1);
  describeMap();
}

function describeMap() {
  const broken = counted(run.map.broken.length, "broken promise"), faults = counted(run.map.faults.length, "fault");
  map.title = `the whole run, ${counted(run.total, "step")}: ${faults}, ${broken}. Click to go there`;
  map.setAttribute("aria-label", map.title);
  map.setAttribute("aria-valuemax", String(run.total));
  const step = String(run.steps[Math.max(chosen, 0)]?.step ?? 0);
  map.setAttribute("aria-valuenow", step);
  map.setAttribute("aria-valuetext", `step ${step}`);
}

// The steps that are drawn, as positions in the run.
function drawnRanges() {
  const starts = [0, ...run.gaps.map(([row]) => row), run.steps.length];
  return starts.slice(1).map((end, nth) => [run.steps[starts[nth]].step - 1, run.steps[end - 1].step]);
}

function inSight() {
  const first = items[itemAt(drawing.scrollTop)], last = items[itemAt(drawing.scrollTop + drawing.clientHeight - HEADS)];
  return [run.steps[first.first].step - 1, run.steps[last.last].step];
}

function goTo(event) {
  const step = ((event.clientY - map.getBoundingClientRect().top) / map.clientHeight) * run.total;
  show(rowOfStep(Math.ceil(step)));
}

map.setAttribute("role", "slider");
map.setAttribute("aria-orientation", "vertical");
map.setAttribute("aria-valuemin", "1");
map.addEventListener("pointerdown", (event) => {
  map.setPointerCapture(event.pointerId);
  goTo(event);
});
map.addEventListener("pointermove", (event) => { if (event.buttons) goTo(event); });
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawMap);
