//! Sorting of a few things.

/// Puts them in order, and leaves what is equal as it was: an insertion sort, as the standard library sorts so few things, too, but
/// without the rest of it, which would be compiled once for each lock, by the kilobyte.
pub(crate) fn sort_few<T>(items: &mut [T], mut is_less: impl FnMut(&T, &T) -> bool) {
    for end in 1..items.len() {
        let mut at = end;
        while at > 0 && is_less(&items[at], &items[at - 1]) {
            items.swap(at, at - 1);
            at -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_few_things_are_sorted_as_by_the_standard_library(items in prop::collection::vec((0..5_u8, any::<u8>()), 0..20)) {
            let (mut ours, mut theirs) = (items.clone(), items);
            sort_few(&mut ours, |one, other| one.0 < other.0);
            theirs.sort_by_key(|item| item.0);
            prop_assert_eq!(ours, theirs);
        }
    }
}
