//! An event as a trace has it, in the words of [`Event::words`](picklock_properties::Event::words), taken apart and told.
//!
//! A trace is JSON: whoever draws one knows no [`Event`](picklock_properties::Event), only what was written down of it. What the words
//! mean is said here, so that no engine takes them apart by itself; and in a crate of its own, so that nothing but pictures is
//! compiled again when a sentence changes.

use picklock_properties::Promise;

/// What was reported of a client, as a trace has it: `granted A token 5`.
///
/// ```
/// use picklock_properties::Promise;
/// use picklock_reported::Reported;
///
/// let granted = Reported::parse("granted A token 5").unwrap();
/// assert_eq!(granted.client, "A");
/// assert_eq!(granted.sentence(), "A is granted the lock, token 5");
/// assert!(granted.is_grant() && granted.is_of_interest(Promise::Fifo));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reported<'a> {
    /// What happened: `granted`.
    pub what: &'a str,
    /// To whom.
    pub client: &'a str,
    /// The rest, with the blank before it, or nothing.
    rest: &'a str,
}

impl<'a> Reported<'a> {
    /// `None` for what is no event's words.
    pub fn parse(words: &'a str) -> Option<Reported<'a>> {
        let (what, rest) = words.split_once(' ')?;
        let end = rest.find(' ').unwrap_or(rest.len());
        Some(Reported { what, client: &rest[..end], rest: &rest[end..] })
    }

    /// The same in a sentence: `A's record is gone` of `record-gone A on s1`, which stands beside the server's step.
    pub fn sentence(&self) -> String {
        let &Reported { what, client, rest } = self;
        self.known_sentence().unwrap_or_else(|| format!("{what} {client}{rest}"))
    }

    /// `None` for words of no event that is known here.
    fn known_sentence(&self) -> Option<String> {
        let client = self.client;
        let rest = self.rest.replacen(" token", ", token", 1);
        let sentence = match self.what {
            "called" => format!("{client} calls{rest}"),
            "found-free" => format!("{client} found the lock free"),
            "enqueued" => format!("{client} is in the queue"),
            "granted" => format!("{client} is granted the lock{rest}"),
            "refused" => format!("{client} is refused"),
            "left" => format!("{client} leaves"),
            "lost" => format!("{client} loses its lease and leaves"),
            "released" => format!("{client} is done with its release"),
            "renewed" => format!("{client}'s lease is prolonged"),
            "crashed" => format!("{client} crashes"),
            "resource-read" => format!("{client} reads"),
            "accepted" => format!("a write of {client} is accepted{rest}"),
            "rejected" => format!("a write of {client} is turned down{rest}"),
            "row-read" => format!("{client} reads the row{}", rest.replacen(" saw", " and sees", 1)),
            "secured" => format!("{client} has it{rest}"),
            "acquired" => format!("it is {client}'s"),
            "record-gone" => format!("{client}'s record is gone"),
            "record-written" => format!("{client}'s record is written"),
            "record-made" => format!("{client}'s record is made"),
            "notified" => {
                format!("a watch of {client} fires, for{}'s record is gone", rest.replacen(" of", "", 1))
            }
            "woken" => format!("{client} is woken"),
            "written" => format!("{client} knows it is written"),
            "read-begun" => format!("{client} begins to read"),
            "time-given" => format!("{client} is given a time:{rest}"),
            "invoked" => format!("{client} asks{rest}"),
            "returned" => format!("{client} is told{rest}"),
            "unknown" => format!("{client} gives its call up"),
            "input" => format!("{client} puts{rest}"),
            "output" => format!("{client} puts out{rest}"),
            "counted" => format!("{client} raises the counter"),
            "settled" => "all is handled".to_owned(),
            "has" => format!("{client} has{rest}"),
            _ => return None,
        };
        Some(sentence)
    }

    /// Whether the client began to ask.
    pub fn is_call(&self) -> bool {
        self.what == "called"
    }

    /// Whether the client began to hold.
    pub fn is_grant(&self) -> bool {
        self.what == "granted"
    }

    /// Whether the client holds no longer, of its own will.
    pub fn is_departure(&self) -> bool {
        self.what == "left"
    }

    /// Whether the store made the lock the client's, whether that knows it or not.
    pub fn is_made_by_the_store(&self) -> bool {
        self.what == "acquired"
    }

    /// Whether the client was told that it does not get what it asked for.
    pub fn is_refusal(&self) -> bool {
        self.what == "refused"
    }

    /// Whether the client has a place in the queue, which it keeps until its call is over.
    pub fn is_place(&self) -> bool {
        self.what == "enqueued"
    }

    /// Whether the client is done with giving back, as far as it can know.
    pub fn is_release(&self) -> bool {
        self.what == "released"
    }

    /// Whether the client read what the lock guards, or wrote to it.
    pub fn is_access(&self) -> bool {
        matches!(self.what, "resource-read" | "accepted")
    }

    /// Whether a store was to write the client's record.
    pub fn is_written(&self) -> bool {
        self.what == "record-written"
    }

    /// Whether a client that waited goes on.
    pub fn is_wake(&self) -> bool {
        self.what == "woken"
    }

    /// Whose record is gone, where a watch fires for that.
    pub fn woken_by(&self) -> Option<&'a str> {
        if self.what == "notified" { self.rest.strip_prefix(" of ") } else { None }
    }

