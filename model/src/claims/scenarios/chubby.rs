//! The rows of Chubby, and of Consul, whose sessions and locks follow it.

mod hunts;

use super::{Scenario, Search};
use crate::claims::chubby::{TTL, chubby_leases, consul_lock, drop_from_chubby, drop_from_consul};
use crate::claims::{Assumption, Judgement, NamedSpace};
use crate::explore::Space;
use crate::locks::ChubbyLock;
use crate::locks::chubby_lock::{Fence, Settings};
use crate::stores::chubby::session::{Count, Unanswered};
use crate::stores::chubby::{FailOver, Load};
use crate::time::Micros;
use crate::workload::{Calls, Writes};
use crate::world::{Aim, TICK};
use picklock_properties::Promise;

/// The rows, in the order of the catalogue.
pub(super) fn scenarios() -> Vec<Scenario> {
    vec![h1(), h2(), h3(), h4(), h5(), h6()]
}

fn h1() -> Scenario {
    let space = |count| {
        let mut space = chubby_leases(2, Calls::Lock, &[Promise::MutualExclusion]);
        drop_from_chubby(&mut space, Assumption::NoLoss);
        drop_from_chubby(&mut space, Assumption::NoPause);
        space.bounds.aim = Aim::Asking;
        space.setup.workload.rounds = 1;
        space.setup.workload.hold = Micros(2 * TICK.0);
        space.setup.lock.session.count = count;
        safety("chubby-lock", &space)
    };
    Scenario {
        id: "H1",
        story: "a client that has paused counts its lease from when it reads the answer: the master's lease is over by then, another session \
                has been given the lock, and the client takes its old answer for a grant",
        breaks: Promise::MutualExclusion,
        search: space(Count::FromReply),
        fix: "count from the sending, and a margin for clocks that drift apart; the master says for how long it has held the KeepAlive",
        fix_search: space(Count::FromSending),
        note: "the client pauses while it waits for the lock, never while it holds. There is no lock-delay here: one that is longer than an \
               answer takes hides the mistake. The paper says that the local lease is conservative, and not how: a KeepAlive is held for \
               most of a lease, so that counting from its sending alone would leave next to nothing",
        hunt: Some(hunts::h1()),
        ..CHUBBY
    }
}

fn h2() -> Scenario {
    let space = |resource_checks| {
        let mut space = chubby_leases(2, Calls::Lock, &[Promise::FencedResource]);
        drop_from_chubby(&mut space, Assumption::NoPause);
        space.bounds.aim = Aim::Holding;
        space.bounds.pause_ticks = 8;
        space.setup.lock.lock_delay = Micros(3 * TICK.0);
        space.setup.workload.rounds = 1;
        space.setup.workload.hold = TICK;
        space.setup.workload.writes = Writes::Resource;
        space.setup.workload.resource_checks = resource_checks;
        safety("chubby-lock", &space)
    };
    Scenario {
        id: "H2",
        story: "the holder pauses until its session and the lock-delay are over; its write carries a sequencer at which nobody looks",
        breaks: Promise::FencedResource,
        search: space(false),
        fix: "the resource looks at the sequencer",
        fix_search: space(true),
        hunt: Some(hunts::h2()),
        ..CHUBBY
    }
}

fn h3() -> Scenario {
    let space = |fence| {
        let mut space = chubby_leases(2, Calls::Lock, &[Promise::FencedResource]);
        drop_from_chubby(&mut space, Assumption::NoPause);
        space.setup.lock.lock_delay = TICK;
        space.setup.lock.fence = fence;
        space.setup.workload.rounds = 1;
        space.setup.workload.hold = TICK;
        space.setup.workload.writes = Writes::Resource;
        space.setup.workload.resource_checks = fence == Fence::Sequencer;
        safety("chubby-lock", &space)
    };
    Scenario {
        id: "H3",
        story: "the lock-delay is shorter than a holder pauses, or its write is under way, and the resource knows of no sequencers: the \
                write arrives after the next holder's",
        breaks: Promise::FencedResource,
        search: space(Fence::None),
        fix: "a sequencer",
        fix_search: space(Fence::Sequencer),
        note: "a lock-delay that is longer than the pause is as good, and only as long as it is",
        hunt: Some(hunts::h3()),
        ..CHUBBY
    }
}

