// The drawing: rows below each other, lanes as wide as there is room, and of all that only what is in sight.

// Where time does not pass, no room is kept for it.
const LEFT = run.time ? 86 : 26;
const HEADS = 30, ROW = 38, FOLD = 26, BROKEN = 18, BAND = 30;
// Lanes are no narrower, but those of nodes to which nothing happens.
const LANE_MIN = 70;
// A label may reach so far over the lanes beside its own: a row has but one.
const LABEL = 300;
// Rows drawn above and below those in sight. Runs of no more rows than ALL are drawn at once.
const BEYOND = 25, ALL = 600;
const BUCKET = 64;
// The first of these is taken that keeps an arrow so far from the dots of other lanes, or else the one that comes least near.
const BENDS = [12, -12, 24, -24, 40, -40, 60], CLEAR = 16;

const heads = document.createElement("div");
const sheet = document.createElement("div");
heads.className = "heads";
sheet.className = "sheet";
drawing.replaceChildren(heads, sheet);
drawing.setAttribute("role", "listbox");
drawing.style.setProperty("--left", `${LEFT}px`);

let lanes = [];
let width = 0;
// Pixels that a character of a label takes, and a label's padding.
let character = 7;
const PADDING = 6;
let tops = [];
let drawn = { first: 0, last: -1 };
let busy, passing, lasting, asked;
sortOut();

// Made anew for another run.
function sortOut() {
  busy = busyLanes();
  passing = buckets(run.flights, ({ sent, ended }) => [sent ?? ended, ended ?? sent]);
  lasting = buckets(run.spans, ({ rows }) => rows);
  asked = buckets(run.operations, ({ rows, tail }) => [rows?.[0] ?? tail[0], tail ? run.steps.length - 1 : rows[1]]);
}

function busyLanes() {
  const found = new Set();
  // Lanes stay where they are when another run is drawn, as far as they can.
  for (const { steps, flights } of new Set([original, run])) {
    for (const { lane } of steps) if (lane !== undefined) found.add(lane);
    for (const { from, to } of flights) found.add(from).add(to);
  }
  return found;
}

// What lies in which rows, to find it without looking at all of it.
function buckets(things, rowsOf) {
  const filled = Array.from({ length: Math.ceil(run.steps.length / BUCKET) }, () => []);
  for (const thing of things) {
    const [first, last] = rowsOf(thing);
    for (let nth = Math.floor(first / BUCKET); nth <= Math.floor(last / BUCKET); nth++) filled[nth]?.push(thing);
  }
  return (first, last) => {
    const found = filled.slice(Math.floor(first / BUCKET), Math.floor(last / BUCKET) + 1).flat();
    return [...new Set(found)];
  };
}

// Shares the width out among the lanes, and puts the names above them.
function measure() {
  const bands = BAND * run.resources.length;
  const pen = document.createElement("canvas").getContext("2d");
  pen.font = getComputedStyle(sheet).font;
  character = pen.measureText("0".repeat(100)).width / 100;
  const room = drawing.clientWidth - LEFT;
  const sizeOfIdle = (name) => 24 + 8 * name.length;
  const idle = run.nodes.filter((_, lane) => !busy.has(lane)).reduce((sum, name) => sum + sizeOfIdle(name), 0);
  const share = Math.max(LANE_MIN + bands, Math.floor((room - idle) / Math.max(busy.size, 1)));
  let left = LEFT;
  lanes = run.nodes.map((name, lane) => {
    const size = busy.has(lane) ? share : sizeOfIdle(name);
    const made = { name, left, size, x: left + bands + (busy.has(lane) ? 14 : 8) };
    left += size;
    return made;
  });
  width = left;
  for (const part of [heads, sheet]) part.style.width = `${width}px`;
  heads.innerHTML = `<span class="head time">${run.time}</span>`
    + lanes.map(({ name, x }) => `<span class="head" style="left:${x - 5}px">${escaped(name)}</span>`).join("")
    + (run.resources.length > 1 ? run.spans.filter(({ what }) => what === "mode").map(resourceMarkup).join("") : "");
}

// Above the bands of a lane, which resource each is about.
function resourceMarkup({ lane, mode: [place] }) {
  return `<span class="resource" style="left:${bandLeft(lane, place)}px">${escaped(run.resources[place])}</span>`;
}

function bandLeft(lane, place) {
  return lanes[lane].x - 4 - BAND * (run.resources.length - place);
}

// Where every item begins.
function stack() {
  const height = (item) => isClosed(item) ? FOLD : ROW + brokenAbove(item);
  let top = run.hidden[0] > 0 ? FOLD : 0;
  tops = items.map((item) => {
    const at = top + (gapBefore(item) ? FOLD : 0);
    top = at + height(item);
    return at;
  });
  tops.push(top);
  sheet.style.height = `${top + (run.hidden[1] > 0 ? FOLD : 8)}px`;
}

