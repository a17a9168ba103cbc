//! Numbers of parts as they are kept: most of them are small.
//!
//! A number takes 16 bits, if that is enough for it, and else 48. There are millions of rows of numbers, and what a search waits for is
//! memory.

/// Says that the next two are a number of 32 bits, the lower half first.
const LONG: u16 = u16::MAX;

/// Appends a number.
pub(super) fn push(kept: &mut Vec<u16>, number: u32) {
    match u16::try_from(number) {
        Ok(number) if number != LONG => kept.push(number),
        Ok(_) | Err(_) => kept.extend([LONG, number as u16, (number >> 16) as u16]),
    }
}

/// The numbers that were appended, one after the other.
pub(super) fn numbers(kept: &[u16]) -> impl Iterator<Item = u32> {
    let mut left = kept.iter().copied();
    std::iter::from_fn(move || match left.next()? {
        LONG => Some(u32::from(left.next()?) | u32::from(left.next()?) << 16),
        number => Some(u32::from(number)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn numbers_come_back_as_they_were_kept_and_others_are_kept_otherwise(
            one in numbers_of_all_sizes(),
            other in numbers_of_all_sizes(),
        ) {
            let keep = |numbers: &[u32]| {
                let mut kept = Vec::new();
                numbers.iter().for_each(|number| push(&mut kept, *number));
                kept
            };
            prop_assert!(numbers(&keep(&one)).eq(one.iter().copied()));
            prop_assert_eq!(keep(&one) == keep(&other), one == other);
        }
    }

    fn numbers_of_all_sizes() -> impl Strategy<Value = Vec<u32>> {
        let number = prop_oneof![0..4_u32, 0xfffd..0x1_0002_u32, any::<u32>()];
        prop::collection::vec(number, 0..6)
    }
}
