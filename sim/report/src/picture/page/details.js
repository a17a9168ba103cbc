// The chosen step, and everything about it.

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
  const made = element("section");
  made.append(element("h2", title), ...nodes);
  return [made];
}

function list(words, className) {
  const made = element("ul");
  for (const word of words) made.append(element("li", word, className));
  return made;
}

function listed(title, words, className) {
  return section(title, words?.length ? [list(words, className)] : []);
}

// Chooses a row: what is folded there stays so, unless the row alone is wanted.
function show(row, { opens = false, scrolls = true, says = true } = {}) {
  if (row < 0 || row >= run.steps.length) return;
  const fold = items[itemOf[row]].fold;
  if (opens && fold && !fold.open) return unfold([fold], row);
  chosen = row;
  draw(false);
  if (scrolls) bringIntoSight(itemOf[row]);
  mark();
  document.querySelector(".why [aria-current]")?.scrollIntoView({ block: "nearest", inline: "nearest" });
  const item = items[itemOf[row]];
  details.replaceChildren(...(isClosed(item) ? foldDetails(item) : stepDetails(row)));
  details.parentElement.scrollTop = 0;
  drawMap();
  if (says) tellAddress(row);
}

// Some browsers throw if that is asked for too often, as it is while a key is held down.
function tellAddress(row) {
  try {
    history.replaceState(null, "", addressOf(row));
  } catch {
    // The address is a comfort, no more.
  }
}

// Scrolls no further than it takes: an item at an edge comes to the middle.
function bringIntoSight(nth) {
  const [top, bottom] = [tops[nth], bottomOf(nth)];
  const room = drawing.clientHeight - HEADS;
  if (top < drawing.scrollTop || bottom > drawing.scrollTop + room) {
    const isNear = bottom > drawing.scrollTop - ROW && top < drawing.scrollTop + room + ROW;
    const up = top < drawing.scrollTop;
    drawing.scrollTop = isNear ? (up ? top : bottom - room) : (top + bottom - room) / 2;
  }
  const lane = lanes[run.steps[items[nth].first].lane];
  if (lane && (lane.left < drawing.scrollLeft + LEFT || lane.left + lane.size > drawing.scrollLeft + drawing.clientWidth)) {
    drawing.scrollLeft = lane.left - LEFT;
  }
  draw(false);
}

// Marks in the drawing and in the chain of causes what is chosen, and what was found.
function mark() {
  for (const row of sheet.querySelectorAll(".row")) {
    const item = items[Number(row.dataset.item)];
    const isChosen = item.first <= chosen && chosen <= item.last;
    row.classList.toggle("chosen", isChosen);
    row.classList.toggle("found", isHit(item));
    row.setAttribute("aria-selected", String(isChosen));
    if (isChosen) drawing.setAttribute("aria-activedescendant", row.id);
  }
  const number = String(chosen);
  for (const flight of sheet.querySelectorAll(".flight")) {
    flight.classList.toggle("chosen", flight.dataset.sent === number || flight.dataset.ended === number);
  }
  for (const cause of document.querySelectorAll(".why a")) {
    const isHere = cause.hash === "#" + run.steps[Math.max(chosen, 0)].step;
    if (isHere) cause.setAttribute("aria-current", "step"); else cause.removeAttribute("aria-current");
  }
}

// The folds and their button, as they are to be at first.
function foldAnew() {
  folds = foldsOfRun();
  document.querySelector("[data-key=o]").hidden = folds.length === 0;
  document.querySelector("[data-key=o]").textContent = "unfold";
  arrange();
}

function foldDetails({ first, last, fold }) {
  const steps = run.steps.slice(first, last + 1);
  return [
    element("h2", `step ${steps[0].step} to ${steps.at(-1).step} of ${run.total}`, "title"),
    element("div", foldWords(fold)),
    element("p", "Enter, or a click on the row, unfolds it."),
    ...listed("steps", steps.slice(0, 40).map(({ words }) => words), "mono"),
    ...(steps.length > 40 ? [element("div", `… and ${steps.length - 40} more`)] : []),
  ];
}

function stepDetails(row) {
  const step = run.steps[row];
  const holders = step.holders ?? [];
  const overlapping = holders.length > 1 && run.locks === 1;
  return [
    element("h2", `step ${step.step} of ${run.total}` + (step.when ? `, ${step.when}` : ""), "title"),
    element("div", step.words),
    ...section("broken", (step.violations ?? []).map((words) => element("div", words, "violation"))),
    ...section("holds", holders.map((node) => element("span", node + " ", "holding" + (overlapping ? " overlapping" : "")))),
    ...listed("asked", step.operations, "mono"),
    ...listed("reported", step.reported, "mono"),
    ...listed("sent", step.sent, "mono"),
    ...clocksDetails(step.clocks),
    ...othersDetails(row),
    ...storesDetails(row),
  ];
}

function clocksDetails(clocks) {
  const wrong = Object.entries(clocks ?? {});
  if (wrong.length === 0) return [];
  const table = element("table");
  for (const [node, clock] of wrong) {
    const line = element("tr");
    line.append(element("td", node), element("td", clock.shown), element("td", clock.wrong, "wrong"));
    table.append(line);
  }
  return section("clocks that are wrong", [table]);
}

// What changed in a store comes first, and of what did not change every line.
function storesDetails(row) {
  const stores = [...contents.keys()].map((node) => ({ node, ...contentsAt(node, row) })).filter(({ now }) => now);
  const changed = stores.filter(({ before }) => before);
  const same = stores.filter(({ before }) => !before);
  return [...changed, ...same].flatMap(({ node, now, before }) =>
    section(node + (before ? " changes" : " stores"), [before ? changes(before, now) : now.length ? list(now, "mono") : element("div", "nothing", "mono")]));
}

function changes(before, now) {
  const made = element("ul", undefined, "changes");
  const line = (mark, words, className) => {
    const item = element("li", undefined, `mono ${className}`);
    item.append(element("b", mark), ` ${words}`);
    made.append(item);
  };
  for (const words of before) if (!now.includes(words)) line("−", words, "gone");
  for (const words of now) line(before.includes(words) ? "=" : "+", words, before.includes(words) ? "same" : "new");
  return made;
}

// Opens folds, or closes them if they are open, and chooses this row.
function unfold(which, row) {
  const open = !which.every((fold) => fold.open);
  for (const fold of which) fold.open = open;
  document.querySelector("[data-key=o]").textContent = folds.every((fold) => fold.open) ? "fold" : "unfold";
  arrange();
  redraw();
  show(row);
}