    /// Whether what the server answers says it, too.
    pub fn is_answered(&self) -> bool {
        matches!(self.what, "record-made" | "notified")
    }

    /// Whether the client learns that what it holds by lasts for longer.
    pub fn is_prolonged(&self) -> bool {
        self.what == "renewed"
    }

    /// Whether a reader who asks why the promise broke wants to see this.
    pub fn is_of_interest(&self, promise: Promise) -> bool {
        reports_about(promise).contains(&self.what)
    }

    /// Whether nothing of what came before it in the same client's run says any more whether it waits or holds, given what
    /// comes `later` in it.
    pub fn is_settled_by(&self, later: &Reported) -> bool {
        self.client == later.client
            && (later.is_call() || later.is_grant() || self.what == "left" && later.what == "released")
    }

    /// Whether a call of a shared object came back.
    pub fn is_end_of_call(&self) -> bool {
        self.what == "returned"
    }

    /// Whether a call came back that says of itself that it was not done.
    pub fn is_refused_call(&self) -> bool {
        self.what == "returned" && self.rest == " refused"
    }

    /// The server, `s1`, that has made a record of the client.
    pub fn made_on(&self) -> Option<&'a str> {
        if self.what == "record-made" { self.rest.strip_prefix(" on ") } else { None }
    }

    /// On how many servers a record of the client is, as far as it knows.
    pub fn secured_on(&self) -> Option<usize> {
        let count = self.rest.strip_prefix(" on ").filter(|_| self.what == "secured")?;
        count.split(' ').next()?.parse().ok()
    }

    /// The server, `s1`, from which a record of the client is gone.
    pub fn lost_on(&self) -> Option<&'a str> {
        if self.what == "record-gone" { self.rest.strip_prefix(" on ") } else { None }
    }
}

