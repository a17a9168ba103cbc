use super::*;
use crate::plans::fault::{FaultKind, FaultSet};
use crate::plans::plan::{Fault, Planned, Target, Trigger, When};
use crate::plans::strategy::Strategy;
use crate::plans::swarm::Scale;
use picklock_model::machine::Line;
use picklock_model::time::Micros;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::{
    Strategy as _, any, prop, prop_assert, prop_assert_eq, prop_assume, prop_oneof, proptest,
};
use proptest::sample::select;
use serde_json::json;

fn scale() -> Scale {
    Scale {
        clients: 3,
        servers: 5,
        lease: Some(Micros::seconds(30)),
        horizon: Micros::seconds(20),
        messages: 500,
        lines: vec![Line { listing: 6, number: 3 }, Line { listing: 0, number: 4 }],
    }
}

/// A bit for each kind of fault.
const EVERY_KIND: u16 = (1 << FaultKind::ALL.len()) - 1;

fn plans() -> impl proptest::strategy::Strategy<Value = Plan> {
    (select(Strategy::ALL.to_vec()), any::<u16>(), any::<u64>()).prop_map(|(strategy, faults, seed)| {
        let faults = FaultSet::try_from(faults & EVERY_KIND).expect("each bit is a kind");
        strategy.plan(faults, seed, &scale())
    })
}

fn bodies() -> impl proptest::strategy::Strategy<Value = Body> {
    let pin = (any::<u8>(), any::<u16>()).prop_map(|(client, step)| Pin { client, step });
    let bounds = prop_oneof![Just(None), Just(Some(json!({"losses": 1, "aim": "Holding"})))];
    prop_oneof![
        (plans(), vec(option::of(pin), 0..4), any::<u64>()).prop_map(|(plan, pins, seed)| Body::Planned {
            plan,
            pins,
            seed
        }),
        (bounds, vec(any::<u16>(), 0..60), any::<Option<u16>>())
            .prop_map(|(bounds, actions, loop_start)| { Body::Path { bounds, actions, loop_start } }),
    ]
}

fn tokens() -> impl proptest::strategy::Strategy<Value = Token> {
    let changes = prop_oneof![Just(None), Just(Some(json!({"servers": 1, "workload": {"clients": 3}})))];
    let setup = (any::<bool>(), changes).prop_map(|(registered, changes)| SetupChanges {
        base: if registered { SetupBase::Registered } else { SetupBase::OfType },
        changes,
    });
    let mark = option::of(any::<u64>().prop_map(Mark::of));
    ("[a-z0-9-]{0,20}", option::of(select(Promise::ALL.to_vec())), setup, bodies(), mark)
        .prop_map(|(lock, promise, setup, body, mark)| Token { lock, promise, setup, body, mark })
}

use proptest::strategy::Just;

fn example() -> Token {
    let when = When::Trigger { client: None, event: Trigger::Granted, nth: 1, delay: Micros::ZERO };
    let fault = Fault::Pause { node: Target::Struck, length: Micros(34_567_890) };
    let plan = Plan { faults: vec![Planned { when, fault }], heal_at: Micros(61_234_567), ..Plan::default() };
    Token {
        lock: "cassandra-queue".to_owned(),
        promise: Some(Promise::MutualExclusion),
        setup: SetupChanges::none(),
        body: Body::Planned { plan, pins: vec![], seed: 4711 },
        mark: Some(Mark::of(0x0123_4567_89ab_cdef)),
    }
}

fn read(text: &str) -> Result<Token, TokenError> {
    text.parse()
}

fn sealed(payload: &[u8]) -> String {
    format!("pk5_{}", bs58::encode([payload, &checksum(payload)].concat()).into_string())
}

fn saying(contents: &Value) -> Result<Token, TokenError> {
    read(&sealed(&packing::pack(contents)))
}

#[test]
fn what_is_far_too_long_is_refused_at_once() {
    assert_eq!(read(&format!("pk5_{}", "z".repeat(1_000_000))), Err(TokenError::TooLong));
}

