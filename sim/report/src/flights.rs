//! Which message became of which: from the step that sent it to the one in which it arrived or was lost.

use picklock_engine::report::{JsonEvent, TimeColumn};
use std::collections::{BTreeMap, VecDeque};

/// A message on its way.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Flight {
    /// Sender.
    pub from: String,
    /// Receiver.
    pub to: String,
    /// What it says.
    pub message: String,
    /// Position of the step that sent it.
    pub sent: usize,
    /// Position of the step in which it arrived or was lost; `None`: still under way at the end.
    pub ended: Option<usize>,
    /// Whether it was lost.
    pub is_lost: bool,
    /// Whether the network made it out of another one.
    pub is_copy: bool,
    /// Whether it was under way for more than five times as long as most, or a later one of the same sender overtook it.
    pub is_late: bool,
    /// Whether it is late for no more than that a later one overtook it.
    pub is_only_overtaken: bool,
}

/// How much longer than the median a message is under way to be called late.
const LATE_MEDIANS: i64 = 5;

/// Every message of the run, in the order of their sending.
///
/// An arriving one is that of the step which is said to have sent it. Where none is said, it is taken for the oldest of the same
/// words between the same two nodes.
pub fn flights(events: &[JsonEvent], time: TimeColumn) -> Vec<Flight> {
    let mut flights: Vec<Flight> = Vec::new();
    let mut under_way: BTreeMap<(&str, &str, &str), VecDeque<usize>> = BTreeMap::new();
    for (position, event) in events.iter().enumerate() {
        if let (Some(from), Some(to), Some(message)) = (&event.from, &event.to, &event.message) {
            let alike = under_way.entry((from, to, message)).or_default();
            let is_it = |flight: &usize| match event.sent_in {
                Some(step) => events[flights[*flight].sent].step == step,
                None => true,
            };
            let place = alike.iter().position(is_it);
            match (event.what, place) {
                ("duplicated", Some(place)) => {
                    let original = flights[alike[place]].clone();
                    alike.push_back(flights.len());
                    flights.push(Flight { is_copy: true, ..original });
                }
                ("delivered" | "lost", Some(place)) => {
                    if let Some(flight) = alike.remove(place) {
                        flights[flight].ended = Some(position);
                        flights[flight].is_lost = event.what == "lost";
                    }
                }
                // Sent before the first step that is shown here.
                (_, _) => {}
            }
        }
        let Some(from) = &event.node else { continue };
        for sent in &event.sent {
            under_way.entry((from, &sent.to, &sent.message)).or_default().push_back(flights.len());
            flights.push(Flight {
                from: from.clone(),
                to: sent.to.clone(),
                message: sent.message.clone(),
                sent: position,
                ended: None,
                is_lost: false,
                is_copy: false,
                is_late: false,
                is_only_overtaken: false,
            });
        }
    }
    mark_late(&mut flights, events, time);
    flights
}

fn mark_late(flights: &mut [Flight], events: &[JsonEvent], time: TimeColumn) {
    let passed = |position: usize| match time {
        TimeColumn::Seconds => events[position].at_us,
        TimeColumn::Ticks { length } => events[position].at_us.div_euclid(length.0.max(1)),
        TimeColumn::Hidden => 0,
    };
    let duration = |flight: &Flight| Some(passed(flight.ended?) - passed(flight.sent));
    let mut durations: Vec<i64> =
        flights.iter().filter(|flight| !flight.is_lost).filter_map(duration).collect();
    durations.sort_unstable();
    let median = durations.get(durations.len() / 2).copied().unwrap_or(0);
    let overtaken = overtaken(flights);
    for (flight, is_overtaken) in flights.iter_mut().zip(overtaken) {
        let is_slow = duration(flight).is_some_and(|duration| duration > LATE_MEDIANS * median);
        flight.is_late = !flight.is_lost && (is_slow || is_overtaken);
        flight.is_only_overtaken = flight.is_late && !is_slow;
    }
}

