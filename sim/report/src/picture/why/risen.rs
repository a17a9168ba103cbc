//! Records that were deleted, and that count again: the tombstones that hid them are purged, and a server that missed the deletion has
//! them still.

use super::gone::micros;
use super::{Cause, Kind, Search};
use std::collections::BTreeSet;

/// A cell of a row as a server shows it, `M: tA@5us` or `M: †tA@15us`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Cell<'a> {
    pub(super) row: &'a str,
    pub(super) column: &'a str,
    /// The moment that it is written for, as it is shown.
    at: &'a str,
    pub(super) is_tombstone: bool,
}

impl<'a> Cell<'a> {
    /// Those of a row; none of what is no row.
    pub(super) fn all(line: &'a str) -> impl Iterator<Item = Cell<'a>> {
        let (row, cells) = line.split_once(": ").unwrap_or((line, ""));
        cells.split(", ").filter_map(move |cell| {
            let (cell, is_tombstone) = cell.strip_prefix('†').map_or((cell, false), |cell| (cell, true));
            let (column, rest) = cell.split_once('@')?;
            let at = rest.split(' ').next().unwrap_or(rest);
            Some(Cell { row, column, at, is_tombstone })
        })
    }

    fn is_of(&self, other: &Cell) -> bool {
        (self.row, self.column) == (other.row, other.column)
    }

    /// Whether nobody sees this one where that tombstone is.
    pub(super) fn is_hidden_by(&self, tombstone: &Cell) -> bool {
        let is_older = || Some(micros(self.at)? <= micros(tombstone.at)?);
        self.is_of(tombstone) && tombstone.is_tombstone && is_older().unwrap_or(false)
    }
}

impl Search<'_> {
    /// Where progress ends: of each cell that counts at the end where the last tombstone of it was purged.
    pub(super) fn risen(&self) -> Vec<Cause> {
        if !self.is_of_progress() {
            return Vec::new();
        }
        let mut told: BTreeSet<(&str, &str)> = BTreeSet::new();
        let mut causes = Vec::new();
        for lines in self.stored_at_the_end().into_values() {
            let cells = lines.iter().filter(|line| self.is_somebodys(line)).flat_map(|line| Cell::all(line));
            for cell in cells.filter(|cell| !cell.is_tombstone) {
                let purged = self.purged(cell).filter(|_| !told.contains(&(cell.row, cell.column)));
                let Some((position, tombstone)) = purged else { continue };
                let Some(server) = self.who_has(cell, position) else { continue };
                told.insert((cell.row, cell.column));
                let Cell { row, column, at, .. } = cell;
                let words = format!(
                    "the tombstone of {column} in {row} of {} is purged, and {server} has the {column} of {at} still: it counts again",
                    tombstone.at
                );
                causes.push(self.cause(position, Kind::Gone, words));
                let missed = self.never_heard(server, tombstone, position);
                if let Some((lost, is_lost)) =
                    missed.and_then(|lost| Some((lost, self.fault_words(lost, &self.story.events[lost])?)))
                {
                    let words = format!("{is_lost}: {server} keeps the {column} of {at}");
                    causes.push(self.cause(lost, Kind::Record, words));
                }
            }
        }
        causes
    }

    /// Where what would have told a server of a tombstone is lost on the way; not what was sent to one that is down.
    fn never_heard(&self, server: &str, tombstone: Cell, by: usize) -> Option<usize> {
        let deleted = format!("†{}", tombstone.column);
        let is_it = |position: &usize| {
            let event = &self.story.events[*position];
            let is_lost = event.what == "lost" && event.to.as_deref() == Some(server);
            let is_of_it =
                |message: &str| message.contains(deleted.as_str()) && message.contains(tombstone.at);
            is_lost && event.message.as_deref().is_some_and(is_of_it) && !self.is_down_at(server, *position)
        };
        (0..by).find(is_it)
    }

    /// A server that has this very cell by then.
    fn who_has(&self, cell: Cell, by: usize) -> Option<&str> {
        let mut seen: BTreeSet<&str> = BTreeSet::new();
        let told = self.story.events[..=by].iter().rev();
        let latest = told.filter_map(|event| Some((event.node.as_deref()?, event.stored.as_ref()?)));
        let mut latest = latest.filter(|(server, _)| seen.insert(server));
        let (server, _) = latest
            .find(|(_, lines)| lines.iter().flat_map(|line| Cell::all(line)).any(|other| other == cell))?;
        Some(server)
    }

    /// The last step of a server in which a tombstone that had hidden this cell goes, and nothing comes in its place.
    fn purged(&self, cell: Cell) -> Option<(usize, Cell<'_>)> {
        let events = &self.story.events;
        (0..=self.end).rev().find_map(|position| {
            let after = events[position].stored.as_ref()?;
            let is_of_server = |earlier: &usize| {
                events[*earlier].node == events[position].node && events[*earlier].stored.is_some()
            };
            let before = events[(0..position).rev().find(is_of_server)?].stored.as_ref()?;
            let hid =
                before.iter().flat_map(|line| Cell::all(line)).find(|other| cell.is_hidden_by(other))?;
            let is_left = after.iter().flat_map(|line| Cell::all(line)).any(|other| cell.is_of(&other));
            (!is_left).then_some((position, hid))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_is_hidden_by_a_younger_tombstone_of_its_row_and_column_alone() {
        let cells: Vec<Cell> = Cell::all("M: †tA@15us, tB=3us@12us until 4s, tA@9us").collect();
        let [tombstone, valued, cell] = cells[..] else { panic!("{cells:?}") };
        assert_eq!((valued.column, valued.at, valued.is_tombstone), ("tB=3us", "12us", false));
        assert!(
            cell.is_hidden_by(&tombstone) && !cell.is_hidden_by(&cell) && !valued.is_hidden_by(&tombstone)
        );
        let younger = Cell { at: "1ms", ..cell };
        let elsewhere = Cell { row: "Q", ..cell };
        assert!(!younger.is_hidden_by(&tombstone) && !elsewhere.is_hidden_by(&tombstone));
        assert_eq!(Cell::all("lock = A#1").count(), 0);
    }
}
