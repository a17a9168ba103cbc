// Which rows are folded into one: steps in which nobody learns anything new, as the text trace folds them, links that are cut
// together, and messages that are lost one after the other.

// So many repeated steps and more are folded.
const FOLDED_MIN = 6;
// So many of one kind in a row are folded, and are told together.
const ALIKE_MIN = { "link-cut": 2, "link-mended": 2, lost: 3 };

let folds = foldsOfRun();
// What stands one below the other: a row, or a closed fold.
let items = [];
// The place of each row among the items.
let itemOf = [];

function foldsOfRun() {
  const found = [];
  const close = (kind, first, last, shortest) => {
    if (last - first + 1 >= shortest) found.push({ kind, first, last, open: false });
  };
  const ends = run.loop_start ?? run.steps.length;
  const apart = new Set(run.gaps.map(([row]) => row));
  let familiar = new Set();
  let [repeated, alike] = [0, 0];
  for (let row = 0; row <= ends; row++) {
    const step = run.steps[row];
    const goesOn = row < ends && !apart.has(row);
    const what = run.steps[alike].what;
    if (!goesOn || step.what !== what) {
      if (row > alike && what in ALIKE_MIN) close(what, alike, row - 1, ALIKE_MIN[what]);
      alike = row;
    }
    const isNews = !goesOn || bringsNews(step);
    if (isNews) familiar = new Set();
    const likeness = goesOn ? `${step.lane} ${step.words.replace(/\d+/g, "")}` : "";
    if (isNews || !familiar.has(likeness)) {
      close("repeated", repeated, row - 1, FOLDED_MIN);
      repeated = row + 1;
    }
    familiar.add(likeness);
  }
  return found.sort((one, other) => one.first - other.first);
}

function bringsNews(step) {
  return Boolean(step.fault || step.violations || step.reported || step.stored || step.operations);
}

// Puts the items together anew. Links that are cut or mended lie beside what is folded, never in it: they are faults.
function arrange() {
  items = [];
  itemOf = new Array(run.steps.length);
  let nth = 0;
  for (let row = 0; row < run.steps.length; row++) {
    while (nth < folds.length && folds[nth].last < row) nth++;
    const fold = folds[nth];
    if (fold && !fold.open && fold.first <= row) {
      items.push({ first: fold.first, last: fold.last, fold });
      itemOf.fill(items.length - 1, fold.first, fold.last + 1);
      row = fold.last;
    } else {
      itemOf[row] = items.length;
      items.push({ first: row, last: row, fold: fold && fold.first <= row ? fold : null });
    }
  }
}

function isClosed(item) {
  return item.fold !== null && !item.fold.open;
}

// `22 steps without news: A 11, s1 11`
function foldWords({ kind, first, last }) {
  const steps = run.steps.slice(first, last + 1);
  if (kind === "lost") return lossWords(steps);
  if (kind in ALIKE_MIN) return linkWords(steps);
  const times = new Map();
  for (const { lane } of steps) if (lane !== undefined) times.set(lane, (times.get(lane) ?? 0) + 1);
  const each = [...times].sort(([one], [other]) => one - other).map(([lane, count]) => `${run.nodes[lane]} ${count}`);
  return `${counted(run.steps[last].step - run.steps[first].step + 1, "step")} without news: ${each.join(", ")}`;
}

// `s3 – A, B: cut off from each other`, or who hears nothing from whom. A node without a lane has no part in the run, and is not named.
function linkWords(steps) {
  const isCut = steps[0].what === "link-cut";
  const heard = new Map();
  for (const { lane, from } of steps) {
    if (lane !== undefined && from !== undefined) heard.set(lane, [...(heard.get(lane) ?? []), from]);
  }
  if (heard.size === 0) return `${counted(steps.length, "link")} ${isCut ? "cut" : "mended"} of what is not drawn`;
  const names = (all) => [...all].sort((one, other) => one - other).map((lane) => run.nodes[lane]).join(", ");
  const groups = new Map();
  for (const [lane, senders] of heard) groups.set(names(senders), [...(groups.get(names(senders)) ?? []), lane]);
  const told = [...groups].map(([senders, receivers]) => [names(receivers), senders]);
  const [one, other] = told;
  if (told.length === 2 && one[0] === other[1] && one[1] === other[0]) {
    return `${other.join(" – ")}: ${isCut ? "cut off from" : "joined again with"} each other`;
  }
  return told.map(([receivers, senders]) => `${receivers}: nothing from ${senders}${isCut ? "" : " is lost any more"}`).join("; ");
}

// `5 messages are lost: 3 from A, 2 from s1`
function lossWords(steps) {
  const times = new Map();
  for (const { from } of steps) times.set(from, (times.get(from) ?? 0) + 1);
  const each = [...times].map(([from, count]) => `${count} from ${run.nodes[from] ?? "what is not drawn"}`);
  return `${counted(steps.length, "message")} are lost: ${each.join(", ")}`;
}

arrange();