function gapBefore(item) {
  return run.gaps.find(([row]) => row === item.first)?.[1] ?? 0;
}

function bottomOf(nth) {
  const after = items[nth + 1];
  return tops[nth + 1] - (after && gapBefore(after) ? FOLD : 0);
}

// The height at which a row's events stand.
function yOf(row) {
  const nth = itemOf[row];
  const item = items[nth];
  return (tops[nth] + brokenAbove(item) + bottomOf(nth)) / 2;
}

// The height of what an item says is broken, above its events.
function brokenAbove(item) {
  return isClosed(item) ? 0 : BROKEN * (run.steps[item.first].violations?.length ?? 0);
}

function itemAt(y) {
  return Math.max(0, Math.min(firstAbove(items.length, (nth) => tops[nth] > y) - 1, items.length - 1));
}

// Draws what is in sight, if it is not drawn already; or all, to be printed.
function draw(anew, all = items.length <= ALL) {
  const last = items.length - 1;
  const sight = all
    ? { first: 0, last }
    : { first: itemAt(drawing.scrollTop - HEADS), last: itemAt(drawing.scrollTop + drawing.clientHeight) };
  if (!anew && sight.first >= drawn.first && sight.last <= drawn.last) return;
  drawn = { first: Math.max(0, sight.first - BEYOND), last: Math.min(last, sight.last + BEYOND) };
  const rows = [items[drawn.first].first, items[drawn.last].last];
  const spans = lasting(...rows);
  sheet.innerHTML = overlapsMarkup(spans) + loopMarkup() + lanesMarkup() + hiddenMarkup()
    + items.slice(drawn.first, drawn.last + 1).map((item, nth) => itemMarkup(item, drawn.first + nth)).join("")
    + spansMarkup(spans) + asked(...rows).map(operationMarkup).join("") + flightsMarkup(passing(...rows));
  mark();
}

function block(classes, { left, top, width: wide, height }, words) {
  return `<div class="${classes}" style="left:${left}px;top:${top}px;width:${wide}px;height:${height}px" title="${escaped(words)}"></div>`;
}

function overlapsMarkup(spans) {
  return spans.filter(({ what }) => what === "overlap").map(({ rows }) => {
    const top = tops[itemOf[rows[0]]];
    const place = { left: LEFT - 6, top, width: width - LEFT + 6, height: bottomOf(itemOf[rows[1]]) - top };
    return block("overlap", place, "more than one client holds");
  }).join("");
}

function loopMarkup() {
  if (run.loop_start === null) return "";
  const top = tops[itemOf[run.loop_start]];
  const height = bottomOf(items.length - 1) - top;
  return `<div class="loop" style="top:${top}px;height:${height}px"><span>again and again</span></div>`;
}

function lanesMarkup() {
  return lanes.map(({ x }) => `<i class="lane" style="left:${x}px"></i>`).join("");
}

function hiddenMarkup() {
  const note = (top, words) => `<div class="hidden" style="top:${top}px">${words}</div>`;
  const gaps = run.gaps.map(([row, steps]) =>
    note(tops[itemOf[row]] - FOLD, `⋯ ${counted(steps, "step")} not drawn`));
  if (run.hidden[0] > 0) gaps.push(note(0, `⋯ ${counted(run.hidden[0], "step")} before${run.draws_hidden}`));
  if (run.hidden[1] > 0) gaps.push(note(bottomOf(items.length - 1), `⋯ ${counted(run.hidden[1], "step")} after${run.draws_hidden}`));
  return gaps.join("");
}

function itemMarkup(item, nth) {
  const step = run.steps[item.first];
  const top = tops[nth];
  const height = bottomOf(nth) - top;
  const opened = (classes, words) =>
    `<div class="row${classes}" id="${run.steps[item.last].step}" data-item="${nth}" data-row="${item.first}" role="option"`
    + ` aria-posinset="${nth + 1}" aria-setsize="${items.length}"`
    + ` aria-selected="false" aria-label="${escaped(words)}" style="top:${top}px;height:${height}px">`
    + `<span class="time">${timeOf(item)}</span>`;
  if (isClosed(item)) {
    const words = foldWords(item.fold);
    const kind = item.fold.kind === "repeated" ? "" : " fault";
    return `${opened(` fold${kind}`, words)}<span class="folded">▸ ${escaped(words)}</span></div>`;
  }
  const broken = step.violations ?? [];
  const classes = (step.fault ? " fault" : "") + (broken.length ? " breaks" : "") + (isParting(step) ? " parting" : "");
  return opened(classes, [`step ${step.step}`, ...broken, step.words].join(". "))
    + (step.later ? `<span class="later">${step.later}</span>` : "")
    + broken.map((words) => `<div class="broken" title="${escaped(words)}">✱ ${escaped(words)}</div>`).join("")
    + labelMarkup(step, item.first) + "</div>";
}

