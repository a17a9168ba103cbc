// Search: the rows in whose words, messages, reports or changes of a store all the asked words stand.

const search = document.getElementById("search");
const found = document.getElementById("found");
let hits = [];

let searched = [];
// Made when it is asked for first, and then kept.
function wordsOf(row) {
  searched[row] ??= [
    run.steps[row].words, run.steps[row].when, ...(run.steps[row].lines ?? []).map(([, words]) => words),
    ...(run.steps[row].sent ?? []), ...(run.steps[row].reported ?? []), ...(run.steps[row].violations ?? []),
    ...Object.values(run.steps[row].stored ?? {}).flat(),
  ].join("\n").toLowerCase();
  return searched[row];
}

function look() {
  findHits();
  mark();
  drawMap();
}

function findHits() {
  const asked = search.value.toLowerCase().split(" ").filter(Boolean);
  hits = asked.length ? run.steps.map((_, row) => row).filter((row) => asked.every((word) => wordsOf(row).includes(word))) : [];
  tellHits();
}

function isHit({ first, last }) {
  return hits[firstAbove(hits.length, (nth) => hits[nth] >= first)] <= last;
}

function tellHits() {
  const nth = hits.indexOf(chosen) + 1;
  found.textContent = search.value.trim() === "" ? "" : nth ? `${nth} of ${hits.length}` : `${hits.length} found`;
}

function goToHit(by) {
  if (hits.length === 0) return;
  const next = by > 0 ? hits.find((row) => row > chosen) ?? hits[0] : hits.findLast((row) => row < chosen) ?? hits.at(-1);
  show(next, { opens: true });
  tellHits();
}

search.addEventListener("input", look);
search.addEventListener("keydown", (event) => {
  if (event.key === "Enter") goToHit(event.shiftKey ? -1 : 1);
  if (event.key === "Escape") {
    search.value = "";
    look();
    drawing.focus({ preventScroll: true });
  }
});
