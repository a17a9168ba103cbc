//! Runs that once broke a promise, as tokens. Each must break it still, for as long as the lock is what it was then.
//!
//! A token stays when the search that found it changes: it says what happens, not how it was found. When the format of
//! tokens changes, find the run again by its story.

use crate::evidence::{breaks, evidence, replay};
use picklock_properties::Promise;
use picklock_sim::report::TextOptions;
use picklock_sim::token::Token;

/// The promise, and the token of the run that breaks it.
const FOUND: &[(Promise, &str)] = &[
    // Seed 38 of 0..600 under `loss`, 3 clients, TTL 10 s. A adds its record at 0.3 s; the replies to its line 4 are lost
    // three times, so that it is granted the lock at 9.3 s. The listing's renewer begins with the grant and first wakes
    // N/2 later, at 14.3 s; the record is over at 10 s, and B enters at 12.3 s. Nobody paused, and no clock was wrong.
    (
        Promise::MutualExclusion,
        "pk4_FRHviZ9jDjxwKRLfxTNAVSc7J7suGzZzfwi8R6yYzdsNENsAGgtBn5pa4SExkCwwJzX8M1MqSevgLvbHbybi2LPgewZwVeextCVSiDyv7XPSgnKJn",
    ),
    // Seed 141 of 0..2000 under `pause`, likewise. It is a server that pauses, s2 for 26 s: A's record is of 11.7 s, its
    // line 4 times out at its coordinator until 19.7 s, and the record that the grant rests on expires at 21 s, while the
    // renewer sleeps until 24.7 s. B enters at 22.0 s.
    (
        Promise::MutualExclusion,
        "pk4_26eDi6QuXMEdtkJRpwmNQtY1xnZMfjb6dYtUXjPNcDPjJi3WPvF2vZzGxvAQd3hjUiQsyRJaxpEPvewYLHNpC4tb82TrPXTCZeyiYUxJCKnoQVP2wkW",
    ),
    // Seed 163 of 0..300 under `clock`, likewise. The clock of s3 is 4.6 s ahead, less than half the TTL. A record that A
    // wrote through s1 is valid until 22 s; for C, whose coordinator is s3, that is over at 17.4 s, just before A's next
    // renewal is due by A's own clock. A TTL above the skew (row C15) is not enough: it must be so in what renewal leaves.
    (
        Promise::MutualExclusion,
        "pk4_26eDi6QuXMEdtkJRpwmNQtY1xnZMfjb6dYtUXjPNcDPjJi3WPvF2vZzGxvAQd3hjUiQsyRJaxpEPvewYLHNpC4tb82TrPXTCZeyiYUxJCWKpzRwUnW2",
    ),
    // Row C2, found exhaustively, with the own-id check that the catalogue names as its repair: the reply that names A's
    // record alone was on its way before A paused past the TTL.
    (
        Promise::MutualExclusion,
        "pk4_38iFMx1ps3JZeHnPaHD3JbCFv2yWn6Pbr6veeoNT2Mem8yHj9kFr86WmQVr2w4iuGgSWhfYju6BGLkpxZEigbVFKA6qFsUrjrV8ivDaP5YtcDK9tJcgmfbuNycbuLAWV3kBrtga1wfhvZW965ZWpXrEnGLUkzBmVswtP",
    ),
    // The old lock with the repair of row C18, a second look after line 4's pause; seeds 0..20000 under `pause`, shrunk to one
    // pause of s1 for 8 s. The deletion that gives the lock back times out, and is taken for done. On its next call the thread
    // finds its own cell, which was never deleted, and is granted the lock on it; then the deletion arrives, removes the
    // cell under the holder, and the other thread enters. The second look sees the same cell and cannot know.
    (
        Promise::MutualExclusion,
        "pk4_7BNhbAr53HVT9x2kems4Z2irWt2SumWXRQEkunKqbxprM3eJs3Abp5wUMBuhnMfhrCbteNwMR5sRoFr6wFjeJAVrbqj6dwHAjyETyRFEc1RiGcPJCfEkzJ7MnU9f3kqMNBNwhxDGutJSqQ2imz",
    ),
    // The queue lock with the repair of row C9, which leaves the queue first, under `delay`; 7 of 20000 seeds with holds of 5 ms.
    // The reply to A's line 1, that the main row is empty, is under way for as long as B's whole grant and hold. It comes when B
    // is leaving, and so A finds the lock free; line 4 still finds B's cell in the queue, whose deletion is under way, and
    // A is refused. Since the lock was free nobody was granted it.
    (
        Promise::Theorem3,
        "pk4_jvnYroiYhcFQnaWRcRJvU4kBnzWkydLK9GeEbHrzox9hx7YQrAtTsYok3xefFjkcj6dsmooumcwLRXbfFTthVRXHog2ErDBTxC9ThLcb8goBXu",
    ),
];

#[test]
fn what_was_found_once_is_found_again() {
    for (promise, token) in FOUND {
        let token: Token = token.parse().unwrap_or_else(|error| panic!("{token}: {error}"));
        let replay = replay(&token, &TextOptions::default());
        assert!(breaks(&replay, *promise), "{promise} is kept\n{}", evidence(*promise, &token));
    }
}