/// What a reader wants to see who asks why the promise broke.
fn reports_about(promise: Promise) -> &'static [&'static str] {
    match promise {
        Promise::DeadlockFreedom | Promise::StarvationFreedom | Promise::ReleaseEnds => {
            &["called", "granted", "refused", "left", "released"]
        }
        Promise::Theorem3 => &["called", "found-free", "granted", "refused", "left", "released"],
        Promise::MutualExclusion
        | Promise::Theorem1
        | Promise::Theorem2
        | Promise::MinValidity
        | Promise::TokenOrder => &["granted", "has"],
        Promise::FencedResource => &["granted", "accepted"],
        Promise::LostUpdate => &["granted", "resource-read", "accepted"],
        Promise::Fifo | Promise::BoundedOvertaking => &["enqueued", "granted"],
        Promise::LeaseLoss => &["granted", "left", "record-written", "renewed"],
        Promise::NoHerd => &["notified", "woken"],
        Promise::Lemma1 | Promise::FreshRead => &["written", "read-begun", "row-read"],
        Promise::TimeOrder => &["time-given"],
        Promise::Linearizable
        | Promise::Conservation
        | Promise::NoHole
        | Promise::NoOverwrite
        | Promise::NoDuplicate
        | Promise::IndexNeverFalls
        | Promise::ExactlyOnce => &["invoked", "returned", "unknown", "output"],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use picklock_properties::{Accesses, Event};

    #[test]
    fn every_event_has_a_sentence_and_names_its_client_once() {
        for event in Event::one_of_each() {
            let words = event.words(&Accesses::default());
            let reported = Reported::parse(&words).expect("verb and client");
            assert_eq!(reported.client, event.client().to_string(), "{words}");
            let sentence = reported.known_sentence();
            assert!(sentence.is_some_and(|sentence| sentence != words), "{words}");
            assert_eq!(reported.is_grant(), matches!(event, Event::Granted { .. }));
            assert_eq!(reported.is_call(), matches!(event, Event::Called { .. }));
            assert_eq!(reported.is_made_by_the_store(), matches!(event, Event::Acquired { .. }));
            assert_eq!(reported.is_place(), matches!(event, Event::Enqueued { .. }));
            assert_eq!(reported.lost_on().is_some(), matches!(event, Event::RecordGone { .. }));
            assert_eq!(reported.woken_by().is_some(), matches!(event, Event::Notified { .. }));
            assert_eq!(reported.is_wake(), matches!(event, Event::Woken { .. }));
            assert_eq!(reported.made_on().is_some(), matches!(event, Event::RecordMade { .. }));
            assert_eq!(reported.secured_on().is_some(), matches!(event, Event::Secured { .. }));
        }
    }

    #[test]
    fn every_promise_is_about_an_event_there_is() {
        let events: Vec<String> =
            Event::one_of_each().iter().map(|event| event.words(&Accesses::default())).collect();
        for promise in Promise::ALL {
            for what in reports_about(promise) {
                let is_it = |words: &String| Reported::parse(words).is_some_and(|event| event.what == *what);
                assert!(events.iter().any(is_it), "{promise} is about {what}");
            }
            assert!(!reports_about(promise).is_empty());
        }
    }

    #[test]
    fn reports_are_told_in_sentences() {
        for (report, words) in [
            ("granted A token 5", "A is granted the lock, token 5"),
            ("called B lock (read)", "B calls lock (read)"),
            ("record-gone A on s1", "A's record is gone"),
            ("record-written A", "A's record is written"),
            ("returned A x0 1", "A is told x0 1"),
            ("row-read A saw {A, B}", "A reads the row and sees {A, B}"),
            ("time-given A less than before", "A is given a time: less than before"),
            ("forgot A twice", "forgot A twice"),
        ] {
            assert_eq!(Reported::parse(report).map(|report| report.sentence()).as_deref(), Some(words));
        }
        assert_eq!(Reported::parse("nothing"), None);
    }

    #[test]
    fn servers_and_what_calls_came_to_are_read_out_of_reports() {
        let parse = |report| Reported::parse(report).unwrap();
        assert_eq!(parse("record-made A on s2").made_on(), Some("s2"));
        assert_eq!(
            ["secured A on 1 server", "secured A on 3 servers"].map(|report| parse(report).secured_on()),
            [Some(1), Some(3)]
        );
        assert!(parse("returned A refused").is_refused_call() && !parse("returned A done").is_refused_call());
        assert!(!parse("refused A").is_refused_call(), "that is a lock's answer");
    }

    #[test]
    fn a_call_or_a_grant_settles_what_came_before_it() {
        let settled =
            |one, later| Reported::parse(one).unwrap().is_settled_by(&Reported::parse(later).unwrap());
        assert!(settled("left A", "granted A") && settled("granted A", "called A lock"));
        assert!(settled("left A", "released A") && !settled("granted A", "released A"));
        assert!(!settled("left A", "granted B"));
    }
}