function timeOf(item) {
  for (let row = item.first; row <= item.last; row++) if (run.steps[row].time) return run.steps[row].time;
  return "";
}

function labelMarkup(step, row) {
  const linesIn = (pixels) => {
    const fit = Math.max(Math.floor((pixels - PADDING) / character), 1);
    return (step.lines ?? []).map(([style, words]) => `<div class="${style}">${escaped(shortened(words, fit))}</div>`).join("");
  };
  const title = escaped((step.lines ?? []).map(([, words]) => words).join("\n"));
  if (step.lane === undefined) return `<div class="label nobody" title="${title}" style="left:${LEFT}px">${linesIn(width - LEFT)}</div>`;
  const { left, size, x } = lanes[step.lane];
  const middle = yOf(row) - tops[itemOf[row]];
  const right = Math.min(Math.max(left + size, x + LABEL), width) - x - 12;
  const isLeft = right < 150 && x - LEFT > right;
  const most = isLeft ? Math.min(LABEL, x - LEFT - 10) : right;
  const place = `${isLeft ? `right:${width - x + 10}` : `left:${x + 10}`}px;max-width:${most}px`;
  return `<i class="dot" style="left:${x - 5}px;top:${middle - 5}px"></i>`
    + `<div class="label" title="${title}" style="${place}">${linesIn(most)}</div>`;
}

const LASTING = { holds: "holds", "holds-too": "holds while another one holds", paused: "pauses", down: "is down" };

function spansMarkup(spans) {
  const own = spans.filter(({ what }) => what in LASTING || what === "mode").map((span) => {
    const [top, height] = extent(span.rows);
    const { name, x } = lanes[span.lane];
    if (span.what === "mode") return modeMarkup(span, top, height);
    const wide = span.what === "paused" || span.what === "down" ? 20 : 10;
    return block(span.what, { left: x - wide / 2, top, width: wide, height }, `${name} ${LASTING[span.what]}`);
  });
  return own.join("") + cutsMarkup(spans.filter(({ what }) => what === "cut"));
}

function extent([first, last]) {
  const top = tops[itemOf[first]];
  return [top, bottomOf(itemOf[last]) - top];
}

function modeMarkup({ lane, rows, mode: [place, has, wants] }, top, height) {
  const resource = run.resources[place];
  const words = [has && `has ${resource} in ${has}`, wants && `waits for ${has ? wants : `${resource} in ${wants}`}`];
  const classes = `mode${wants ? " wanted" : ""}${has ? "" : " none"}`;
  // Below what the first row says is broken, which is written over the bands.
  const above = brokenAbove(items[itemOf[rows[0]]]);
  return `<div class="${classes}" style="left:${bandLeft(lane, place)}px;top:${top}px;width:${BAND - 4}px;height:${height}px;padding-top:${above + 2}px"`
    + ` title="${escaped(words.filter(Boolean).join(", "))}">${escaped(has ?? "–")}`
    + `${wants ? `<br><b>→${escaped(wants)}</b>` : ""}</div>`;
}

// From whom a node hears nothing: one band, whose words name all of them. Of two sides that do not hear each other, the smaller one
// has it.
function cutsMarkup(cuts) {
  return run.nodes.map((name, lane) => {
    const own = cuts.filter((cut) => cut.lane === lane && !cuts.some((back) => isMirrored(cut, back) && losses(cuts, back) > losses(cuts, cut)));
    const edges = [...new Set(own.flatMap(({ rows }) => [rows[0], rows[1] + 1]))].sort((one, other) => one - other);
    return edges.slice(1).map((end, nth) => {
      const within = own.filter(({ rows }) => rows[0] <= edges[nth] && rows[1] >= end - 1);
      if (within.length === 0) return "";
      const [top, height] = extent([edges[nth], end - 1]);
      const from = [...new Set(within.map((span) => run.nodes[span.from]))].join(", ");
      return block("cut", { left: lanes[lane].x - 13, top, width: 7, height }, `${name} hears nothing from ${from}`);
    }).join("");
  }).join("");
}

function isMirrored(cut, back) {
  return back.lane === cut.from && back.from === cut.lane && back.rows[0] <= cut.rows[1] && cut.rows[0] <= back.rows[1];
}

// How many a node does not hear.
function losses(cuts, { lane }) {
  return new Set(cuts.filter((cut) => cut.lane === lane).map(({ from }) => from)).size;
}

