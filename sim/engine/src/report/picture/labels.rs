//! Words beside a lane, each on a box of paper: the arrows lie below them.

use super::bars::Bars;
use super::layout::Layout;
use maud::{Markup, html};

/// Pixels that ten characters take, and ten bold ones of what is broken.
const TEN_CHARACTERS: i32 = 67;
const TEN_BROKEN: i32 = 73;
/// Pixels between a lane's line and its words.
const ASIDE: i32 = 15;
/// So many pixels words may reach over the next lane, where nothing stands beside that lane's line: a row has but one step.
const OVER: i32 = 80;

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
    let characters = Bars::characters(layout.lane - layout.bands() + if is_free { OVER } else { 0 });
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
    let width = (shown.chars().count() as i32 * ten + 9) / 10 + 3;
    html! {
        g {
            @if shown != words { title { (words) } }
            rect class=(box_class) x=(x - 1) y=(y - 10) width=(width) height="13" rx="3" {}
            text class=(class) x=(x) y=(y) { (shown) }
        }
    }
}

/// At most so many characters: cut between words if there are any, and before a parenthesis that would stay open.
pub(super) fn shortened(text: &str, characters: usize) -> String {
    if text.chars().count() <= characters {
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
        assert_eq!(shortened("x0.compare_and_set(1,2)", 10), "x0.compar…");
        assert_eq!(shortened("†††††", 3), "††…");
    }
}
