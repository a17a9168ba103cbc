//! Words beside a lane, each on a box of paper: the arrows lie below them.

use super::bars::Bars;
use super::layout::Layout;
use maud::{Markup, html};
use std::cmp::Ordering;

/// Pixels that ten characters take, and ten bold ones of what is broken.
const TEN_CHARACTERS: i32 = 67;
const TEN_BROKEN: i32 = 73;
/// Pixels between a lane's line and its words.
const ASIDE: i32 = 15;
/// So many pixels words may reach over the next lane, where nothing stands beside that lane's line: a row has but one step.
const OVER: i32 = 80;
/// So many pixels words beside the last lane end before its room does: behind it the picture is over.
const EDGE: i32 = 10;

/// One line beside a lane. What does not fit is shortened, and its title has it in full.
pub(super) fn label(
    layout: &Layout,
    lane: usize,
    y: i32,
    class: &str,
    words: &str,
    is_struck: bool,
) -> Markup {
    let is_last = lane + 1 == layout.story.nodes.len();
    let is_free = layout.resources.is_empty() && layout.bars.shown.is_empty() && !is_last;
    let more = match (is_free, is_last) {
        (true, _) => OVER,
        (false, true) => -EDGE,
        (false, false) => 0,
    };
    let characters = Bars::characters(layout.lane - layout.bands() + more);
    let box_class = if is_struck { "box struck" } else { "box" };
    boxed((layout.x(lane) + ASIDE, y), TEN_CHARACTERS, [box_class, class], (words, characters))
}

/// What is broken, above the row in which it breaks.
pub(super) fn broken(layout: &Layout, y: i32, words: &str) -> Markup {
    let x = layout.left();
    let characters = usize::try_from((layout.width() - x - 8) * 10 / TEN_BROKEN).unwrap_or(0);
    boxed((x, y), TEN_BROKEN, ["box broken-box", "broken"], (words, characters))
}

fn boxed(
    (x, y): (i32, i32),
    ten: i32,
    [box_class, class]: [&str; 2],
    (words, characters): (&str, usize),
) -> Markup {
    let shown = shortened(words, characters);
    let width = (length(&shown) as i32 * ten + 9) / 10 + 3;
    html! {
        g {
            @if shown != words { title { (words) } }
            rect class=(box_class) x=(x - 1) y=(y - 10) width=(width) height="13" rx="3" {}
            text class=(class) x=(x) y=(y) { (shown) }
        }
    }
}

/// A word that is longer is a name: of what it says, its end tells most.
const NAME: usize = 16;

/// At most so many characters. Names give up their middles first: `/locks/A#1-lock-0000000002` becomes `/loc…-0000000002`. The
/// script of a page does the same.
pub(super) fn shortened(text: &str, characters: usize) -> String {
    let mut excess = length(text).saturating_sub(characters);
    let mut words: Vec<String> = text.split(' ').map(str::to_owned).collect();
    let first = words.iter().enumerate().find(|(_, word)| length(word) > NAME);
    let Some((at, name)) = first.map(|(at, name)| (at, name.clone())) else {
        return cut_at_end(text, characters);
    };
    while excess > 0 {
        let names = words.iter_mut().filter(|word| length(word) > NAME);
        let Some(longest) = names.max_by_key(|word| length(word)) else { break };
        let was = length(longest);
        *longest = without_middle(longest, was.saturating_sub(excess).max(NAME));
        excess = excess.saturating_sub(was - length(longest));
    }
    if excess == 0 {
        return words.join(" ");
    }
    // It does not fit even so. The first name is what the words before it are about.
    let (before, kept) = (words[..at].join(" "), words[..=at].join(" "));
    let room = characters.saturating_sub(NAME + 1);
    match length(&kept).cmp(&characters) {
        Ordering::Less => cut_at_end(&words.join(" "), characters),
        Ordering::Equal => kept,
        Ordering::Greater if room >= WORDS_MIN && at > 0 => {
            format!("{} {}", cut_at_end(&before, room), words[at])
        }
        Ordering::Greater => without_middle(&name, characters),
    }
}