/// Of which flights a later one of the same link arrived earlier.
fn overtaken(flights: &[Flight]) -> Vec<bool> {
    let mut links: BTreeMap<(&str, &str), Vec<usize>> = BTreeMap::new();
    for (number, flight) in flights.iter().enumerate() {
        links.entry((&flight.from, &flight.to)).or_default().push(number);
    }
    let mut overtaken = vec![false; flights.len()];
    for mut link in links.into_values() {
        link.sort_by_key(|number| flights[*number].sent);
        let mut earliest_later = usize::MAX;
        // From the last one backwards; those that were sent in one step do not overtake each other.
        for together in link.chunk_by(|one, other| flights[*one].sent == flights[*other].sent).rev() {
            for number in together {
                overtaken[*number] = flights[*number].ended.is_some_and(|ended| earliest_later < ended);
            }
            let arrived = together.iter().map(|number| &flights[*number]).filter(|flight| !flight.is_lost);
            earliest_later = arrived.filter_map(|flight| flight.ended).fold(earliest_later, usize::min);
        }
    }
    overtaken
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::toy;
    use picklock_engine::report::JsonEvents;

    fn events(run: impl FnOnce(&mut JsonEvents)) -> Vec<JsonEvent> {
        let mut events = JsonEvents::default();
        run(&mut events);
        events.finish()
    }

    #[test]
    fn every_message_that_arrives_or_is_lost_was_sent_before() {
        for run in [toy::overlap, toy::patience, toy::misfortune] {
            let events = events(run);
            let ended =
                flights(&events, TimeColumn::Seconds).iter().filter(|flight| flight.ended.is_some()).count();
            let ends = events.iter().filter(|event| matches!(event.what, "delivered" | "lost")).count();
            assert_eq!(ended, ends);
            for flight in flights(&events, TimeColumn::Seconds) {
                assert!(flight.ended.is_none_or(|ended| ended > flight.sent), "{flight:?}");
            }
        }
    }

    #[test]
    fn a_duplicate_is_a_second_flight_of_the_same_message() {
        let flights = flights(&events(toy::misfortune), TimeColumn::Seconds);
        let copies: Vec<&Flight> = flights.iter().filter(|flight| flight.is_copy).collect();
        assert_eq!(copies.len(), 1);
        let originals = flights.iter().filter(|flight| !flight.is_copy && flight.sent == copies[0].sent);
        assert!(originals.clone().all(|original| original.message == copies[0].message));
        assert!(originals.count() >= 1);
    }

    #[test]
    fn a_message_that_nobody_sent_is_not_taken_for_another() {
        let mut events = events(toy::overlap);
        let arrival = events.iter().position(|event| event.what == "delivered").unwrap();
        events[arrival].message = Some("something else".to_owned());
        let flights = flights(&events, TimeColumn::Seconds);
        assert!(flights.iter().all(|flight| flight.ended != Some(arrival)));
    }

    #[test]
    fn of_two_messages_that_say_the_same_the_one_arrives_that_the_step_names() {
        let events = events(toy::overlap);
        let first = &flights(&events, TimeColumn::Seconds)[0];
        let (sends, arrives) = (&events[first.sent], &events[first.ended.unwrap()]);
        let arrival = |step, sent_in| JsonEvent { step, sent_in, ..arrives.clone() };
        let ends = |sent_in: [Option<u64>; 2]| {
            let [one, other] = sent_in;
            let sends = |step| JsonEvent { step, ..sends.clone() };
            let events = [sends(1), sends(2), arrival(3, one), arrival(4, other)];
            flights(&events, TimeColumn::Seconds)
                .iter()
                .filter(|flight| (&flight.to, &flight.message) == (&first.to, &first.message))
                .map(|flight| flight.ended)
                .collect::<Vec<_>>()
        };
        assert_eq!(ends([None, None]), [Some(2), Some(3)], "the first one that was sent");
        assert_eq!(ends([Some(2), Some(1)]), [Some(3), Some(2)]);
        assert_eq!(ends([Some(2), Some(7)]), [None, Some(2)], "nobody sent it in step 7");
    }

    #[test]
    fn a_message_that_a_later_one_overtakes_is_late() {
        let mut events = events(toy::patience);
        assert!(
            flights(&events, TimeColumn::Seconds).iter().all(|flight| !flight.is_late),
            "in order, none is"
        );
        let arrives =
            |event: &JsonEvent| (event.from.as_deref(), event.to.as_deref()) == (Some("A"), Some("s1"));
        let arrivals: Vec<usize> = (0..events.len()).filter(|at| arrives(&events[*at])).collect();
        let first = events.remove(arrivals[0]);
        events.insert(arrivals[1], first);
        let late: Vec<Flight> =
            flights(&events, TimeColumn::Seconds).into_iter().filter(|flight| flight.is_late).collect();
        assert_eq!(late.len(), 1, "{late:?}");
        assert_eq!(late[0].ended, Some(arrivals[1]));
    }
}
