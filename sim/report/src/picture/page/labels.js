// Words that do not fit: names give up their middles first, for their ends tell most. As the drawing without scripts has it.

const NAME = 16, WORDS_MIN = 4;

function shortened(text, characters) {
  let excess = text.length - characters;
  const words = text.split(" ");
  const first = words.findIndex((word) => word.length > NAME);
  if (first < 0) return cutAtEnd(text, characters);
  const name = words[first];
  while (excess > 0) {
    const longest = words.reduce((best, word, nth) => word.length >= words[best].length ? nth : best, 0);
    const was = words[longest].length;
    if (was <= NAME) break;
    words[longest] = withoutMiddle(words[longest], Math.max(was - excess, NAME));
    excess -= was - words[longest].length;
  }
  if (excess <= 0) return words.join(" ");
  // It does not fit even so. The first name is what the words before it are about.
  const kept = words.slice(0, first + 1).join(" ");
  if (kept.length < characters) return cutAtEnd(words.join(" "), characters);
  if (kept.length === characters) return kept;
  const room = characters - NAME - 1;
  return room >= WORDS_MIN && first > 0
    ? `${cutAtEnd(words.slice(0, first).join(" "), room)} ${words[first]}`
    : withoutMiddle(name, characters);
}

// With no name longer than so many characters: where lines are broken, and a long name would be in two of them.
function withShortNames(text, characters) {
  return text.split(" ").map((word) => withoutMiddle(word, characters)).join(" ");
}

// A third of what is left of it stands before the gap.
function withoutMiddle(word, characters) {
  if (word.length <= characters) return word;
  const kept = Math.max(characters - 1, 0);
  const head = Math.floor(kept / 3);
  return `${word.slice(0, head)}…${word.slice(word.length - (kept - head))}`;
}

// Between words if there are any, and before a parenthesis that would stay open.
function cutAtEnd(text, characters) {
  if (text.length <= characters) return text;
  const fits = text.slice(0, Math.max(characters - 1, 0));
  const blank = fits.lastIndexOf(" ");
  const whole = text[fits.length] !== " " && blank > fits.length / 2 ? fits.slice(0, blank) : fits;
  const open = whole.lastIndexOf("(");
  const isOpen = open > whole.length / 2 && !whole.slice(open).includes(")");
  return `${(isOpen ? whole.slice(0, open) : whole).replace(/[ ,:]+$/, "")}…`;
}