proptest! {
    #[test]
    fn a_token_comes_back_from_its_text(token in tokens()) {
        prop_assert_eq!(read(&token.encode()), Ok(token));
    }

    #[test]
    fn an_altered_character_is_noticed(token in tokens(), at in any::<prop::sample::Index>(), to in any::<char>()) {
        let mut text: Vec<char> = token.encode().chars().collect();
        let at = at.index(text.len());
        prop_assume!(text[at] != to);
        text[at] = to;
        let altered: String = text.into_iter().collect();
        prop_assert!(read(&altered).is_err(), "{altered}");
    }

    #[test]
    fn a_character_altered_into_another_legal_one_is_noticed(
        token in tokens(), at in any::<prop::sample::Index>(), to in "[1-9A-HJ-NP-Za-km-z]",
    ) {
        let text = token.encode();
        let at = 4 + at.index(text.len() - 4);
        prop_assume!(text[at..=at] != to);
        let altered = format!("{}{to}{}", &text[..at], &text[at + 1..]);
        prop_assert_eq!(read(&altered), Err(TokenError::Damaged));
    }

    #[test]
    fn an_inserted_or_missing_character_is_noticed(
        token in tokens(), at in any::<prop::sample::Index>(), new in "[!-~]",
    ) {
        let text = token.encode();
        let at = at.index(text.len());
        let longer = format!("{}{new}{}", &text[..at], &text[at..]);
        prop_assert!(read(&longer).is_err(), "{longer}");
        let shorter = format!("{}{}", &text[..at], &text[at + 1..]);
        prop_assert!(read(&shorter).is_err(), "{shorter}");
    }

    #[test]
    fn white_space_anywhere_does_not_matter(
        token in tokens(), at in vec((any::<prop::sample::Index>(), "[ \t\r\n]{1,3}"), 0..6),
    ) {
        let mut text = token.encode();
        for (at, space) in at {
            text.insert_str(at.index(text.len() + 1), &space);
        }
        prop_assert_eq!(read(&text), Ok(token));
    }

    #[test]
    fn a_token_cut_anywhere_is_refused(token in tokens(), keep in any::<prop::sample::Index>()) {
        let text = token.encode();
        let keep = keep.index(text.len());
        let expected = if keep < 4 { TokenError::NotAToken } else { TokenError::Damaged };
        prop_assert_eq!(read(&text[..keep]), Err(expected));
    }

    #[test]
    fn no_text_whatever_makes_the_reader_panic(text in any::<String>()) {
        prop_assert!(read(&text).is_err());
        let text = format!("pk5_{text}");
        prop_assert!(read(&text).is_err());
    }

    #[test]
    fn no_payload_whatever_makes_the_reader_panic(payload in vec(any::<u8>(), 0..80)) {
        if let Ok(token) = read(&sealed(&payload)) {
            prop_assert_eq!(read(&token.encode()), Ok(token));
        }
    }
}

#[test]
fn a_run_of_one_fault_takes_fewer_characters_than_a_line_of_a_terminal_has_twice() {
    assert!(example().encode().len() <= 100, "{} {}", example().encode().len(), example());
}

#[test]
fn a_text_without_prefix_is_not_a_token_and_the_error_says_what_one_looks_like() {
    for text in ["", "4711", "pk", "pk_", "pk1", "pkx_abc", "pk01_abc", "PK1_abc", "pk123456_a", "pk-1_abc"] {
        assert_eq!(read(text), Err(TokenError::NotAToken), "{text}");
    }
    let expected = "this is not a token: a token begins with pk5_ and goes on with letters and digits";
    assert_eq!(TokenError::NotAToken.to_string(), expected);
}

#[test]
fn a_token_of_another_format_is_refused_with_both_numbers() {
    let other = example().encode().replacen("pk5_", "pk4_", 1);
    let expected = "this token was made by format 4; this picklock reads format 5";
    assert_eq!(read(&other).unwrap_err().to_string(), expected);
}

#[test]
fn an_illegal_character_is_named_with_its_place() {
    let mut text = example().encode();
    text.replace_range(9..10, "0");
    let expected =
        "this token has '0' as character 10, but tokens have only letters and digits, without 0, O, I and l";
    assert_eq!(read(&text).unwrap_err().to_string(), expected);
    text.replace_range(9..10, "…");
    assert_eq!(read(&text), Err(TokenError::IllegalCharacter { character: '…', position: 10 }));
}

#[test]
fn bytes_left_over_are_refused() {
    let payload = [packing::pack(&example().contents()), vec![0]].concat();
    assert_eq!(read(&sealed(&payload)), Err(TokenError::Unreadable));
}

#[test]
fn what_a_later_picklock_says_is_named_and_not_passed_over() {
    let unheard = |name: &str| Err(TokenError::Unheard(name.to_owned()));
    let mut contents = example().contents();
    contents["weather"] = json!("rain");
    assert_eq!(saying(&contents), unheard("weather"));
    let words = TokenError::Unheard("weather".to_owned()).to_string();
    assert_eq!(
        words,
        "this token speaks of \"weather\", of which this picklock knows nothing: a later one has written it"
    );

    let with_fault = |fault: Value| {
        let mut contents = example().contents();
        contents["plan"]["faults"] = json!([[{"when": {"at": 1}, "fault": fault}]]);
        saying(&contents)
    };
    assert_eq!(with_fault(json!({"earthquake": {"node": "struck"}})), unheard("earthquake"));
    let deep = json!({"pause": {"node": "struck", "length": 1, "depth": 2}});
    assert_eq!(with_fault(deep), unheard("faults[0].fault.pause.depth"));
    assert!(with_fault(json!({"pause": {"node": "struck", "length": 1}})).is_ok());

    let mut contents = example().contents();
    contents["plan"]["gravity"] = json!(9);
    assert_eq!(saying(&contents), unheard("gravity"));
    let mut contents = example().contents();
    contents["promise"] = json!("world-peace");
    assert_eq!(saying(&contents), unheard("world-peace"));
}

#[test]
fn a_part_that_a_plan_got_later_is_as_by_default() {
    // As if the network had got its tail, and the fault its `both_ways`, after the token was made.
    let fault = json!({"cut": {"from": "clients", "to": "servers", "length": 5}});
    let mut contents = example().contents();
    contents["plan"] = json!({"faults": [[{"when": {"at": 1}, "fault": fault}]], "heal_at": 9});
    let Ok(Token { body: Body::Planned { plan, .. }, .. }) = saying(&contents) else {
        panic!("{contents}");
    };
    assert_eq!(plan.network, Plan::default().network);
    assert!(plan.to_string().contains("one way"), "{plan}");
}