fn h4() -> Scenario {
    let space = |reads_with_token| {
        let mut space = chubby_leases(2, Calls::Lock, &[Promise::LostUpdate]);
        drop_from_chubby(&mut space, Assumption::NoPause);
        space.bounds.aim = Aim::Holding;
        space.setup.workload.rounds = 1;
        space.setup.workload.hold = TICK;
        space.setup.workload.writes = Writes::ReadModifyWrite { reads_with_token };
        space.setup.workload.resource_checks = true;
        safety("chubby-lock", &space)
    };
    Scenario {
        id: "H4",
        story: "a server without a session looks for the newest sequencer that it has seen. The new holder has read, and not shown its \
                own: the old holder's write is accepted, and then the new one's, which knows nothing of it",
        breaks: Promise::LostUpdate,
        search: space(false),
        fix: "the new holder shows its sequencer when it reads (or the server has a session, and asks the cell)",
        fix_search: space(true),
        note: "what it does not break is the order of the writes at the resource: the old holder's comes before any of its successor's. \
               That promise (fenced-resource) is kept in the same space",
        hunt: Some(hunts::h4()),
        ..CHUBBY
    }
}

fn h5() -> Scenario {
    let space = |fail_over| {
        let mut space = chubby_leases(2, Calls::Lock, &[Promise::MutualExclusion]);
        drop_from_chubby(&mut space, Assumption::NoFailOver);
        space.setup.store.fail_over = fail_over;
        space.setup.store.load = Some(Load { one_in: 2, lease: Micros(5 * TICK.0) });
        space.setup.workload.rounds = 1;
        space.setup.workload.hold = Micros(5 * TICK.0);
        safety("chubby-lock", &space)
    };
    Scenario {
        id: "H5",
        story: "the old master was overloaded, and gave a long lease; the new one gives the usual one, and ends the session while its client \
                counts on the long one",
        breaks: Promise::MutualExclusion,
        search: space(FailOver::Usual),
        fix: "each lease is extended to the longest that the old master may have given",
        fix_search: space(FailOver::Longest),
        note: "the holder is safe by its own clock, and has no reason to look for another master. There is no lock-delay here: one that is \
               longer than the difference hides the mistake",
        hunt: Some(hunts::h5()),
        ..CHUBBY
    }
}

fn h6() -> Scenario {
    let space = |unanswered| {
        let mut space = consul_lock(2, Calls::Lock, &[Promise::MutualExclusion], Settings::consul());
        drop_from_consul(&mut space, Assumption::NoFailOver);
        space.setup.workload.hold = Micros(4 * TTL.0);
        space.setup.lock.session.unanswered = unanswered;
        safety("consul-lock", &space)
    };
    Scenario {
        id: "H6",
        story: "a renewal fails while the leader changes, and the renewer ends: the session is over two TTLs later, and the lock is \
                given away before its holder is told",
        breaks: Promise::MutualExclusion,
        search: space(Unanswered::GivenUpAfter(TICK)),
        fix: "go on within the TTL (hashicorp/consul#912)",
        fix_search: space(Unanswered::WithinTtl(TICK)),
        note: "what every election costs is the lock, not its promise: with a lock-delay the holder, who watches its key, is told before \
               anybody else has it. The lock-delay is 15 s by default, and none here",
        hunt: Some(hunts::h6()),
        ..CHUBBY
    }
}

/// What the rows above have in common; the searches are placeholders that every row replaces.
const CHUBBY: Scenario = Scenario {
    id: "",
    system: "chubby",
    story: "",
    breaks: Promise::MutualExclusion,
    search: Search::NOWHERE,
    fix: "",
    fix_search: Search::NOWHERE,
    note: "",
    hunt: None,
};

fn safety(lock: &'static str, space: &Space<ChubbyLock>) -> Search {
    Search::Space { space: NamedSpace::new(lock, space), judgement: Judgement::Safety }
}
