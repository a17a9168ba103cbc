//! What picklock claims, tested: one binary, so that it links once.
//!
//! Read in this order:
//!
//! 1. `theorems`: Lemma 1 and Theorems 1 to 3 with all their assumptions, and with each one dropped.
//! 2. `scenarios`: the catalogue. Each known failure is found again, and its repair survives the same search. Some of
//!    the counterexamples are kept to be read, in `golden/`.
//! 3. `cassandra_queue`: what else is true of the Cassandra queue lock, exhaustively and by seeds.
//!    `leases`: how long its TTL must be, what its time service guarantees, and what a lease service saves.
//! 4. `cassandra_shadow`: the same of the old Cassandra lock. `cassandra_lwt`: of one on conditional writes.
//! 5. `redlock`: what else is true of Redlock, exhaustively and by seeds: for how long the keys of a quorum live together,
//!    which faults it gets over, what an extension may do.
//! 6. `redis`: the same of the lock on one Redis instance, with and without a replica.
//! 7. `zookeeper`: the four surprises of the ZooKeeper article, *ZooKeeper, or writing a distributed lock service*, each as a test; that
//!    followers that lag do not break the recipe.
//! 8. `feedback_lock`: the store that the Cassandra paper, *The Cassandra queue lock*, wishes for, and what each precaution of the lock on
//!    it is for.
//!    `lock_managers`: by seeds, what one that takes silence for death gives away.
//! 9. `bench`: what the Cassandra paper claims of its benchmark, on the benchmark's numbers.
//! 10. `several_locks`: several locks in one store do not get into each other's way. `broken_locks`: locks with a mistake in them
//!     are caught, and those without are not accused.
//! 11. `pictures`: a browser draws the page of a failure and steps through it. `others`: what else could have happened in a step.
//! 12. `hosted`: the machines on tokio under turmoil come to the verdicts of the seeded engine, row by row of the catalogue.
//! 13. `determinism`: the same token is the same run, in any thread, with any number of them, from any form it was kept in.
//! 14. `tokens`: runs that once broke a promise, and others, kept as tokens in `tokens/`, each with its story.
//! 15. `shrinking`: what random plans find is made small, about as small as what the exhaustive search finds; and so is a case of
//!     proptest. `own_shrunk`: runs of somebody's own locks, whose causes take long to show.
//! 16. `guard_example`: to copy from. An application works under a guard while hosts crash and links break, under turmoil.
//! 17. `contradictions`: what the exhaustive engine calls kept, no random run breaks, over every lock, fault and promise.
//!     `known_runs`: what the matrix knows of breaks still. `planned`: what it knows of by plans that nobody draws. `counts`: as many of 1,000 runs as the book says.
//!     `hunts`: how many seeds it takes to find a row without a script.
//! 18. `monitors`: what one promise tells apart that others do not, and that correct locks are accused of nothing.
//!     `registered`: what is true of every lock's tokens and verdicts.
//! 19. `testing`: what a test of one's own lock says when it passes, and when it does not.
//! 20. `docs`: what the README and the book in `docs/` link to is there, what they name is all of it, and the catalogue's chapter is
//!     the catalogue. `assumptions`: its tables of assumptions say what the claims say.
//!
//! `evidence` and `seeds` hold what those have in common: what a failing test prints, and which seeds are run. Every trace that
//! is replayed, every counterexample of the exhaustive search among them, is held against `truth`: it happened as it is told.
//!
//! The explorer and the canonical form have tests of their own, in `model/tests`.
//!
//! Tests of more than some 0.8 s are ignored, but for a few; `cargo test -- --include-ignored` runs them, too.
//!
//! | variable | what it does |
//! |---|---|
//! | `PICKLOCK_SEED=n` | seeded tests run seed n and no other |
//! | `PICKLOCK_SEEDS=N` | seeded tests run the seeds 0 to N-1 |
//! | `PICKLOCK_LONG=1` | what is cut short to be affordable goes through larger spaces and more seeds |
//! | `PICKLOCK_UPDATE_GOLDEN=1` | writes `golden/*`, what stands below the tokens in `tokens/*`, `docs/src/catalogue.md`, the tables of locks and the runs that the matrix knows again instead of comparing |

mod assumptions;
mod bench;
mod broken_locks;
mod cassandra_lwt;
mod cassandra_queue;
mod cassandra_shadow;
mod contradictions;
mod counts;
mod determinism;
mod docs;
mod evidence;
mod feedback_lock;
mod guard_example;
mod hosted;
mod hunts;
mod known_runs;
mod leases;
mod lock_managers;
mod monitors;
mod others;
mod own_shrunk;
mod pictures;
mod planned;
mod redis;
mod redlock;
mod registered;
mod scenarios;
mod seeds;
mod several_locks;
mod shrinking;
mod testing;
mod theorems;
mod tokens;
mod truth;
mod widened;
mod zookeeper;
