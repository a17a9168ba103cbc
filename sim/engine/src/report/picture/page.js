"use strict";
// Steps through the run: every step's details stand in the page as JSON, and the diagram's rows know their numbers.
const run = JSON.parse(document.getElementById("run").textContent);
const rows = [...document.querySelectorAll(".row")];
const flights = [...document.querySelectorAll(".flight")];
const details = document.getElementById("details");
let chosen = -1;

function element(name, text, className) {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  if (className) made.className = className;
  return made;
}

function section(title, nodes) {
  if (nodes.length === 0) return [];
  return [element("h2", title), ...nodes];
}

function list(words, className) {
  const made = element("ul");
  for (const word of words) made.append(element("li", word, className));
  return made;
}

function show(row) {
  if (row < 0 || row >= rows.length) return;
  if (chosen >= 0) rows[chosen].classList.remove("chosen");
  chosen = row;
  rows[row].classList.add("chosen");
  rows[row].scrollIntoView({ block: "nearest", inline: "nearest" });
  const number = String(row);
  for (const flight of flights) {
    flight.classList.toggle("chosen", flight.dataset.sent === number || flight.dataset.ended === number);
  }
  const step = run.steps[row];
  const overlapping = step.holders.length > 1 && run.locks === 1;
  const table = element("table");
  for (const [node, clock] of Object.entries(step.clocks)) {
    const line = element("tr");
    line.append(element("td", node), element("td", clock.shown), element("td", clock.wrong, "wrong"));
    table.append(line);
  }
  const stored = Object.entries(step.stored).flatMap(([node, lines]) =>
    section(node + " stores", [lines.length ? list(lines, "mono") : element("div", "nothing", "mono")]));
  details.replaceChildren(
    element("h2", `step ${step.step} of ${run.total}` + (step.when && `, ${step.when}`)),
    element("div", step.words),
    ...section("holds", step.holders.map((node) =>
      element("div", node, "holding" + (overlapping ? " overlapping" : "")))),
    ...section("asked", step.operations ? [list(step.operations, "mono")] : []),
    ...section("broken", step.violations.map((words) => element("div", words, "violation"))),
    ...section("reported", step.reported.length ? [list(step.reported, "mono")] : []),
    ...section("sent", step.sent.length ? [list(step.sent, "mono")] : []),
    ...section("wall clocks", [table]),
    ...stored,
  );
  history.replaceState(null, "", "#" + step.step);
}

function move(by) { show(Math.min(Math.max(chosen + by, 0), rows.length - 1)); }

function breaking(from, by) {
  for (let row = from + by; row >= 0 && row < rows.length; row += by) {
    if (run.steps[row].violations.length > 0) return row;
  }
  return chosen;
}

const keys = {
  ArrowDown: () => move(1), ArrowRight: () => move(1), j: () => move(1),
  ArrowUp: () => move(-1), ArrowLeft: () => move(-1), k: () => move(-1),
  PageDown: () => move(10), PageUp: () => move(-10), Home: () => show(0), End: () => show(rows.length - 1),
  n: () => show(breaking(chosen, 1)), p: () => show(breaking(chosen, -1)),
};
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || !keys[event.key]) return;
  event.preventDefault();
  keys[event.key]();
});
rows.forEach((row, number) => row.addEventListener("click", () => show(number)));
for (const button of document.querySelectorAll("[data-key]")) {
  button.addEventListener("click", () => keys[button.dataset.key]());
}
const wanted = run.steps.findIndex((step) => "#" + step.step === location.hash);
show(wanted >= 0 ? wanted : run.opens ?? rows.length - 1);
document.body.dataset.ready = "yes";
