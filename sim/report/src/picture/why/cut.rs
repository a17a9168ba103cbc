//! Links that are cut at one moment, told as what a reader calls it: who is cut off from whom.

/// In words, with how many links that are, if they are all of one node, `A is cut off from B, s1, s2`, or all between two sides:
/// `A, s1 are cut off from B, s2, s3`.
pub(super) fn cut_off(cut: &[(&str, &str)]) -> Option<(String, usize)> {
    let (hears, from) = *cut.first()?;
    let is_one = |one: &&str| cut.iter().all(|(hears, from)| hears == one || from == one);
    let Some(one) = [hears, from].into_iter().find(is_one) else { return sides(cut) };
    let mut others: Vec<&str> = Vec::new();
    for (hears, from) in cut {
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

/// The same of two sides with several nodes each, between which all links are cut, one way or both.
fn sides(cut: &[(&str, &str)]) -> Option<(String, usize)> {
    let (hears, from) = *cut.first()?;
    let those = |is_there: &dyn Fn(&str) -> bool| {
        let mut those: Vec<&str> = Vec::new();
        for node in cut.iter().flat_map(|(hears, from)| [*hears, *from]) {
            if is_there(node) && !those.contains(&node) {
                those.push(node);
            }
        }
        those
    };
    let deaf = those(&|node| cut.contains(&(node, from)));
    let unheard = those(&|node| cut.contains(&(hears, node)));
    let pairs = || deaf.iter().flat_map(|one| unheard.iter().map(move |other| (*one, *other)));
    let is_one_way = !cut.contains(&(from, hears));
    let links = deaf.len() * unheard.len() * if is_one_way { 1 } else { 2 };
    let are_all_cut = pairs().all(|(one, other)| {
        one != other && cut.contains(&(one, other)) && (is_one_way || cut.contains(&(other, one)))
    });
    let words = || format!("{} are cut off from {}", deaf.join(", "), unheard.join(", "));
    (are_all_cut && links == cut.len()).then(|| (words(), links))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(links: &[(&str, &str)]) -> Option<(String, usize)> {
        cut_off(links)
    }

    #[test]
    fn who_is_cut_off_from_all_others_is_named_once() {
        let whole = [("B", "A"), ("A", "B"), ("s1", "A"), ("A", "s1")];
        assert_eq!(told(&whole), Some(("A is cut off from B, s1".to_owned(), 4)));
        assert_eq!(told(&[("A", "B"), ("A", "s1")]), Some(("A is cut off from B, s1".to_owned(), 2)));
        assert_eq!(told(&[("B", "A"), ("s1", "A")]), Some(("B, s1 are cut off from A".to_owned(), 2)));
        assert_eq!(told(&[("B", "A")]), Some(("B is cut off from A".to_owned(), 1)));
        assert_eq!(told(&[("A", "B"), ("s1", "s2")]), None, "that is no node's alone");
        let one_way = [("s1", "A"), ("s2", "A"), ("s1", "B"), ("s2", "B")];
        assert_eq!(told(&one_way), Some(("s1, s2 are cut off from A, B".to_owned(), 4)));
        let both_ways: Vec<(&str, &str)> =
            one_way.iter().flat_map(|(one, other)| [(*one, *other), (*other, *one)]).collect();
        assert_eq!(told(&both_ways), Some(("s1, s2 are cut off from A, B".to_owned(), 8)));
        assert_eq!(told(&both_ways[1..]), None, "one link between them is whole");
    }
}
