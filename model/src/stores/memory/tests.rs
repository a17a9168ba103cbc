use super::*;
use crate::names::Word;
use crate::time::{Monotonic, Wall};
use proptest::prelude::*;
use std::collections::BTreeMap;

const X: Cell = Cell { word: Word(0), number: 0 };
const Y: Cell = Cell { word: Word(1), number: 0 };

fn asked(memory: &mut Memory, settings: &Settings, cell: Cell, operation: Operation) -> Outcome {
    let mut effects = Effects::default();
    let cx = Context { me: 0, servers: 1, wall: Wall(0), monotonic: Monotonic(0), choice: 0, settings };
    memory.on_request(0, Request { serial: 7, cell, operation }, &cx, &mut effects);
    let [(_, crate::machine::Message::Reply(Reply { serial: 7, outcome }))] = effects.sends[..] else {
        panic!("one answer: {:?}", effects.sends);
    };
    outcome
}

fn set(content: Option<u32>, condition: Condition) -> Operation {
    Operation::Set { content, condition }
}

#[test]
fn a_version_starts_again_after_a_delete_or_goes_on() {
    for (versions, expected) in [(Versions::StartAgain, 1), (Versions::GoOn, 3)] {
        let (mut memory, settings) = (Memory::default(), Settings { versions });
        for content in [Some(5), None, Some(6)] {
            assert_eq!(asked(&mut memory, &settings, X, set(content, Condition::None)), Outcome::Set(true));
        }
        let found = asked(&mut memory, &settings, X, Operation::Get);
        assert_eq!(found, Outcome::Found { content: Some(6), version: expected });
    }
}

#[test]
fn what_is_not_there_has_version_0_and_nothing_in_it() {
    let (mut memory, settings) = (Memory::default(), Settings::default());
    assert_eq!(
        asked(&mut memory, &settings, X, Operation::Get),
        Outcome::Found { content: None, version: 0 }
    );
    assert_eq!(asked(&mut memory, &settings, X, set(Some(1), Condition::Version(1))), Outcome::Set(false));
    assert_eq!(asked(&mut memory, &settings, X, set(Some(1), Condition::Version(0))), Outcome::Set(true));
    assert_eq!(asked(&mut memory, &settings, X, set(None, Condition::Content(None))), Outcome::Set(false));
    assert_eq!(
        asked(&mut memory, &settings, Y, Operation::Get),
        Outcome::Found { content: None, version: 0 }
    );
}

#[test]
fn deleting_what_is_not_there_is_no_change() {
    let (mut memory, settings) = (Memory::default(), Settings { versions: Versions::GoOn });
    for content in [Some(5), None, None, Some(6)] {
        asked(&mut memory, &settings, X, set(content, Condition::None));
    }
    let found = asked(&mut memory, &settings, X, Operation::Get);
    assert_eq!(found, Outcome::Found { content: Some(6), version: 3 });
}

fn operation() -> impl Strategy<Value = (Cell, Operation)> {
    let content = || proptest::option::of(0..3_u32);
    let condition = prop_oneof![
        Just(Condition::None),
        (0..6_u32).prop_map(Condition::Version),
        content().prop_map(Condition::Content),
    ];
    let operation = prop_oneof![
        Just(Operation::Get),
        (content(), condition).prop_map(|(content, condition)| set(content, condition)),
    ];
    (prop_oneof![Just(X), Just(Y)], operation)
}

proptest! {
    /// Of each variable: what it holds, and how often it was changed since it came, or ever.
    #[test]
    fn it_does_what_a_map_does(
        operations in proptest::collection::vec(operation(), 0..40),
        goes_on in any::<bool>(),
    ) {
        let settings = Settings { versions: if goes_on { Versions::GoOn } else { Versions::StartAgain } };
        let (mut memory, mut map) = (Memory::default(), BTreeMap::<Cell, (Option<u32>, u32)>::new());
        for (cell, operation) in operations {
            let (content, changes) = map.get(&cell).copied().unwrap_or_default();
            let version = if content.is_some() { changes } else { 0 };
            let expected = match operation {
                Operation::Get => Outcome::Found { content, version },
                Operation::Set { content: new, condition } => {
                    let holds = match condition {
                        Condition::None => true,
                        Condition::Version(expected) => expected == version,
                        Condition::Content(expected) => expected == content,
                    };
                    let is_change = holds && (content.is_some() || new.is_some());
                    if is_change {
                        let changes = if new.is_none() && !goes_on { 0 } else { changes + 1 };
                        map.insert(cell, (new, changes));
                    }
                    Outcome::Set(holds)
                }
            };
            prop_assert_eq!(asked(&mut memory, &settings, cell, operation), expected);
        }
    }
}
