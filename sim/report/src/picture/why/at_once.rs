//! Nodes that go down in one moment, or start again, as one cause: `s1, s2, s3 lose power`.

use super::{Cause, Kind};
use picklock_engine::report::{JsonEvent, Story};

/// What strikes several nodes in the same way at the same time is told where it strikes the first.
pub(super) fn at_once(story: &Story, causes: Vec<Cause>) -> Vec<Cause> {
    let mut chain: Vec<(Cause, Vec<&str>)> = Vec::new();
    for cause in causes {
        let event = &story.events[cause.position];
        let node = struck(event, &cause);
        let is_like = |(earlier, nodes): &&mut (Cause, Vec<&str>)| {
            let first = &story.events[earlier.position];
            let said = |cause: &Cause, node: &str| cause.words.strip_prefix(node).map(str::to_owned);
            let alike = nodes.first().zip(node).is_some_and(|(one, other)| {
                said(earlier, one) == said(&cause, other) && !nodes.contains(&other)
            });
            alike && (first.what, first.at_us) == (event.what, event.at_us)
        };
        match chain.iter_mut().rev().find(is_like) {
            Some((_, nodes)) => nodes.extend(node),
            None => chain.push((cause, node.into_iter().collect())),
        }
    }
    chain.into_iter().map(|(cause, nodes)| told(cause, &nodes)).collect()
}

/// The node that goes down in this step, or starts again, if the cause is that.
fn struck<'a>(event: &'a JsonEvent, cause: &Cause) -> Option<&'a str> {
    let node = event.node.as_deref().filter(|_| matches!(event.what, "crashed" | "restarted"))?;
    let is_alone = cause.words.strip_prefix(node).is_some_and(|said| said.starts_with(' '));
    (cause.kind == Kind::Fault && is_alone && !cause.words.contains(" more like it")).then_some(node)
}

fn told(cause: Cause, nodes: &[&str]) -> Cause {
    let [first, _, ..] = nodes else { return cause };
    let said = cause.words.strip_prefix(first).unwrap_or_default().trim_start();
    let (verb, rest) = said.split_once(' ').unwrap_or((said, ""));
    let verb = verb.strip_suffix("es").filter(|stem| stem.ends_with("sh")).or(verb.strip_suffix('s'));
    let words = [&nodes.join(", "), verb.unwrap_or(said), &rest.replace(" it had ", " they had ")].join(" ");
    Cause { words: words.trim_end().to_owned(), ..cause }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::toy;

    #[test]
    fn servers_that_go_down_together_are_one_cause_and_others_are_not() {
        toy::story(toy::overlap, |story| {
            let step = |what: &'static str, node: &str, at_us: i64| {
                let event = story.events.first().expect("steps").clone();
                JsonEvent { what, node: Some(node.to_owned()), at_us, ..event }
            };
            let events = [
                step("crashed", "s1", 1),
                step("crashed", "s2", 1),
                step("crashed", "s3", 2),
                step("restarted", "s1", 3),
                step("restarted", "s2", 3),
                step("restarted", "s3", 3),
            ];
            let words = [
                "s1 crashes",
                "s2 crashes",
                "s3 crashes",
                "s1 starts again, with all that it had stored",
                "s2 starts again, with all that it had stored",
                "s3 starts again",
            ];
            let cause = |(position, words): (usize, &&str)| Cause {
                position,
                kind: Kind::Fault,
                when: String::new(),
                words: (*words).to_owned(),
            };
            let causes = words.iter().enumerate().map(cause).collect();
            let told = at_once(&Story { events: &events, ..story }, causes);
            let told: Vec<&str> = told.iter().map(|cause| cause.words.as_str()).collect();
            let expected = [
                "s1, s2 crash",
                "s3 crashes",
                "s1, s2 start again, with all that they had stored",
                "s3 starts again",
            ];
            assert_eq!(told, expected);
        });
    }
}
