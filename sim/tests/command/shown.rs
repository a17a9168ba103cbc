//! Verdicts on their way to others: build servers, terminals of any width and colour, manual pages, shells.

use super::{Ended, PICKLOCK, document, ended, folder, picklock, quiet, run, text_of};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};

fn read(file: &Path) -> String {
    std::fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

/// The values of an attribute, of all elements of this name.
fn values<'a>(xml: &'a str, element: &str, attribute: &str) -> Vec<&'a str> {
    let (begins, names) = (format!("<{element} "), format!("{attribute}=\""));
    let elements = xml.split(begins.as_str()).skip(1).filter_map(|rest| rest.split('>').next());
    elements.filter_map(|element| element.split(names.as_str()).nth(1)?.split('"').next()).collect()
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn a_report_for_a_build_server_fails_where_the_exit_code_does() {
    let file = folder("junit").join("junit.xml");
    for (line, code, failures, of) in [
        // Known to break, and expected to.
        ("matrix --lock redis-single --fault pause --seeds 100", 0, 0, "pause · mutual-exclusion"),
        ("sweep redis-single --faults pause --seeds 0..200", 1, 1, "mutual-exclusion"),
        ("sweep redis-single --faults loss --seeds 0..20", 0, 0, "mutual-exclusion"),
        ("check redlock --clients 2 --rounds 1", 0, 0, "mutual-exclusion"),
        ("check redis-single --drop no-pause", 1, 1, "mutual-exclusion, without no-pause"),
        ("theorems lemma-1", 0, 0, "2 clients, "),
        ("scenarios C1", 0, 0, "C1 repaired"),
    ] {
        let Ended { code: exit, stdout, stderr } = run(&format!("{line} --junit {}", file.display()));
        assert_eq!(exit, code, "{line}: {stdout}{stderr}");
        let xml = read(&file);
        let failed: u64 =
            values(&xml, "testsuite", "failures").iter().filter_map(|n| n.parse::<u64>().ok()).sum();
        assert_eq!(failed > 0, failures > 0, "{line}: {xml}");
        let names = values(&xml, "testcase", "name");
        assert!(names.iter().any(|name| name.contains(of)), "{line}: {names:?}");
        assert!(xml.starts_with("<?xml") && xml.trim_end().ends_with("</testsuites>"), "{line}: {xml}");
    }
    let nowhere = run("sweep redlock --junit /nowhere/junit.xml");
    assert_eq!((nowhere.code, nowhere.stderr.lines().count()), (2, 1), "{}", nowhere.stderr);
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn what_else_could_have_happened_is_a_run_of_its_own_token_that_ends_as_is_said() {
    let steps = document("replay C1")["events"].as_array().map_or(0, Vec::len);
    let (mut kept, mut broken) = (0, 0);
    for step in [2, steps / 2, steps] {
        let others = super::rows(&format!("replay C1 --instead {step}"));
        assert!(!others.is_empty(), "step {step} is no choice");
        for other in others {
            let replayed = document(&format!("replay {}", super::text_of(&other["token"])));
            assert_eq!(
                other["steps"].as_u64(),
                replayed["events"].as_array().map(|events| events.len() as u64)
            );
            let is_kept =
                other["outcome"].as_str().is_some_and(|words| words.starts_with("nothing is broken"));
            assert_eq!(replayed["violation"].is_null(), is_kept, "{other}");
            *(if is_kept { &mut kept } else { &mut broken }) += 1;
        }
    }
    assert!(kept > 0, "{kept} runs keep everything, {broken} do not");
}

#[test]
fn the_order_of_the_clock_s_step_decides_whether_the_first_row_of_the_catalogue_breaks() {
    let others = super::rows("replay C1 --instead 12");
    let outcome = |words: &str| {
        let other = others.iter().find(|other| other["words"] == words);
        other
            .map(|other| super::text_of(&other["outcome"]).to_owned())
            .unwrap_or_else(|| panic!("{words}: {others:?}"))
    };
    assert!(outcome("A's clock steps back 1s").starts_with("nothing is broken in this run"));
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn a_page_of_the_exhaustive_engine_carries_what_else_could_have_happened_and_is_the_same_each_time() {
    let folder = folder("others");
    let page = |name: &str, line: &str| {
        let file = folder.join(name);
        let Ended { code, stderr, .. } =
            run(&format!("replay {line} --format html --out {}", file.display()));
        assert_eq!(code, 0, "{stderr}");
        read(&file)
    };
    let (one, other) = (page("one.html", "C1"), page("two.html", "C1"));
    assert!(one == other && one.contains("A's clock steps back 1s"));
    assert!(one.len() < 2_500_000, "{} bytes", one.len());
    let instead = page("three.html", "C1 --instead 12:1");
    assert!(instead.contains("s1 gets A's read M first 2") || instead.contains("read M first 2"));
}

/// The causes of what a run breaks. Two tests ask for most of them: a run is run once.
fn why(row: &str) -> Vec<Value> {
    token_and_why(row).1
}

/// The same, and the run's token, with which nothing is searched for again.
fn token_and_why(row: &str) -> (String, Vec<Value>) {
    static KNOWN: Mutex<BTreeMap<String, (String, Vec<Value>)>> = Mutex::new(BTreeMap::new());
    let known = || KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = known().get(row) {
        return known.clone();
    }
    let run = document(&format!("replay {row}"));
    let (token, why) = (run["token"].as_str(), run["why"].as_array());
    let (Some(token), Some(why)) = (token, why) else { panic!("{row}: {run}") };
    let found = (token.to_owned(), why.clone());
    known().insert(row.to_owned(), found.clone());
    found
}

/// The same in words.
fn causes(row: &str) -> Vec<String> {
    why(row).iter().filter_map(|cause| cause["words"].as_str()).map(str::to_owned).collect()
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn a_chain_of_causes_says_more_than_who_was_granted() {
    let mut rows = BTreeSet::new();
    // No fault strikes in most of these: what breaks them is an answer, and what its server did not have.
    for (row, of) in [
        (
            "chubby-lock-unmodified:duplicate:23:fenced-resource",
            "of its hold that began in step 65, after one of B (step 76)",
        ),
        ("etcd-mutex:duplicate:4:fenced-resource", "after one of a later one (step 115)"),
        ("zookeeper-lock:delay:35:fenced-resource", "after one of A (step 397)"),
        ("cassandra-timed:crash:27973:fenced-resource", "s1 answers {tB}, which is B's and not A's"),
        (
            "dlm-modes:pause:23:mutual-exclusion",
            "s1 takes a silent one for dead: \"R1: A's lock 1 has PW\" is gone on s1",
        ),
        ("C1", "A's clock"),
        (
            "zookeeper-lock-repaired:loss:42256:mutual-exclusion",
            "A to s2: ping is lost, and so are 9 other messages before",
        ),
        (
            "zookeeper-lock-repaired:loss:42256:mutual-exclusion",
            "s2 to s1: follower is at 1:14 is lost, and so are 2 other messages before",
        ),
        ("transfer:loss:0:conservation", "s2 to A: done is lost"),
        ("zookeeper-lock:loss:63:mutual-exclusion", "B to s1: connect, session B@2, has seen 1:2 is lost"),
        ("E19", "A sends watch 0/B@1 from 6 to s1, and waits"),
        ("etcd-mutex-3:power-loss:2:deadlock-freedom", "B sends watch 0/C@1 from 6 to s2, and waits"),
        ("etcd-lease-key-3:none:91:deadlock-freedom", "0/0 (created at 22) is gone on s3, upon "),
        (
            "etcd-lease-key-repaired:delay:1955:deadlock-freedom",
            "s1 stores 0/0 (created at 6), and B is done already",
        ),
        (
            "cassandra-kept:crash:70347:mutual-exclusion",
            "C (ends a lease) sends batch, delete M[tA] at 89.558965s to s1",
        ),
        ("redis-readers-writer:duplicate:29:mutual-exclusion", "C to s1: DECR readers is doubled"),
        (
            "lock-free-queue:loss:0:linearizable",
            "A's set item3 := 7 if version 0: s1 stores item3 = 7 (version 1)",
        ),
        (
            "cassandra-queue:delay:85745:lease-loss",
            "s1 answers {tA}, which is A's and not B's; in L6:4 that is enough",
        ),
        ("redis-readers-writer:all:144", "A's DECR readers: s1 stores readers = -1"),
        ("redlock:all:115:fenced-resource", "C to resource: write arrives a second time"),
        ("etcd-mutex:all:185", "A to s1: delete 0/A@1 arrives late"),
        ("etcd-mutex:all:2:fifo", "B is in the queue"),
        ("C39", "s2 to s1: propose M[owner=tA'12@60.364373s] is lost: s2 alone has accepted it"),
        ("C39", "A sends delete M[owner] if owner=tA'12 to s3"),
        ("C39", "s3 sends propose M[owner=tA'12@62.373988s], upon "),
        ("C39", "s3 stores M: owner=tA'12@62.373988s, upon "),
        ("C22a", "s1 stores Q: 1.000006s·tA@13us, 1.000006s·tB@24us"),
        ("C22a", "s1 stores Q: 1.000006s·tA@37us, 1.000006s·tB@24us"),
        ("C22a", "s1 answers A: {1.000006s·tA}"),
        ("C22c", "s1 answers B: {}"),
        ("C22c", "s1 answers C: {}"),
        ("X3", "A asks transfer(a0, a1, 1)"),
        ("X3", "s2 answers A: 73729, version 1"),
        ("X6", "A asks handle()"),
        ("C12", "s1, s2, s3 lose power"),
        ("C12", "s1, s2, s3 have 0.105897s·tC in Q again, which was deleted"),
        ("C12", "C's add M[tC] at 51.384053s: s1 stores M: tC@51.384053s"),
        ("C37", "s2, s3 start again, with all that they had stored"),
        ("etcd-mutex:all:69:no-herd", "C to s1: delete 0/C@1 is doubled"),
        ("etcd-mutex:all:69:no-herd", "C's delete 0/C@1: 0/C@1 (created at 17) is gone on s1"),
        ("etcd-mutex:all:69:no-herd", "s1 stores 0/C@1 (created at 25) anew"),
        ("etcd-mutex:all:368:no-herd", "s1 stores 0/B@30 (created at 20) anew"),
        ("R29", "B is refused, and sends stop unless readers > 0; DECR readers to s1"),
        ("C23", "A sends add Q[1us·tA] at 1us to s1"),
        (
            "F2",
            "s1 to s2: SET lock A#1 PXAT 8s, SET counter 1 is lost, and s2 does not have lock = A#1, dies at 8s",
        ),
        ("R7", "s1 to s2: SET lock A#1 PXAT 8s is lost, and s2 does not have lock = A#1, dies at 8s"),
        ("R4", "s2 stores lock = A#1, dies at 4s"),
        ("R5", "s2 stores lock = A#1, dies at 4s"),
        ("R15", "B's if lock = B#1 then DEL lock: lock = B#1, dies at 8s is gone on s1"),
        ("C9", "B found the lock free"),
        ("C33", "s1 answers C: {tB=16us}, as before"),
        ("C33", "A's add M[tA]=2.000051s at 2.000051s: s1 stores M: tA=2.000051s@2.000051s"),
        ("C33", "s1 answers A: {tA=2.000051s}"),
        ("E11", "s1 stores 0/A@1 (created at 6)"),
        ("R24", "s1 answers nil, to A 174 times and to B 192 times in all"),
        ("R11", "s1 stores lock = A#1, dies at 3s"),
        ("R12", "s1 stores lock = A#1, dies at 3s"),
        ("X1", "s1 answers A: not done, heard in step 16"),
        ("H5", "s1 answers A: kept alive for 5s"),
        ("H5", "A's lease is prolonged"),
        (
            "V6",
            "B's \"has nothing\" answers what s1 asked before it went down again; A hears a later question, and minds no earlier one any more",
        ),
        ("V2", "and R1: B's lock 1 has NL, wants EX"),
        ("R29", "s1 stores readers = 1, dies at 3s"),
        ("Z11", "of session A@2 stays"),
        ("E5", "s1 to s3: propose A@1 is over"),
        ("Z20", "s3 answers C: pong"),
        ("H6", "A to s1: KeepAlive A#1 is lost"),
        ("E17", "s1 answers A: watching (revision 3)"),
        ("C22a", "D's clock is 1 s ahead"),
        ("H4", "B reads"),
        ("C1", "A's delete M[tA] at 15us: s1 keeps a tombstone of tA"),
        ("C1", "A's record is written, and hidden by its tombstone of 15us"),
        ("C1", "s1 answers {tB}, which is B's and not A's; in L6:4 that is enough"),
        ("R1", "A's record expired on s1, s2, s3 at 4s"),
        ("R18", "A's record is at most on 1 of 2 servers (s1), B's on 1 (s2)"),
        ("R18", "A and B wait equally long, 1 tick, and go on at the same time"),
        ("Z4", "s1 ends a session that was silent for its whole timeout: A's record is gone on s1"),
        ("C11", "s2 does not have M: tA"),
        ("C15", "A's record lives until 2 s: by s2's clock it is 3 s, and it has expired"),
        ("cassandra-queue:clock:15", "and it has expired"),
        ("R5", "A's record is gone on s2"),
        ("V1", "s1 stores R1: B's lock 1 has PR, wants EX"),
        ("V8", "s1 stores R1: B's lock 1 has EX"),
        ("V8", "s1 stores R1: A's lock 2 has nothing, wants EX"),
        ("X1", "A's set account0 := 2 if version 2: s1 stores account0 = 2 (version 3)"),
        ("X2", "s1 to A: done is lost"),
        ("X2", "s1 answers A: not done"),
        ("X7", "0/0 (created at 2) is gone on s1"),
        ("X8", "A's set output0 := 10: s1 stores output0 = 10 (version 1)"),
        ("C16", "s1 answers B: {tA}"),
        ("E11", "B's delete 0/B@1: s1 does not have 0/B@1"),
        ("R11", "A's DEL lock"),
        ("R11", "A sends DEL lock to s1"),
        ("R11", "A's record expired on s1 at 3s"),
        ("R12", "A sends DEL lock to s1, upon \"A#1\" from s1"),
        ("Z5", "s1 answers B"),
        ("Z7", "s1 answers C"),
        ("Z19", " beside it"),
        ("C6", "A's record lives until 4 s: by s1's clock it is 4 s, and it has expired"),
        ("C21", "A and B wait equally long, 1 tick, and go on at the same time"),
        ("C38", "s2 answers B: timed out, and "),
        ("C7", "s1 answers A: {1us·tB}, again and again"),
        ("E8", "s3 still stores 0/C@1 (created at 3), and B waits behind it"),
        ("E15", "s1 stores 0/A@1 (created at 4) again"),
        ("E17", "s1 answers A: else: 0/0 (created at 2)"),
        ("E17", "after the last step nothing happens any more"),
        ("V3", "s1 answers A: lock 1: granted, has PR, value 0"),
        ("V4", "s1 answers B: the block holds nothing"),
        ("V5", "x0.read() → absent: A is told what no order of the calls explains"),
        ("V9", "s1 answers A: lock 1: granted, has PR, value 0 (not valid)"),
        ("X4", "A's set index := 1 if version 0: s1 stores index = 1 (version 1)"),
        ("X4", "s1 answers B: nothing, again and again"),
        ("C16", "B's add M[tA] at 14us: s1 stores M: tA@14us"),
        ("C29", "s1 answers A: {owner=tA}, again and again"),
        ("E16", "A's delete 0/0: 0/0 (created at 4) is gone on s1"),
        ("R29", "DECR readers: s1 stores readers = 0"),
        ("R7", "s1 stores lock = A#1"),
        ("V2", "s1 stores R1: A's lock 1 has EX"),
        ("C32", "s1 has it already, and it changes nothing"),
        ("C32", "s1 does not have M: tA=5us@5us any more"),
        (
            "C36",
            "the tombstone of tA in M of 67.083637s is purged, and s1 has the tA of 66.072024s still: it counts again",
        ),
        ("C38", " tombstones in "),
        ("E5", " gets its disk stuck"),
        ("R19", "s1 answers A: nil"),
        ("R19", "s2 still stores lock = A#1, and B waits behind it"),
        ("R24", "s1 still stores lock = B#4, and A waits behind it"),
        ("H5", "A's record is gone on s1 when B's create session #1 comes"),
        ("C36", "s2 to s1: mutate M[†tA] ts 67.083637s is lost: s1 keeps the tA of 66.072024s"),
        ("C36", "s2 stores M: tA@66.072024s again, upon "),
        ("C18", "S: tA@3us until 4s has expired on s1"),
        ("E9", "s1 is cut off from s2, s3"),
        ("H1", "s1 to A: acquired, generation 1 arrives late"),
        ("E9", "s2 stores 0/0 (created at 2), upon "),
        ("R2", "A to s3: SET lock A#1 NX PX 3999 is lost"),
        ("R2", "A's record was made on 2 of 3 servers (s1, s2)"),
        ("R2", "B's record was made on 2 of 3 servers (s1, s3)"),
        ("R9", "A's clock steps back 5 s"),
        ("R9", "B's record was made on 2 of 3 servers (s1, s3)"),
        ("R10", "s1's clock counts 1 s too much in a tick, and 1 more like it"),
        ("R10", "A's record was made on 2 of 3 servers (s1, s2)"),
        ("C33", "s1 answers C: {tB=16us}"),
        ("C33", "B's add M[tB]=1.000041s at 1.000041s: s1 stores M: tB=1.000041s@1.000041s"),
        ("R15", "A's if no lock or lock = A#1 then SET lock A#1 PX 3999: s1 stores lock = A#1, dies at 11s"),
        ("C12", "A's record is written, on 2 of 3 servers (s1, s3)"),
        ("C12", "s1, s2, s3 do not have M: tA@44.933486s any more"),
        ("C12", "s1 answers C: {tC}, upon "),
        ("C2", "M: tA@5us until 4s and Q: 1us·tA@1us until 4s have expired on s1"),
        ("C10", "A sends add M[tA] ttl 4s to s1"),
        ("C10", "A leaves"),
        ("H2", "s1 ends a session whose lease is over: A's record is gone on s1"),
        ("R15", "B leaves"),
        ("C37", "and s3 has the 122.042273s·tB of 122.042273s still"),
        ("R8", "s2's clock is 9 s ahead"),
        ("R8", "s2 takes over as master"),
        ("E8", "s2 is elected leader, and 50 more like it"),
        ("E18", "s1 answers A: else: 0/0 (created at 2) (revision 2)"),
        (
            "Z1",
            "s1 stores /_locknode_0/lock-0000000005 of session B@1: data 0, version 0, created by 1:5 beside it",
        ),
        ("Z11", "s1 answers B: /_locknode_0/A#1-lock-0000000002, /_locknode_0/B#1-lock-0000000004"),
        ("Z13", "s1 stores /_locknode_0 anew, which was gone"),
        ("F4", "to A s2 answers 73, s4 answers 54, s5 answers 67"),
        ("C22a", "D (keeps the time) loses power"),
        ("C33", "C (who has renewed?) pauses for 1 tick"),
        (
            "C33",
            "C (ends a lease), batch, delete M[tB] at 2.000055s: s1 does not have M: tB=1.000041s@1.000041s any more",
        ),
        ("cassandra-queue:none:12:deadlock-freedom", "B's record lives until 20 s: by s"),
        ("V6", "B's \"has nothing\" answers what s1 has asked since"),
        ("V6", "s1 stores R1: B's lock 1 has EX, and R1: A's lock 1 has nothing, wants EX"),
        ("H6", "A has no answer, and sends s1 nothing more"),
        ("Z4", "A has no answer, and sends s1 nothing more"),
        ("C22a", "add T[tA]=1.000006s at 1.000008s: s1 stores T: tA=1.000006s@1.000008s"),
        ("R24", "B's SET lock B#4 NX: s1 stores lock = B#4"),
        ("R24", "s1 to B: OK arrives after a later one, nil"),
        ("R11", "A's DEL lock: B's record is gone on s1"),
        ("Z13", "B's delete /_locknode_0: /_locknode_0 is gone on s1"),
        ("Z13", "B's create /_locknode_0: s1 stores /_locknode_0 anew, which was gone"),
        ("Z8", "A is granted the lock"),
        ("Z8", "A leaves"),
        ("Z8", "s1 stores watches of session B@2: /_locknode_0"),
        ("etcd-lease-key:all:2:no-herd", "C is granted the lock"),
        ("etcd-lease-key:all:2:no-herd", "s1 answers B: else: 0/0 (created at 4) (revision 4)"),
        ("etcd-mutex:all:804:no-herd", "s1 answers B: 0/C@1 (created at 6) (revision 9)"),
        ("etcd-mutex:all:804:no-herd", "C leaves"),
        ("etcd-mutex:all:368:no-herd", "B's delete 0/B@30: s1 does not have 0/B@30 (created at 20) any more"),
        ("redlock:power-loss:510:fenced-resource", "a write of B is accepted"),
        ("consul-lock:partition:432:fenced-resource", "a write of A is accepted"),
        ("zookeeper-lock:delay:363:fenced-resource", "a write of A is accepted"),
    ] {
        let told = causes(row);
        assert!(told.iter().any(|words| words.contains(of)), "{row}: {told:?}");
        rows.insert(row);
    }
    for row in rows {
        let ((token, why), told) = (token_and_why(row), causes(row));
        let steps: Vec<u64> = why.iter().filter_map(|cause| cause["step"].as_u64()).collect();
        assert!(
            steps.is_sorted() && why.last().is_some_and(|last| last["kind"] == "breaks"),
            "{row}: {why:?}"
        );
        let text = run_text(&format!("replay {token} --width 1000"));
        assert!(told.iter().all(|words| text.contains(words.as_str())), "{row}: {text}");
        let number =
            |line: &str| line.trim_start_matches([' ', '✗']).split([' ', '│']).next()?.parse::<u64>().ok();
        let shown: BTreeSet<u64> = text.lines().filter_map(number).collect();
        assert!(steps.iter().all(|step| shown.contains(step)), "{row}: {steps:?} {text}");
    }
    // Of what is there for nobody, or is no place to ask for, nobody waits behind it.
    for row in ["cassandra-queue:none:12:deadlock-freedom", "cassandra-queue:none:9:deadlock-freedom"] {
        let why = document(&format!("replay {row}"))["why"].to_string();
        assert!(!why.contains("waits behind it"), "{row}: {why}");
    }
    // A long run on three replicas, whose acknowledgements and short pauses are nobody's cause.
    let long = document("replay cassandra-queue:pause:94");
    let count = long["why"].as_array().map(Vec::len);
    assert!(count.is_some_and(|count| (4..=12).contains(&count)), "{}", long["why"]);
    let kept = document("replay redlock:none:0");
    assert_eq!(kept["why"].as_array().map(Vec::len), Some(0), "{kept}");
    // What a chain ends in, in words that say more, is not told again.
    let late = run_text("replay zookeeper-lock:delay:35:fenced-resource");
    assert!(late.contains("after one of A") && !late.contains("broken as well"), "{late}");
    // Some of the answers of A's requests overtook others, and nothing came of any of them: all are only late.
    let late = run_text("replay feedback-lock:pause:11:mutual-exclusion --width 1000");
    assert!(late.contains("B's record is gone") && !late.contains("after a later one"), "{late}");
}

/// Each stood in a chain once, and was not so.
#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn a_chain_of_causes_says_nothing_that_is_not_so() {
    for (row, false_words) in [
        ("E5", "C is granted the lock"),
        ("zookeeper-lock-repaired:loss:42256:mutual-exclusion", "101 other messages"),
        ("transfer:loss:0:conservation", "and so are 5 other messages"),
        ("etcd-lease-key-repaired:delay:1955:deadlock-freedom", "grant a lease of 6s arrives late"),
        ("E17", "from here on nothing happens"),
        ("E5", "arrives after a later one"),
        ("E18", "keep B@1 alive"),
        ("R24", "B#6"),
        ("Z19", "C is granted"),
        ("F4", "is cut off"),
        ("R16", "another message"),
        ("C9", "is gone on s1"),
        ("F1", "SET lock B#1"),
        ("F4", "C's record expired on s1"),
        ("C38", "waits behind it"),
        ("C22a", "A waits behind it"),
        ("V8", "has nothing, and"),
        ("E13", "1 more like it"),
        ("C18", "does not have S: tB"),
        ("E9", "16 more links"),
        ("E9", "A asks x0.compare_and_set(absent, 6)"),
        ("E9", "A is cut off from"),
        ("E9", "is told refused"),
        ("E9", "is lost, and so are"),
        ("R15", "loses power"),
        ("R15", "starts again"),
        ("R1", "was made on"),
        ("C10", "A's delete Q["),
        ("R23", "s1 memory full"),
        ("cassandra-queue:all:2", "by s3's clock it is 20.666 s"),
        ("redis-semaphore-repaired:power-loss:68", "{D#1: C#1"),
        ("E16", "stores lease"),
        ("E17", "stores lease"),
        ("Z8", "s1 answers C: watch"),
        ("Z8", "watches of session A@2"),
        ("R11", "when A's DEL lock comes"),
        ("etcd-mutex:all:368:no-herd", "0/A@21 was deleted at 17"),
        ("etcd-mutex:all:69:no-herd", "created before 17"),
        ("etcd-mutex:all:185", "A sends delete 0/A@1 to s1 again"),
        ("V6", "and so does A's"),
        ("C22c", "s1 stores Q:"),
        ("C22c", "s1 stores M:"),
        ("X3", "A is told done"),
        ("C9", "s1 answers B: applied"),
        ("F2", "is under way"),
        ("etcd-mutex:all:69:no-herd", "arrives after a later one"),
        ("etcd-mutex:pause:68", "arrives after a later one"),
        ("feedback-lock:pause:11", "arrives after a later one"),
        ("zookeeper-lock:delay:363:fenced-resource", "a write of C is accepted"),
        ("redis-single:partition:149:mutual-exclusion", "s1 is cut off from resource"),
        ("zookeeper-lock:partition:72:fenced-resource", "resource is cut off from B"),
        ("R24", "172 times more"),
    ] {
        let told = causes(row);
        assert!(!told.is_empty(), "{row} explains nothing");
        assert!(!told.iter().any(|words| words.contains(false_words)), "{row}: {told:?}");
    }
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn a_run_in_which_nothing_of_its_plan_struck_says_so_and_no_other_does() {
    let is_said =
        |line: &str| run_text(&format!("replay {line}")).contains("no fault of it struck in this run");
    for idle in ["redis-single:pause:7", "redlock:pause:7", "etcd-mutex:pause:1"] {
        let paused = document(&format!("replay {idle}"));
        let events = paused["events"].as_array().unwrap_or_else(|| panic!("{paused}"));
        assert!(events.iter().all(|event| event["what"] != "paused"), "{idle}");
        assert!(is_said(idle), "{idle}");
    }
    for struck in ["redlock:pause:70", "C12", "redis-single:none:0"] {
        assert!(!is_said(struck), "{struck}");
    }
}

fn run_text(line: &str) -> String {
    run(line).stdout
}

#[test]
fn a_plan_that_never_strikes_is_no_pass() {
    let file = folder("unstruck").join("plan.json");
    let pause = r#"{"pause": {"node": "struck", "length": 45000000}}"#;
    let plan = |nth: u16| {
        format!(
            r#"{{"network": {{"latency_min": 200, "latency_max": 2000, "tail_per_mille": 0, "tail_max": 0, "loss_per_mille": 0,
                             "duplicate_per_mille": 0, "reply_loss_per_mille": 0}},
                 "faults": [{{"when": {{"trigger": {{"client": null, "event": "granted", "nth": {nth}, "delay": 0}}}},
                              "fault": {pause}}}],
                 "heal_at": 60000000}}"#
        )
    };
    for (nth, code) in [(60_000, 4), (1, 1)] {
        std::fs::write(&file, plan(nth)).expect("the folder is ours");
        let swept = run(&format!("sweep redis-single --plan {} --seeds 0..50", file.display()));
        assert_eq!(swept.code, code, "{}{}", swept.stdout, swept.stderr);
        assert_eq!(swept.stdout.contains("nothing struck"), code == 4, "{}", swept.stdout);
        let junit = file.with_extension("xml");
        let call = format!("sweep redis-single --plan {} --seeds 0..50", file.display());
        let swept = document(&format!("{call} --junit {}", junit.display()));
        assert_eq!(swept["nothing_struck"], code == 4, "{swept}");
        let junit = std::fs::read_to_string(junit).expect("it is written");
        assert_eq!(junit.contains("nothing of the plan struck in any run"), code == 4, "{junit}");
    }
    std::fs::write(&file, "[]").expect("the folder is ours");
    let refused = run(&format!("sweep redis-single --plan {}", file.display()));
    assert_eq!(refused.code, 2);
    assert!(refused.stderr.contains("is not a fault plan: expected an object, as in"), "{}", refused.stderr);
}

