"use strict";
// The run, as the page carries it, and what is asked of it everywhere.
const original = JSON.parse(document.getElementById("run").textContent);
// What is drawn: that one, or another one.
let run = original;
const drawing = document.getElementById("drawing");

// Of each server and the resource: in which rows its contents changed, and to what.
let contents = contentsOfRun();

function contentsOfRun() {
  const found = new Map();
  run.steps.forEach((step, row) => {
    for (const [node, lines] of Object.entries(step.stored ?? {})) {
      if (!found.has(node)) found.set(node, []);
      found.get(node).push({ row, lines });
    }
  });
  return found;
}

// What a node stores after a row, and what it did before it; null if nobody has seen that yet.
function contentsAt(node, row) {
  const changes = contents.get(node);
  const next = firstAbove(changes.length, (nth) => changes[nth].row > row);
  const now = changes[next - 1];
  const changed = now !== undefined && now.row === row && next > 1;
  return { now: now?.lines ?? null, before: changed ? changes[next - 2].lines : null };
}

// The first number below `end` of which this holds, if it holds of all after it; `end` if of none.
function firstAbove(end, holds) {
  let [low, high] = [0, end];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (holds(middle)) high = middle; else low = middle + 1;
  }
  return low;
}

// The row that shows the step of this number, or else the next one that is shown.
function rowOfStep(number) {
  const row = firstAbove(run.steps.length, (nth) => run.steps[nth].step >= number);
  return Math.min(row, run.steps.length - 1);
}

function escaped(text) {
  return text.replace(/[&<>"]/g, (letter) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[letter]);
}

function counted(number, what) {
  return number === 1 ? `1 ${what}` : `${number} ${what}s`;
}
