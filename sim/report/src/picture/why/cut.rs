//! Links that are cut at one moment, told as what a reader calls it: who is cut off from whom.

use picklock_engine::report::JsonEvent;

/// In words, with how many links that are, if they are all of one node: `A is cut off from B, s1, s2`.
pub(super) fn cut_off(events: &[JsonEvent], position: usize) -> Option<(String, usize)> {
    let at_us = events[position].at_us;
    let cut: Vec<(&str, &str)> = events[position..]
        .iter()
        .take_while(|event| event.what == "link-cut" && event.at_us == at_us)
        .filter_map(|event| Some((event.node.as_deref()?, event.from.as_deref()?)))
        .collect();
    let (hears, from) = *cut.first()?;
    let is_one = |one: &&str| cut.iter().all(|(hears, from)| hears == one || from == one);
    let one = [hears, from].into_iter().find(is_one)?;
    let mut others: Vec<&str> = Vec::new();
    for (hears, from) in &cut {
        let other = if *hears == one { *from } else { *hears };
        if !others.contains(&other) {
            others.push(other);
        }
    }
    let named = others.join(", ");
    let hears_nothing = others.iter().all(|other| cut.contains(&(one, *other)));
    let is_heard_by_none = others.iter().all(|other| cut.contains(&(*other, one)));
    let words = match (hears_nothing, is_heard_by_none) {
        (true, _) if is_heard_by_none || cut.len() == others.len() => {
            format!("{one} is cut off from {named}")
        }
        (false, true) if cut.len() == others.len() && others.len() > 1 => {
            format!("{named} are cut off from {one}")
        }
        _ => return None,
    };
    Some((words, cut.len()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::toy;

    fn told(links: &[(&str, &str)]) -> Option<(String, usize)> {
        let mut told = None;
        toy::story(toy::overlap, |story| {
            let event = story.events.first().expect("steps");
            let link = |(hears, from): &(&str, &str)| JsonEvent {
                what: "link-cut",
                node: Some((*hears).to_owned()),
                from: Some((*from).to_owned()),
                ..event.clone()
            };
            let events: Vec<JsonEvent> = links.iter().map(link).collect();
            told = cut_off(&events, 0);
        });
        told
    }

    #[test]
    fn who_is_cut_off_from_all_others_is_named_once() {
        let whole = [("B", "A"), ("A", "B"), ("s1", "A"), ("A", "s1")];
        assert_eq!(told(&whole), Some(("A is cut off from B, s1".to_owned(), 4)));
        assert_eq!(told(&[("A", "B"), ("A", "s1")]), Some(("A is cut off from B, s1".to_owned(), 2)));
        assert_eq!(told(&[("B", "A"), ("s1", "A")]), Some(("B, s1 are cut off from A".to_owned(), 2)));
        assert_eq!(told(&[("B", "A")]), Some(("B is cut off from A".to_owned(), 1)));
        assert_eq!(told(&[("A", "B"), ("s1", "s2")]), None, "that is no node's alone");
    }
}