#[test]
fn what_nobody_watched_was_not_put_to_the_test() {
    let swept = document("sweep redlock --faults pause --seeds 70..71");
    let tested = swept["tested"].as_object().unwrap_or_else(|| panic!("{swept}"));
    assert!(tested.contains_key("mutual-exclusion") && !tested.contains_key("release-ends"), "{swept}");
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn a_repair_says_what_it_is_held_to() {
    let row = &super::rows("scenarios R1")[0];
    assert_eq!(
        (&row["breaks"], &row["fix_promises"][0]),
        (&"mutual-exclusion".into(), &"fenced-resource".into())
    );
    let told = run_text("scenarios R1");
    assert!(told.contains("✓ fenced-resource holds") && told.contains("not to mutual-exclusion"), "{told}");
    assert!(run_text("scenarios C1").contains("✓ holds"));
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn a_lock_whose_holder_outstays_its_lease_is_not_said_to_leave_in_time() {
    let of = |line: &str| run_text(line).lines().find(|line| line.starts_with("assumed")).map(str::to_owned);
    let queue = of("check cassandra-queue --drop no-expiry").unwrap_or_default();
    assert!(queue.contains("stops-in-time"), "{queue}");
    // Whose work fits into its lease sees no end of one, and whose does not is a holder too many.
    let fits = run("check cassandra-lwt --drop no-expiry");
    assert_eq!(fits.code, 4, "{}", fits.stdout);
    assert!(fits.stdout.contains("not put to the test: no lease, session or record"), "{}", fits.stdout);
    assert_eq!(run("check cassandra-lwt --drop no-expiry --drop stops-in-time").code, 1);
}

/// What goes round for ever in the one run is not looked for in another, which ends: that is no pass.
#[test]
fn of_another_run_than_one_that_waits_for_ever_no_progress_is_judged() {
    let list = run("replay R18 --instead 1").stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    let unjudged = "whether anybody waits for ever in it is not judged";
    assert!(list.contains(&format!("no step breaks a promise, 17 steps; {unjudged}")), "{list}");
    let one = run("replay R18 --instead 1:1");
    assert_eq!(one.code, 4, "{}", one.stdout);
    assert!(one.stderr.contains(&format!("note: {unjudged}")), "{}", one.stderr);
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn another_step_of_a_run_that_has_none_is_refused_in_one_sentence() {
    for (line, why) in [
        ("C1 --instead 0", "no step 0"),
        ("C1 --instead 4711", "no step 4711"),
        ("C1 --instead 12:99", "could have happened in step 12"),
        ("C1 --instead twelve", "12:2"),
        ("C1 --instead 12 --out run.html", "a list, and no run"),
        ("redlock:pause:70 --instead 3", "drawn by a seed"),
    ] {
        let Ended { code, stdout, stderr } = run(&format!("replay {line}"));
        assert_eq!((code, stderr.lines().count()), (2, 1), "{line}: {stdout}{stderr}");
        assert!(stderr.contains(why), "{line}: {stderr}");
    }
}

#[test]
fn github_hears_of_what_fails_and_reads_a_summary() {
    let summary = folder("github").join("summary.md");
    let sweep = |arguments: &str| {
        let line = format!("sweep redis-single --faults pause --seeds 0..200 --github {arguments}");
        let output = quiet().args(line.split_whitespace()).env("GITHUB_STEP_SUMMARY", &summary).output();
        ended(output.expect("the binary runs"))
    };
    let shown = sweep("");
    let annotation = shown.stdout.lines().find(|line| line.starts_with("::error "));
    let annotation = annotation.unwrap_or_else(|| panic!("no annotation: {}", shown.stdout));
    assert!(
        annotation.starts_with("::error title=sweep%3A redis-single · ")
            && annotation.contains("replay redis-single:pause:")
    );
    assert!(read(&summary).starts_with("### ✗ picklock sweep\n"), "{}", read(&summary));
    // A document stays alone.
    let shown = sweep("--json");
    assert!(serde_json::from_str::<serde_json::Value>(&shown.stdout).is_ok(), "{}", shown.stdout);
    assert!(shown.stderr.starts_with("::error "), "{}", shown.stderr);
    assert_eq!(read(&summary).matches("### ").count(), 2, "one summary after the other");
}

#[test]
fn counts_are_said_where_they_are_asked_for_and_the_verdict_comes_first() {
    let line = "sweep redis-single --faults pause --seeds 0..200 --watch 0";
    let (plain, verbose) = (run(line).stdout, run(&format!("{line} -v")).stdout);
    for text in [&plain, &verbose] {
        assert!(text.lines().nth(1).is_some_and(|line| line.starts_with("✗ ")), "{text}");
    }
    assert!(verbose.contains("situation") && verbose.contains("struck"), "{verbose}");
    assert!(!plain.contains("situation") && plain.lines().count() + 5 < verbose.lines().count(), "{plain}");
}

#[test]
fn colours_are_as_they_are_asked_for() {
    let has_colour = |arguments: &[&str], variable: Option<(&str, &str)>| {
        let mut command = quiet();
        command.args(["sweep", "redis-single", "--faults", "pause", "--seeds", "0..100", "--watch", "0"]);
        command.args(arguments).envs(variable).env_remove("NO_COLOR").env_remove("CLICOLOR_FORCE");
        if let Some((name, value)) = variable {
            command.env(name, value);
        }
        ended(command.output().expect("the binary runs")).stdout.contains("\x1b[")
    };
    assert!(!has_colour(&[], None), "a pipe has none");
    assert!(
        has_colour(&["--color", "always"], None) && has_colour(&["--color=always"], Some(("NO_COLOR", "1")))
    );
    assert!(
        has_colour(&[], Some(("CLICOLOR_FORCE", "1")))
            && !has_colour(&["--color", "never"], Some(("CLICOLOR_FORCE", "1")))
    );
    assert_eq!(run("locks --color sometimes").code, 2);
}

/// What a command prints on a terminal of so many columns; `None` where there is no `script` to make one.
fn on_terminal(line: &str, columns: u16, term: &str) -> Option<String> {
    let shell = format!("stty cols {columns} rows 50; {PICKLOCK} {line}");
    let output = Command::new("script")
        .args(["-qec", &shell, "/dev/null"])
        .env("TERM", term)
        .env("PICKLOCK_CACHE", std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("terminal-cache"))
        .env_remove("NO_COLOR")
        // Where this is set, colours go to a dumb terminal, too: a build server's log shows them.
        .env_remove("CI")
        .env_remove("CLICOLOR_FORCE")
        .stdin(Stdio::null())
        .output();
    match output {
        Ok(output) => Some(String::from_utf8(output.stdout).expect("the output is UTF-8")),
        Err(_) => {
            eprintln!("skipped: there is no script (util-linux) here to make a terminal");
            None
        }
    }
}

/// What is seen of a line: without colours, and without what a progress bar wrote over.
fn seen(line: &str) -> String {
    let line = line.trim_end_matches('\r');
    let line = line.rsplit('\r').next().unwrap_or_default();
    let mut parts = line.split('\x1b');
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        text += part.split_once(|letter: char| letter.is_ascii_alphabetic()).map_or("", |(_, rest)| rest);
    }
    text
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn tables_fit_a_terminal_of_eighty_columns() {
    for line in [
        "hunt C6 C14 --starts 2 --strategy swarm,pct",
        "hunt --general R1 --starts 1 --seeds-max 200",
        "bench --threads 1,128 --hold-ms 10 --seeds 0..2 --seconds 2",
        "ttl --skew 1 --pause 0 --max-states 1000",
        "herd --clients 2,128",
        "diff --help",
        "--help",
        "serve zookeeper --help",
        "overview --seeds 1",
    ] {
        let Some(shown) = on_terminal(line, 80, "xterm") else { return };
        assert!(shown.lines().count() > 3, "{line}: {shown}");
        let wide: Vec<String> = shown.lines().map(seen).filter(|line| line.chars().count() > 80).collect();
        assert!(wide.is_empty(), "{line}: {wide:#?}");
    }
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn tables_fit_a_terminal_of_sixty_columns_or_fold() {
    for line in [
        "scenarios R18 V8",
        "locks",
        "faults",
        "properties",
        "assumptions",
        "widen lease-key --max-states 1000",
        "hunt C6 --starts 2",
        "herd --clients 2,8",
        "matrix --lock redlock --seeds 20",
        "overview --lock redlock,cassandra-queue-repaired --seeds 2",
        "matrix --system objects --fault loss,crash --seeds 5",
        "sweep redlock --faults pause --seeds 0..100 --watch 0",
        "shrink redlock:pause:70",
        "replay R18",
        "replay redlock:pause:70",
        "replay C1 --instead 12",
    ] {
        for columns in [60, 80] {
            let Some(shown) = on_terminal(line, columns, "xterm") else { return };
            assert!(shown.lines().count() > 3, "{line}: {shown}");
            // A call stays in one piece, to be copied; so does a token.
            let is_call = |line: &String| {
                line.contains("picklock replay ")
                    || line.contains("picklock shrink ")
                    || line.starts_with("pk5_")
            };
            let wide = shown.lines().map(seen).filter(|line| line.chars().count() > usize::from(columns));
            let wide: Vec<String> = wide.filter(|line| !is_call(line)).collect();
            assert!(wide.is_empty(), "{line} at {columns} columns: {wide:#?}");
        }
    }
    // What has no room beside the numbers stands below them, and is not lost.
    let Some(shown) = on_terminal("theorems lemma-1 transfer variable --quick", 60, "xterm") else { return };
    let shown: Vec<String> = shown.lines().map(seen).collect();
    assert!(shown.contains(&"    without quorums-meet".to_owned()), "{shown:#?}");
    assert!(shown.iter().any(|line| line.starts_with("  leans on ")), "{shown:#?}");
}

#[test]
fn progress_is_one_line_of_the_terminal() {
    let line = "matrix --lock zookeeper-lock-repaired --fault power-loss --seeds 300";
    for columns in [40, 60, 80, 120] {
        let Some(shown) = on_terminal(line, columns, "xterm") else { return };
        let is_progress = |drawn: &String| drawn.starts_with("  0s ") || drawn.starts_with("  1s ");
        let drawn = shown.split(['\r', '\n']).map(seen).filter(is_progress);
        let drawn: Vec<String> = drawn.collect();
        assert!(!drawn.is_empty(), "{columns}: {shown}");
        let wide = drawn.iter().find(|drawn| drawn.trim_end().chars().count() > usize::from(columns));
        assert_eq!(wide, None, "{columns} columns");
    }
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn no_time_is_guessed_where_one_lock_takes_many_times_as_long_as_another() {
    let line = "overview --lock redis-single,redlock --seeds 200";
    for columns in [60, 120] {
        let Some(shown) = on_terminal(line, columns, "xterm") else { return };
        let drawn = shown.split(['\r', '\n']).map(seen);
        let drawn: Vec<String> = drawn.filter(|drawn| drawn.contains(" of 3,600 runs")).collect();
        assert!(drawn.iter().any(|drawn| drawn.contains(" of 2: ")), "{columns}: {shown}");
        assert!(drawn.iter().all(|drawn| !drawn.contains("to go")), "{columns}: {drawn:?}");
    }
}

#[test]
fn a_dumb_terminal_gets_neither_colours_nor_bars() {
    let line = "sweep redis-single --faults pause --seeds 0..200 --watch 0";
    let (Some(dumb), Some(able)) = (on_terminal(line, 80, "dumb"), on_terminal(line, 80, "xterm")) else {
        return;
    };
    assert!(!dumb.contains('\x1b') && able.contains("\x1b[31m"), "{dumb}");
}

#[test]
fn manual_pages_are_there_for_every_command() {
    let page = run("man sweep");
    assert_eq!(page.code, 0);
    assert!(page.stdout.contains(".TH picklock") && page.stdout.contains("keep"), "{}", page.stdout);
    assert!(run("man").stdout.contains(".TH picklock 1") && page.stdout.contains("sweep"));
    let wrong = run("man swep");
    assert_eq!(wrong.code, 2);
    assert!(wrong.stderr.contains("the nearest name is sweep"), "{}", wrong.stderr);
    let folder = folder("man");
    let written = document(&format!("man --out {}", folder.display()));
    let pages = written.as_array().expect("a list").clone();
    assert!(pages.len() > 20 && pages.contains(&"picklock-matrix.1".into()), "{pages:?}");
    for page in pages {
        let text = read(&folder.join(page.as_str().expect("a name")));
        assert!(text.contains(".SH SYNOPSIS"), "{page}: {text}");
        let name = page.as_str().and_then(|page| page.strip_suffix(".1")).expect("a page of section 1");
        let title = format!(".TH {name} 1 \"\" \"picklock {}\"", env!("CARGO_PKG_VERSION"));
        let titles: Vec<&str> = text.lines().filter(|line| line.starts_with(".TH")).collect();
        assert_eq!(titles, [title.as_str()], "{page}");
    }
}

/// What bash offers behind these words.
fn offered(words: &[&str]) -> Option<Vec<String>> {
    let script = folder("completions").join("picklock.bash");
    let Ended { code, stdout, .. } = picklock(&["completions", "bash"]);
    assert_eq!(code, 0);
    std::fs::write(&script, stdout).expect("it is written");
    let listed = words.iter().map(|word| format!("'{word}'")).collect::<Vec<_>>().join(" ");
    let shell = format!(
        "source {}; COMP_WORDS=({listed}); COMP_CWORD={}; _picklock picklock '{}' '{}'; printf '%s\\n' \"${{COMPREPLY[@]}}\"",
        script.display(),
        words.len() - 1,
        words[words.len() - 1],
        words[words.len() - 2],
    );
    let output = match Command::new("bash").args(["--norc", "-c", &shell]).output() {
        Ok(output) => ended(output),
        Err(_) => {
            eprintln!("skipped: there is no bash here");
            return None;
        }
    };
    Some(output.stdout.lines().map(str::to_owned).collect())
}

#[test]
fn names_of_locks_faults_promises_and_the_like_are_completed() {
    for (words, name) in [
        (["picklock", "sweep", "zookeeper-lock-r"], "zookeeper-lock-repaired"),
        (["picklock", "theorems", "theorem-"], "theorem-3"),
        (["picklock", "scenarios", "Z1"], "Z11"),
        (["picklock", "replay", "C1"], "C1"),
        (["picklock", "scenarios", "R1"], "R18"),
        (["picklock", "scenarios", "C22"], "C22"),
        (["picklock", "hunt", "Z"], "Z19"),
        (["picklock", "widen", "R"], "R18"),
        (["picklock", "widen", "lease-key-f"], "lease-key-fencing"),
        (["picklock", "widen", "cassandra-q"], "cassandra-queue"),
    ] {
        let Some(offered) = offered(&words) else { return };
        assert!(offered.iter().any(|offer| offer == name), "{words:?}: {offered:?}");
    }
    // Nothing is offered that the command would refuse.
    for command in ["hunt", "widen"] {
        let Some(offered) = offered(&["picklock", command, ""]) else { return };
        let names: Vec<&String> = offered.iter().filter(|offer| !offer.starts_with('-')).collect();
        assert!(names.len() > 20 && names.iter().collect::<BTreeSet<_>>().len() == names.len(), "{names:?}");
    }
    let Some(hunted) = offered(&["picklock", "hunt", "C"]) else { return };
    let refused = text_of(&document("hunt C22a")["unhunted"][0]["id"]);
    assert!(hunted.contains(&"C6".to_owned()) && !hunted.contains(&refused), "{refused}: {hunted:?}");
    for (option, word, name) in [
        ("--faults", "pa", "partition"),
        ("--property", "mutual", "mutual-exclusion"),
        ("--strategy", "gu", "guided"),
    ] {
        let Some(offered) = offered(&["picklock", "sweep", "redlock", option, word]) else { return };
        assert!(offered.iter().any(|offer| offer == name), "{option}: {offered:?}");
    }
}
