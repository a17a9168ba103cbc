//! What a server that keeps the newest value of each column has instead of what it was to write.

/// What stands behind the words that a record is written, if nobody will see it.
pub(super) const HIDDEN: &str = ", and hidden by its tombstone";

/// What a server has of a column that it was to write.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Newer<'a> {
    /// Which column.
    pub(super) column: &'a str,
    /// Of what time.
    pub(super) at: &'a str,
    /// Whether it is a deletion.
    pub(super) is_deleted: bool,
}

/// What is stored of the column that a message, `add M[tA] at 1us`, would write.
pub(super) fn newer_than<'a>(message: &'a str, stored: &'a [String]) -> Option<Newer<'a>> {
    let (row, column) = message.split(' ').find_map(|word| word.strip_suffix(']')?.split_once('['))?;
    let cells = stored.iter().find_map(|line| line.strip_prefix(row)?.strip_prefix(": "))?;
    cells.split(", ").find_map(|cell| {
        let (cell, is_deleted) = cell.strip_prefix('†').map_or((cell, false), |cell| (cell, true));
        Some(Newer { column, at: cell.strip_prefix(column)?.strip_prefix('@')?, is_deleted })
    })
}

/// Whether a record that is written by this message is deleted all the same, by what is stored then.
pub(super) fn is_hidden(message: &str, stored: &[String]) -> bool {
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
        assert!(is_hidden("add M[tA] at -1s", &stored) && !is_hidden("add M[tB] at 2us", &stored));
    }
}
