//! What monitors were told, in words, and which of it a promise is about.

use picklock_properties::Promise;

/// `granted`, `A` and ` token 5` of `granted A token 5`.
pub(super) fn parts(report: &str) -> Option<(&str, &str, &str)> {
    let (what, rest) = report.split_once(' ')?;
    let end = rest.find(' ').unwrap_or(rest.len());
    Some((what, &rest[..end], &rest[end..]))
}

/// `A's record is gone` of `record-gone A on s1`.
pub(super) fn report_words(report: &str) -> String {
    parts(report).map_or_else(|| report.to_owned(), |(what, client, rest)| told(what, client, rest))
}

/// The same of its parts.
pub(super) fn told(what: &str, client: &str, rest: &str) -> String {
    let rest = rest.replacen(" token", ", token", 1);
    match what {
        "called" => format!("{client} calls{rest}"),
        "found-free" => format!("{client} found the lock free"),
        "enqueued" => format!("{client} is in the queue"),
        "granted" => format!("{client} is granted the lock{rest}"),
        "refused" => format!("{client} is refused"),
        "left" => format!("{client} leaves"),
        "lost" => format!("{client} loses its lease and leaves"),
        "released" => format!("{client}'s release is done"),
        "renewed" => format!("{client}'s lease is prolonged"),
        "resource-read" => format!("{client} reads"),
        "accepted" => format!("a write of {client} is accepted{rest}"),
        "rejected" => format!("a write of {client} is turned down{rest}"),
        "acquired" => format!("it is {client}'s"),
        "record-gone" => format!("{client}'s record is gone"),
        "woken" => format!("{client} is woken"),
        "has" => format!("{client} has{rest}"),
        "invoked" => format!("{client} asks{rest}"),
        "returned" => format!("{client} is told{rest}"),
        "unknown" => format!("{client} gives its call up"),
        "input" => format!("{client} puts{rest}"),
        "output" => format!("{client} puts out{rest}"),
        "counted" => format!("{client} raises the counter"),
        "settled" => "all is handled".to_owned(),
        "secured" => format!("{client} has it{rest}"),
        "crashed" => format!("{client} crashes"),
        "written" => format!("{client} knows it is written"),
        "read-begun" => format!("{client} begins to read"),
        "row-read" => format!("{client} reads the row{}", rest.replacen(" saw", " and sees", 1)),
        "time-given" => format!("{client} is given a time:{rest}"),
        _ => format!("{what} {client}{rest}"),
    }
}

/// Whether it promises that something comes at last.
pub(super) fn is_progress(promise: Promise) -> bool {
    matches!(
        promise,
        Promise::DeadlockFreedom | Promise::StarvationFreedom | Promise::Theorem3 | Promise::ReleaseEnds
    )
}

/// Which reports a promise is about; `None`: one of progress, in a loop.
pub(super) fn reports_of(promise: Option<Promise>) -> &'static [&'static str] {
    match promise {
        None
        | Some(
            Promise::DeadlockFreedom | Promise::StarvationFreedom | Promise::Theorem3 | Promise::ReleaseEnds,
        ) => &["called", "granted", "refused", "left", "released"],
        Some(
            Promise::MutualExclusion
            | Promise::Theorem1
            | Promise::Theorem2
            | Promise::MinValidity
            | Promise::TokenOrder,
        ) => &["granted", "has"],
        Some(Promise::FencedResource | Promise::LostUpdate) => &["granted", "accepted"],
        Some(Promise::Fifo) => &["enqueued", "granted"],
        Some(Promise::LeaseLoss) => &["granted", "renewed"],
        Some(Promise::NoHerd) => &["released", "woken"],
        Some(Promise::Lemma1 | Promise::FreshRead) => &["written", "read-begun", "row-read"],
        Some(Promise::TimeOrder) => &["time-given"],
        Some(
            Promise::Linearizable
            | Promise::Conservation
            | Promise::NoHole
            | Promise::NoOverwrite
            | Promise::NoDuplicate
            | Promise::IndexNeverFalls
            | Promise::ExactlyOnce,
        ) => &["invoked", "returned", "unknown", "output"],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_are_told_in_words() {
        for (report, words) in [
            ("granted A token 5", "A is granted the lock, token 5"),
            ("called B lock (read)", "B calls lock (read)"),
            ("record-gone A on s1", "A's record is gone"),
            ("returned A x0 1", "A is told x0 1"),
            ("time-given A less than before", "A is given a time: less than before"),
            ("nothing", "nothing"),
        ] {
            assert_eq!(report_words(report), words);
        }
    }

    #[test]
    fn every_promise_is_about_some_report() {
        let promises = Promise::ALL.into_iter().map(Some).chain([None]);
        assert!(promises.into_iter().all(|promise| !reports_of(promise).is_empty()));
        assert!(is_progress(Promise::DeadlockFreedom) && !is_progress(Promise::MutualExclusion));
    }
}
