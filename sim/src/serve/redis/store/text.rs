//! Strings of bytes that lie where they are kept, if they are short: most keys are, and most values.

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;
use std::fmt::{self, Debug, Formatter};
use std::hash::{Hash, Hasher};
use std::ops::Deref;

/// Longer ones lie elsewhere. So many fill the room that a share in something longer takes, with what tells the two apart.
const INLINE_MAX: usize = 38;
/// Shorter ones are kept as copies of their own, which are smaller than a share in what has arrived.
const COPIED_MAX: usize = 64;

/// A string of bytes. Whoever looks at a short one has it in the cache with what lies beside it.
#[derive(Clone, Serialize, Deserialize)]
#[serde(from = "Bytes", into = "Bytes")]
pub struct Text(Place);

#[derive(Clone)]
enum Place {
    Here { length: u8, bytes: [u8; INLINE_MAX] },
    There(Bytes),
}

impl Text {
    /// These bytes, without a share in where they come from if they are not long.
    pub fn new(from: &Bytes) -> Text {
        if from.len() <= INLINE_MAX {
            Text::here(from)
        } else if from.len() <= COPIED_MAX {
            Text(Place::There(Bytes::copy_from_slice(from)))
        } else {
            Text(Place::There(from.clone()))
        }
    }

    fn here(from: &[u8]) -> Text {
        let mut bytes = [0; INLINE_MAX];
        bytes[..from.len()].copy_from_slice(from);
        Text(Place::Here { length: from.len() as u8, bytes })
    }

    /// These bytes, without a share in where they come from.
    pub fn copied(from: &[u8]) -> Text {
        if from.len() <= INLINE_MAX {
            Text::here(from)
        } else {
            Text(Place::There(Bytes::copy_from_slice(from)))
        }
    }

    /// The same bytes, for whoever keeps them longer than this lives.
    pub fn share(&self) -> Bytes {
        match &self.0 {
            Place::Here { .. } => Bytes::copy_from_slice(self),
            Place::There(bytes) => bytes.clone(),
        }
    }
}

impl Deref for Text {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match &self.0 {
            Place::Here { length, bytes } => &bytes[..usize::from(*length)],
            Place::There(bytes) => bytes,
        }
    }
}

impl From<Bytes> for Text {
    fn from(bytes: Bytes) -> Text {
        if bytes.len() <= COPIED_MAX { Text::new(&bytes) } else { Text(Place::There(bytes)) }
    }
}

impl From<Text> for Bytes {
    fn from(text: Text) -> Bytes {
        match text.0 {
            Place::Here { .. } => Bytes::copy_from_slice(&text),
            Place::There(bytes) => bytes,
        }
    }
}

impl PartialEq for Text {
    fn eq(&self, other: &Text) -> bool {
        **self == **other
    }
}

impl Eq for Text {}

impl PartialOrd for Text {
    fn partial_cmp(&self, other: &Text) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Text {
    fn cmp(&self, other: &Text) -> Ordering {
        (**self).cmp(&**other)
    }
}

impl Hash for Text {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (**self).hash(state);
    }
}

impl Debug for Text {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        self.share().fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_is_the_bytes_it_was_made_of(all in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..80), 2)) {
            let bytes: Vec<Bytes> = all.into_iter().map(Bytes::from).collect();
            let texts: Vec<Text> = bytes.iter().cloned().map(Text::from).collect();
            for (bytes, text) in bytes.iter().zip(&texts) {
                prop_assert_eq!(&**text, &**bytes);
                prop_assert_eq!(text, &Text::new(bytes));
                prop_assert_eq!(text, &Text::copied(bytes));
                prop_assert_eq!(&text.share(), bytes);
                prop_assert_eq!(&Bytes::from(text.clone()), bytes);
            }
            prop_assert_eq!(texts[0].cmp(&texts[1]), bytes[0].cmp(&bytes[1]));
            prop_assert_eq!(texts[0] == texts[1], bytes[0] == bytes[1]);
        }
    }

    #[test]
    fn a_short_one_takes_no_more_room_than_a_share_and_a_word() {
        assert_eq!(size_of::<Text>(), size_of::<Bytes>() + size_of::<usize>());
    }
}
