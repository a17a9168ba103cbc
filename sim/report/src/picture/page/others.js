// What else could have happened: other runs, each the same as the page's own up to a step.

const others = JSON.parse(document.getElementById("others")?.textContent ?? "null");
// What runs are put together from: what is in one of them only is carried by nobody else.
const pool = others && [original.steps, original.flights, original.spans, original.operations, others.pool].flat();
const bar = document.getElementById("another");
// As in the chain of causes of the page's own run.
const CAUSE_NAME = 24;
const ofOriginal = { broken: [...broken().childNodes], why: [...why().childNodes], token: token()?.textContent };
// Which other run is drawn: in which step it is another one, and which of those of that step it is, from 1.
let other = null;

function broken() { return document.getElementById("broken"); }
function why() { return document.getElementById("why"); }
function token() { return document.querySelector("header .token"); }

function isParting(step) {
  return other !== null && step.step === other.step;
}

function addressOf(row) {
  const { step } = run.steps[row];
  return other ? `#${other.step}:${other.nth}/${step}` : `#${step}`;
}

function put({ run: parts, ...rest }) {
  const whole = (ranges) => ranges.flatMap(([first, count]) => pool.slice(first, first + count));
  const { steps, flights, spans, operations } = parts;
  return { ...rest, run: { ...parts, steps: whole(steps), flights: whole(flights), spans: whole(spans), operations: whole(operations) } };
}

// Draws another run, and chooses the step from which on it is one.
function take(step, nth) {
  const found = others?.steps[step]?.others[nth - 1];
  if (!found) return leave();
  const made = put(found);
  begin({ step, nth, ...made }, made.run);
  tellOther();
  show(rowOfStep(step));
}

// Back to the page's own run.
function leave() {
  if (!other) return;
  const { step } = other;
  begin(null, original);
  bar.hidden = true;
  broken().replaceChildren(...ofOriginal.broken);
  why().replaceChildren(...ofOriginal.why);
  why().hidden = ofOriginal.why.length === 0;
  if (token()) token().textContent = ofOriginal.token;
  show(rowOfStep(step));
  drawing.focus({ preventScroll: true });
}

function begin(which, next) {
  [other, run, chosen] = [which, next, -1];
  contents = contentsOfRun();
  searched = [];
  sortOut();
  foldAnew();
  findHits();
  redraw();
}

// Above the drawing, which run it is; its broken promises and their causes instead of those of the page's own.
function tellOther() {
  const back = element("button", "back: Esc");
  back.type = "button";
  back.addEventListener("click", leave);
  const words = element("span", `another run: in step ${other.step} `);
  words.append(element("b", other.words), " instead of ", element("b", others.steps[other.step].instead));
  bar.replaceChildren(words, element("span", outcome(other), other.broken.length ? "violation" : "what-held"), back);
  bar.hidden = false;
  const told = other.broken.map(([words, step]) => {
    const line = element("p", undefined, "what-broke");
    line.title = words;
    const link = element(step === null ? "span" : "a", `✗ ${words}`);
    if (step !== null) link.href = `#${step}`;
    line.append(link);
    return line;
  });
  broken().replaceChildren(...(told.length ? told : [element("p", "nothing is broken in this run", "what-held")]));
  const chain = element("ol");
  for (const { step, kind, when, words } of other.causes) {
    const [item, link] = [element("li", undefined, `cause ${kind}`), element("a")];
    link.href = `#${step}`;
    link.title = `step ${step}: ${words}`;
    link.append(element("small", when), element("span", (kind === "breaks" ? "✱ " : "") + withShortNames(words, CAUSE_NAME)));
    item.append(link);
    chain.append(item);
  }
  why().replaceChildren(chain);
  why().hidden = other.causes.length === 0;
  if (token()) token().textContent = other.token;
}

function outcome({ outcome: words, left_out: missing }) {
  return missing ? `${words}; ${missing}` : words;
}

// The steps of a row: one, or ticks that are drawn as one.
function stepsOf(row) {
  const last = run.steps[row].step;
  const isFirst = row === 0 || run.gaps.some(([first]) => first === row);
  const first = row === 0 ? run.hidden[0] + 1 : isFirst ? last : run.steps[row - 1].step + 1;
  return Array.from({ length: last - first + 1 }, (_, nth) => first + nth);
}

function othersDetails(row) {
  if (!others) return [];
  const last = run.steps[row].step;
  if (other && last > other.step) return command(`what else could have happened in step ${last} of this other run`, `${other.token} --instead ${last}`);
  return stepsOf(row).flatMap((step) => {
    if (step < others.from) return command(`what else could have happened in step ${step}, for which there is no room in this page`, `${others.token} --instead ${step}`);
    const found = others.steps[step];
    if (!found) return [];
    const title = `what else could have happened in step ${step}`;
    if (found.others.length === 0) return section(title, [element("div", "nothing")]);
    const listed = element("div", undefined, "others");
    found.others.forEach((run, nth) => listed.append(button(run, step, nth + 1)));
    return section(title, [listed]);
  });
}

function command(title, words) {
  return section(title, [element("code", `${others.program} replay ${words}`)]);
}

function button(run, step, nth) {
  const made = element("button", undefined, "other");
  made.type = "button";
  made.append(element("span", run.words), element("small", outcome(run), run.broken.length ? "violation" : undefined));
  made.setAttribute("aria-pressed", String(other?.step === step && other.nth === nth));
  made.addEventListener("click", () => {
    take(step, nth);
    drawing.focus({ preventScroll: true });
  });
  return made;
}

// From key to key: the first of what else could have happened in the chosen step.
function goToOthers() {
  details.querySelector(".other")?.focus();
}
