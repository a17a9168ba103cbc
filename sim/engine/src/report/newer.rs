//! What a server that keeps the newest value of each column has instead of what it was to write.

/// What stands behind the words that a record is written, if nobody will see it.
pub const HIDDEN: &str = ", and hidden by its tombstone";

/// What a server has of a column that it was to write.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Newer<'a> {
    /// Which column.
    pub column: &'a str,
    /// Of what time.
    pub at: &'a str,
    /// Whether it is a deletion.
    pub is_deleted: bool,
}

/// What is stored of the column that a message, `add M[tA] at 1us` or `add M[tA]=5us at 1us`, would write.
pub fn newer_than<'a>(message: &'a str, stored: &'a [String]) -> Option<Newer<'a>> {
    let (row, column) = message.split(' ').find_map(|word| {
        let (row, rest) = word.split_once('[')?;
        let (column, value) = rest.split_once(']')?;
        (value.is_empty() || value.starts_with('=')).then_some((row, column))
    })?;
    let cells = stored.iter().find_map(|line| line.strip_prefix(row)?.strip_prefix(": "))?;
    cells.split(", ").find_map(|cell| {
        let (cell, is_deleted) = cell.strip_prefix('†').map_or((cell, false), |cell| (cell, true));
        let (value, at) = cell.strip_prefix(column)?.split_once('@')?;
        (value.is_empty() || value.starts_with('=')).then_some(Newer { column, at, is_deleted })
    })
}

impl Newer<'_> {
    /// Whether it is what the message would write: of the very time.
    pub fn is_the_same(&self, message: &str) -> bool {
        let asked = message.rsplit_once(" at ").and_then(|(_, asked)| first_word(asked));
        !self.is_deleted && asked == first_word(self.at)
    }
}

/// The time, without how long it is to live, which may stand behind it.
fn first_word(text: &str) -> Option<&str> {
    text.split(' ').next()
}

/// Whether a record that is written by this message is deleted all the same, by what is stored then.
pub fn is_hidden(message: &str, stored: &[String]) -> bool {
    newer_than(message, stored).is_some_and(|newer| newer.is_deleted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_newer_is_told_of_the_column_that_was_to_be_written() {
        let stored = ["M: †tA@15us, tB@12us".to_owned(), "Q: 1us·tA@1us".to_owned()];
        let newer = |message| newer_than(message, &stored);
        let of = |column, at, is_deleted| Some(Newer { column, at, is_deleted });
        assert_eq!(newer("add M[tA] at -1s"), of("tA", "15us", true));
        assert_eq!(newer("add M[tB] at 2us"), of("tB", "12us", false));
        assert_eq!((newer("add M[tC] at 2us"), newer("add N[tA] at 2us"), newer("ping")), (None, None, None));
        let lives = ["M: tA@5us until 4s".to_owned()];
        let [same, older] = ["add M[tA] at 5us ttl 4s", "add M[tA] at 4us ttl 4s"]
            .map(|message| newer_than(message, &lives).is_some_and(|newer| newer.is_the_same(message)));
        assert!(same && !older);
        let valued = ["M: tA=5us@5us".to_owned()];
        let same = newer_than("add M[tA]=5us at 5us", &valued).expect("it is there");
        assert_eq!((same.column, same.at, same.is_the_same("add M[tA]=5us at 5us")), ("tA", "5us", true));
        assert!(
            !same.is_the_same("add M[tA]=4us at 4us") && newer_than("add M[t]=5us at 5us", &valued).is_none()
        );
        assert!(is_hidden("add M[tA] at -1s", &stored) && !is_hidden("add M[tB] at 2us", &stored));
    }
}