function operationMarkup({ lane, rows, has_ends: [begins, ends], open, breaks, tail, label }) {
  const { name, x } = lanes[lane];
  const words = `${name}: ${label}`;
  const classes = (open ? " open" : "") + (breaks ? " breaks" : "");
  let made = "";
  if (rows) {
    const top = begins ? yOf(rows[0]) - 9 : tops[itemOf[rows[0]]];
    const bottom = ends ? yOf(rows[1]) + 9 : bottomOf(itemOf[rows[1]]);
    made += block(`operation${classes}`, { left: x - 6, top, width: 12, height: bottom - top }, words);
    // Its call stands above the first row.
    if (!begins) {
      // Up to the next lane, in which another one may stand.
      const fit = Math.max(Math.floor(((lanes[lane + 1]?.x ?? width) - x - 10 - 2 * PADDING) / character), 1);
      made += `<div class="above" style="left:${x + 10}px;top:${top}px" title="${escaped(label)}">${escaped(shortened(label, fit))}</div>`;
    }
  }
  if (tail) {
    const [top, bottom] = [yOf(tail[0]), bottomOf(items.length - 1)];
    const place = { left: x - tail[1], top, width: 3, height: bottom - top };
    made += block("tail", place, `${words}: nobody waits for it any more, and it may still be done`);
  }
  return made;
}

const TIPS = ["sent", "lost", "late", "copy"].map((fate) =>
  `<marker id="to-${fate}" class="${fate}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="9" markerHeight="9" markerUnits="userSpaceOnUse" orient="auto">`
  + `<path d="M0,0 L8,4 L0,8 z"/></marker>`).join("");

function flightsMarkup(flights) {
  const top = tops[drawn.first];
  const height = bottomOf(drawn.last) + 8 - top;
  return `<svg class="flights" aria-hidden="true" style="top:${top}px" width="${width}" height="${height}"`
    + ` viewBox="0 ${top} ${width} ${height}"><defs>${TIPS}</defs>`
    + flights.map(flightMarkup).join("") + "</svg>";
}

function flightMarkup({ from, to, sent, ended, fate, words }) {
  // Both ends in what is folded.
  if (sent !== null && ended !== null && itemOf[sent] === itemOf[ended]) return "";
  const [start, end] = [lanes[from].x, lanes[to].x];
  const side = end > start ? 1 : -1;
  // Of one that is still under way, or ends where nothing is drawn, the beginning.
  // A lost one ends above the words of the step that tells of it.
  const y2 = ended === null ? Math.min(bottomOf(items.length - 1), yOf(sent) + 2 * ROW) : yOf(ended) - (fate === "lost" ? ROW / 2 : 0);
  const [x1, y1] = sent === null ? [end - 60 * side, tops[itemOf[ended]]] : [start + 6 * side, yOf(sent)];
  const x2 = fate === "lost" ? (start + 2 * end) / 3 : ended === null ? start + 40 * side : end - 7 * side;
  const crosses = sent !== null && ended !== null && Math.abs(to - from) > 1;
  const [mx, my] = [(x1 + x2) / 2, (y1 + y2) / 2 + (crosses ? bendOf([x1, y1], [x2, y2], [sent, ended]) : 0)];
  const tip = ended === null || fate === "lost" ? "" : ` marker-end="url(#to-${fate})"`;
  const cross = fate === "lost" ? `<text class="cross" x="${x2}" y="${y2 + 5}">✕</text>` : "";
  return `<g class="flight ${fate}" data-sent="${sent}" data-ended="${ended}"><title>${escaped(words)}</title>`
    + `<path d="M${x1},${y1} Q${mx},${my} ${x2},${y2}"${tip}/>${cross}</g>`;
}

// How far an arrow is bent that crosses other lanes: so that it does not seem to end at a node in between.
function bendOf([x1, y1], [x2, y2], [first, last]) {
  // How near it comes to a dot.
  const clearance = (bend) => {
    let least = CLEAR;
    for (let row = Math.max(first - 1, 0); row <= Math.min(last + 1, run.steps.length - 1); row++) {
      const { lane } = run.steps[row];
      if (lane === undefined || isClosed(items[itemOf[row]])) continue;
      const way = (lanes[lane].x - x1) / (x2 - x1);
      const y = y1 + way * (y2 - y1) + 2 * way * (1 - way) * bend;
      if (way > 0 && way < 1) least = Math.min(least, Math.abs(y - yOf(row)));
    }
    return least;
  };
  return BENDS.reduce((best, bend) => clearance(bend) > clearance(best) ? bend : best);
}

// All of it from the start: another width, or other folds.
function redraw() {
  measure();
  stack();
  draw(true);
  drawMap();
}
