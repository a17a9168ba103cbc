//! The checker on histories that others recorded, with the verdicts that another checker has for them.
//!
//! The histories are test data of porcupine, a linearizability checker in Go by Anish Athalye
//! (github.com/anishathalye/porcupine, commit 55508eb, MIT licence, see `histories/LICENSE.md`); the verdicts are those
//! that its `porcupine_test.go` expects.
//!
//! - `etcd_*.log`: one register with compare-and-set in etcd, recorded by Jepsen, time-outs included
//! - `kv_*.txt`: strings that are written, appended to and read, by 1, 10 and 50 clients

use picklock_properties::{
    ClientId, NotLinearizable, ObjectAnswer, ObjectCall, ObjectId, Operation, Specification, check,
    check_objects,
};
use std::collections::BTreeMap;

fn read(name: &str) -> String {
    let path = format!("{}/tests/histories/{name}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Operations as they are recorded: beginnings and ends in the order of the lines, which are the times.
struct Recorder<Call, Answer> {
    operations: Vec<Operation<Call, Answer>>,
    under_way: BTreeMap<u64, usize>,
}

impl<Call, Answer> Recorder<Call, Answer> {
    fn new() -> Recorder<Call, Answer> {
        Recorder { operations: Vec::new(), under_way: BTreeMap::new() }
    }

    fn begin(&mut self, process: u64, call: Call, at: usize) {
        let was = self.under_way.insert(process, self.operations.len());
        assert_eq!(was, None, "process {process} began twice");
        // Processes are numbered on whenever one times out; whose call it is matters to nobody.
        let client = ClientId((process % 128) as u8);
        self.operations.push(Operation { client, call, invoked_at: at as u64, returned: None });
    }

    fn end(&mut self, process: u64, answer: Answer, at: usize) {
        let place = self.under_way.remove(&process).expect("what ends has begun");
        self.operations[place].returned = Some((at as u64, answer));
    }

    /// It ended, and changed nothing.
    fn drop(&mut self, process: u64) {
        self.under_way.remove(&process).expect("what ends has begun");
    }
}

fn number(text: &str) -> i32 {
    text.trim_matches(['[', ']']).parse().unwrap_or_else(|_| panic!("{text} is no number"))
}

/// A register of Jepsen: lines of `INFO  jepsen.util - 4 :invoke :cas [2 4]`.
fn register(name: &str) -> Vec<Operation<ObjectCall, ObjectAnswer>> {
    let variable = ObjectId(0);
    let mut recorder = Recorder::new();
    for (at, line) in read(name).lines().enumerate() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let ["INFO", "jepsen.util", "-", process, what @ ..] = &words[..] else {
            panic!("{name}: {line}");
        };
        let process = process.parse().unwrap_or_else(|_| panic!("{process} is no process"));
        let value = |value: &str| ObjectAnswer::Value {
            value: (value != "nil").then(|| number(value)),
            version: None,
        };
        match what {
            [":invoke", ":read", "nil"] => recorder.begin(process, ObjectCall::Read { variable }, at),
            [":invoke", ":write", value] => {
                recorder.begin(process, ObjectCall::Write { variable, value: number(value) }, at);
            }
            [":invoke", ":cas", expected, new] => {
                let call = ObjectCall::CompareAndSet {
                    variable,
                    expected: Some(number(expected)),
                    new: number(new),
                };
                recorder.begin(process, call, at);
            }
            [":ok", ":read", seen] => recorder.end(process, value(seen), at),
            [":ok", ":write", _] | [":ok", ":cas", _, _] => recorder.end(process, ObjectAnswer::Done, at),
            [":fail", ":cas", _, _] => recorder.end(process, ObjectAnswer::Refused, at),
            [":fail", ":read", ":timed-out"] => recorder.drop(process),
            // Nobody knows what became of it, and the process asks for nothing more.
            [":info", _, ":timed-out"] => {}
            _ => panic!("{name}: {line}"),
        }
    }
    recorder.operations
}

/// Strings that are written, appended to and read, each key by itself.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
struct Strings;

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
enum StringCall {
    Get(String),
    Put(String, String),
    Append(String, String),
}

impl Specification for Strings {
    type Object = String;
    type Call = StringCall;
    /// What was read; nothing is said of what was written.
    type Answer = Option<String>;
    type State = String;

    fn object(call: &StringCall) -> String {
        let (StringCall::Get(key) | StringCall::Put(key, _) | StringCall::Append(key, _)) = call;
        key.clone()
    }

    fn outcomes(state: &String, call: &StringCall, each: &mut dyn FnMut(String, Option<String>)) {
        match call {
            StringCall::Get(_) => each(state.clone(), Some(state.clone())),
            StringCall::Put(_, value) => each(value.clone(), None),
            StringCall::Append(_, value) => each(format!("{state}{value}"), None),
        }
    }

    fn may_change(_state: &String, call: &StringCall) -> bool {
        !matches!(call, StringCall::Get(_))
    }
}

/// Lines of `{:process 0, :type :ok, :f :get, :key "5", :value ""}`.
fn strings(name: &str) -> Vec<Operation<StringCall, Option<String>>> {
    let mut recorder = Recorder::new();
    for (at, line) in read(name).lines().enumerate() {
        let after = |field: &str| {
            let start = line.find(field).unwrap_or_else(|| panic!("{name}: {line}")) + field.len();
            line[start..].trim_start()
        };
        let word = |field: &str| after(field).split([',', '}']).next().unwrap_or_default();
        let quoted = |field: &str| after(field).split('"').nth(1).unwrap_or_default().to_owned();
        let process = word(":process").parse().unwrap_or_else(|_| panic!("{name}: {line}"));
        let key = || quoted(":key");
        let value = || quoted(":value");
        match (word(":type"), word(":f")) {
            (":invoke", ":get") => recorder.begin(process, StringCall::Get(key()), at),
            (":invoke", ":put") => recorder.begin(process, StringCall::Put(key(), value()), at),
            (":invoke", ":append") => recorder.begin(process, StringCall::Append(key(), value()), at),
            (":ok", ":get") => recorder.end(process, Some(value()), at),
            (":ok", ":put" | ":append") => recorder.end(process, None, at),
            _ => panic!("{name}: {line}"),
        }
    }
    recorder.operations
}

#[track_caller]
fn assert_verdict(name: &str, verdict: Result<(), NotLinearizable>, is_linearizable: bool) {
    assert_eq!(verdict.is_ok(), is_linearizable, "{name}: {verdict:?}");
}

#[test]
fn registers_in_etcd_are_judged_as_porcupine_judges_them() {
    for (number, is_linearizable) in [
        ("000", false),
        ("001", false),
        ("002", true),
        ("004", false),
        ("005", true),
        ("007", true),
        ("018", true),
        ("025", true),
        ("031", true),
        ("045", true),
        ("060", false),
        ("075", true),
        ("092", true),
        ("099", false),
        ("100", true),
        ("102", true),
    ] {
        let name = format!("etcd_{number}.log");
        let operations = register(&name);
        assert!(operations.len() > 50, "{name} has {} operations", operations.len());
        assert_verdict(&name, check_objects(&operations), is_linearizable);
    }
}

#[test]
fn strings_of_one_ten_and_fifty_clients_are_judged_as_porcupine_judges_them() {
    for clients in ["c01", "c10", "c50"] {
        for (kind, is_linearizable) in [("ok", true), ("bad", false)] {
            let name = format!("kv_{clients}-{kind}.txt");
            assert_verdict(&name, check::<Strings>(&strings(&name)), is_linearizable);
        }
    }
}

#[test]
fn a_history_cut_short_is_as_linearizable_as_before() {
    // Calls that had not come back by then are those of which nobody knows.
    let operations = register("etcd_002.log");
    for end in (0..operations.len() as u64).step_by(7) {
        let began = operations.iter().filter(|operation| operation.invoked_at < end).cloned();
        let cut = began.map(|operation| {
            let returned = operation.returned.filter(|(at, _)| *at < end);
            Operation { returned, ..operation }
        });
        assert_eq!(check_objects(&cut.collect::<Vec<_>>()), Ok(()), "cut at {end}");
    }
}

#[test]
fn one_answer_changed_is_noticed() {
    let operations = register("etcd_100.log");
    let mut noticed = 0;
    for place in 0..operations.len() {
        let mut wrong = operations.clone();
        if let Some((_, ObjectAnswer::Value { value, .. })) = &mut wrong[place].returned {
            // Nobody writes such a value.
            *value = Some(-1);
            assert!(check_objects(&wrong).is_err(), "operation {place}");
            noticed += 1;
        }
    }
    assert!(noticed > 10, "{noticed}");
}