/// Fewer characters of the words before a name say nothing.
const WORDS_MIN: usize = 4;

/// With no name longer than so many characters: where lines are broken, and a long name would be in two of them.
pub(super) fn with_short_names(text: &str, characters: usize) -> String {
    let words: Vec<String> = text.split(' ').map(|word| without_middle(word, characters)).collect();
    words.join(" ")
}

/// A third of what is left of it stands before the gap.
fn without_middle(word: &str, characters: usize) -> String {
    let all: Vec<char> = word.chars().collect();
    if all.len() <= characters {
        return word.to_owned();
    }
    let kept = characters.saturating_sub(1);
    let head = kept / 3;
    let (head, tail) = (&all[..head], &all[all.len() - (kept - head)..]);
    head.iter().chain(&['…']).chain(tail).collect()
}

/// At most so many characters: cut between words if there are any, and before a parenthesis that would stay open.
fn cut_at_end(text: &str, characters: usize) -> String {
    if length(text) <= characters {
        return text.to_owned();
    }
    let fits: String = text.chars().take(characters.saturating_sub(1)).collect();
    let next_is_blank = text[fits.len()..].starts_with(' ');
    let at_word = fits.rfind(' ').filter(|at| !next_is_blank && *at > fits.len() / 2).unwrap_or(fits.len());
    let whole = &fits[..at_word];
    let is_open = |at: &usize| !whole[*at..].contains(')') && *at > whole.len() / 2;
    let end = whole.rfind('(').filter(is_open).unwrap_or(whole.len());
    format!("{}…", whole[..end].trim_end_matches([' ', ',', ':']))
}

fn length(text: &str) -> usize {
    text.chars().count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_long_ends_with_a_whole_word_and_with_no_parenthesis_left_open() {
        let words = "L6:2 first in the queue? (clock −1 s)";
        assert_eq!(shortened(words, 37), words);
        for characters in [26, 30, 36] {
            assert_eq!(shortened(words, characters), "L6:2 first in the queue?…");
        }
        assert_eq!(shortened("A's record is written, B is in the queue", 24), "A's record is written…");
    }

    #[test]
    fn one_long_word_is_cut_within_it() {
        assert_eq!(shortened("x0.compare_and_set(1,2)", 10), "x0.…t(1,2)");
        assert_eq!(shortened("†††††", 3), "††…");
    }

    #[test]
    fn a_name_keeps_its_end_and_so_do_the_words_that_say_what_is_done_with_it() {
        let words = "created /_locknode_0/A#1-lock-0000000002 for A";
        assert_eq!(shortened(words, 46), words);
        assert_eq!(shortened(words, 40), "created /_lockno…1-lock-0000000002 for A");
        assert_eq!(shortened(words, 30), "created /_loc…0000000002 for A");
        assert_eq!(shortened(words, 24), "created /_loc…0000000002");
        assert_eq!(shortened(words, 22), "crea… /_loc…0000000002");
        assert_eq!(shortened(words, 12), "/_l…00000002");
        let two = "A#1-lock-0000000002, B#1-lock-0000000003";
        assert_eq!(shortened(two, 33), "A#1-l…000000002, B#1-l…0000000003");
    }

    #[test]
    fn nothing_is_longer_than_there_is_room_for() {
        let texts = [
            "create ephemeral sequential /_locknode_0/A#1-lock-",
            "children (A#1-lock-0000000002, B#1-lock-0000000003) of /_locknode_0 in one",
            "{0000137004479…tB, 0000137004479999999tA} and †0000137004479999999tC",
        ];
        for (text, characters) in texts.into_iter().flat_map(|text| (1..90).map(move |most| (text, most))) {
            let made = shortened(text, characters);
            assert!(length(&made) <= characters, "{made} in {characters}");
            assert_eq!(made == text, length(text) <= characters, "{made} in {characters}");
        }
        assert_eq!(with_short_names(texts[0], 17), "create ephemeral sequential /_loc…0/A#1-lock-");
    }
}
