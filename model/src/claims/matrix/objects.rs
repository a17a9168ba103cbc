//! The objects over compare-and-set, each of its own setup, and judged by its own promises.
//!
//! One cause breaks most of what is broken: a request that was done is repeated, because its answer was lost or is late, and is told no.
//! An answer is lost with a message, behind a cut link, or with a server that loses power; it is late after a pause or on a slow
//! network; and of a request that arrives twice, the second answer may come first.

use super::{Cell, broken, kept};
use picklock_properties::Promise;

const VARIABLE: &str = "cas-variable";
const VARIABLE_MARKED: &str = "cas-variable-marked";
const ETCD: &str = "etcd-variable";
const ETCD_MOD: &str = "etcd-variable-mod";
const TRANSFER: &str = "transfer";
const TRANSFER_LOGGED: &str = "transfer-logged";
const NAIVE_QUEUE: &str = "naive-queue";
const NAIVE_WAITING: &str = "naive-queue-waiting";
const REDIS: &str = "redis-variable";
const REDIS_MARKED: &str = "redis-variable-marked";
const ZOOKEEPER: &str = "zookeeper-variable";
const CASSANDRA: &str = "cassandra-variable";
const QUEUE: &str = "lock-free-queue";
const QUEUE_MARKED: &str = "lock-free-queue-marked";
const NAIVE_HANDLER: &str = "naive-handler";
const HANDLER: &str = "handler";
const NAIVE_STREAM: &str = "naive-stream";
const STREAM: &str = "stream";

const TOLD_NO: &str = "a request that was done is repeated and told no (row X1)";
const AGAIN: &str = "a version comes again with a variable that is made again (row X7)";
const TWICE: &str = "an item that was written is written again, at the next position (row X2)";
const SKIPPED: &str =
    "an index that was taken is taken again, and readers wait for ever at the first position (rows X1, X4)";
const HOLE: &str = "an index is taken, and its item is not there yet, or never will be (row X5)";
const LOST: &str = "what was answered was not on the disk (row R4)";
const STALLED: &str = "a pusher takes an index and dies before it writes its item (row X4)";
const BETWEEN: &str = "a client dies between the two halves of a transfer (row X3)";
const BOTH: &str = "a half that was done is done again, or a client dies between two (rows X1, X3)";
const AT_ONCE: &str = "two handlers run at once (row X8)";
const AT_ONCE_OR_DIES: &str =
    "two handlers run at once, or one dies between what it does and what it saves (rows X6, X8)";

const SKIPPED_ONE: &str =
    "an index that was taken is taken again, and nobody ever writes to the position between (row X1)";
const COUNTED_TWICE: &str =
    "a count that was made is made again, or a late write takes back a later one (row X1)";
const DIES: &str = "a handler dies between what it does and what it saves (row X6)";

const OWN_MARK: &str = "each client finds its own last change again (row X1)";
const OWN_ITEM: &str = "who is told no looks whose item is there (row X2)";
const INTENT: &str = "marks tell what of a transfer was done, and its intent is written down (rows X1, X3)";
const ITEM_FIRST: &str = "the item is written first, and the index is a hint (rows X4, X5)";
const REVISION: &str = "a revision never comes again (row X7)";
const ONE_DECIDES: &str =
    "one compare-and-set decides, before the effects, what the next number is (rows X6, X8)";

/// What is known.
pub(super) const CELLS: &[Cell] = &{
    use Promise::*;
    [
        broken(VARIABLE, "pause", Linearizable, TOLD_NO),
        broken(VARIABLE, "delay", Linearizable, TOLD_NO),
        broken(VARIABLE, "loss", Linearizable, TOLD_NO),
        broken(VARIABLE, "duplicate", Linearizable, TOLD_NO),
        broken(VARIABLE, "partition", Linearizable, TOLD_NO),
        broken(VARIABLE, "power-loss", Linearizable, TOLD_NO),
        broken(VARIABLE, "all", Linearizable, TOLD_NO),
        kept(VARIABLE_MARKED, "loss", Linearizable, OWN_MARK),
        kept(VARIABLE_MARKED, "duplicate", Linearizable, OWN_MARK),
        kept(VARIABLE_MARKED, "crash", Linearizable, OWN_MARK),
        broken(ETCD, "none", Linearizable, AGAIN),
        broken(ETCD, "pause", Linearizable, TOLD_NO),
        broken(ETCD, "clock", Linearizable, AGAIN),
        broken(ETCD, "delay", Linearizable, TOLD_NO),
        broken(ETCD, "loss", Linearizable, TOLD_NO),
        broken(ETCD, "duplicate", Linearizable, TOLD_NO),
        broken(ETCD, "partition", Linearizable, TOLD_NO),
        broken(ETCD, "crash", Linearizable, AGAIN),
        broken(ETCD, "power-loss", Linearizable, TOLD_NO),
        broken(ETCD, "all", Linearizable, TOLD_NO),
        kept(ETCD_MOD, "none", Linearizable, REVISION),
        broken(ETCD_MOD, "pause", Linearizable, TOLD_NO),
        broken(ETCD_MOD, "delay", Linearizable, TOLD_NO),
        broken(ETCD_MOD, "loss", Linearizable, TOLD_NO),
        broken(ETCD_MOD, "duplicate", Linearizable, TOLD_NO),
        broken(ETCD_MOD, "partition", Linearizable, TOLD_NO),
        broken(ETCD_MOD, "power-loss", Linearizable, TOLD_NO),
        broken(ETCD_MOD, "all", Linearizable, TOLD_NO),
        broken(REDIS, "pause", Linearizable, TOLD_NO),
        broken(REDIS, "delay", Linearizable, TOLD_NO),
        broken(REDIS, "loss", Linearizable, TOLD_NO),
        broken(REDIS, "duplicate", Linearizable, TOLD_NO),
        broken(REDIS, "partition", Linearizable, TOLD_NO),
        broken(REDIS, "crash", Linearizable, LOST),
        broken(REDIS, "power-loss", Linearizable, LOST),
        broken(REDIS, "all", Linearizable, TOLD_NO),
        broken(ZOOKEEPER, "pause", Linearizable, TOLD_NO),
        broken(ZOOKEEPER, "delay", Linearizable, TOLD_NO),
        broken(ZOOKEEPER, "loss", Linearizable, TOLD_NO),
        broken(ZOOKEEPER, "partition", Linearizable, TOLD_NO),
        broken(ZOOKEEPER, "power-loss", Linearizable, TOLD_NO),
        broken(ZOOKEEPER, "all", Linearizable, TOLD_NO),
        broken(CASSANDRA, "pause", Linearizable, TOLD_NO),
        broken(CASSANDRA, "delay", Linearizable, TOLD_NO),
        broken(CASSANDRA, "loss", Linearizable, TOLD_NO),
        broken(CASSANDRA, "duplicate", Linearizable, TOLD_NO),
        broken(CASSANDRA, "partition", Linearizable, TOLD_NO),
        broken(CASSANDRA, "power-loss", Linearizable, TOLD_NO),
        broken(CASSANDRA, "all", Linearizable, TOLD_NO),
        kept(REDIS_MARKED, "loss", Linearizable, OWN_MARK),
        broken(TRANSFER, "pause", Conservation, TOLD_NO),
        broken(TRANSFER, "delay", Conservation, TOLD_NO),
        broken(TRANSFER, "loss", Conservation, TOLD_NO),
        broken(TRANSFER, "duplicate", Conservation, TOLD_NO),
        broken(TRANSFER, "partition", Conservation, TOLD_NO),
        broken(TRANSFER, "crash", Conservation, BETWEEN),
        broken(TRANSFER, "power-loss", Conservation, BOTH),
        broken(TRANSFER, "all", Conservation, BOTH),
        kept(TRANSFER_LOGGED, "loss", Conservation, INTENT),
        kept(TRANSFER_LOGGED, "crash", Conservation, INTENT),
        kept(TRANSFER_LOGGED, "duplicate", Conservation, INTENT),
        broken(NAIVE_QUEUE, "none", NoHole, HOLE),
        broken(NAIVE_QUEUE, "pause", NoHole, HOLE),
        broken(NAIVE_QUEUE, "clock", NoHole, HOLE),
        broken(NAIVE_QUEUE, "delay", NoHole, HOLE),
        broken(NAIVE_QUEUE, "loss", NoHole, HOLE),
        broken(NAIVE_QUEUE, "duplicate", NoHole, HOLE),
        broken(NAIVE_QUEUE, "partition", NoHole, HOLE),
        broken(NAIVE_QUEUE, "crash", NoHole, HOLE),
        broken(NAIVE_QUEUE, "power-loss", NoHole, HOLE),
        broken(NAIVE_QUEUE, "all", NoHole, HOLE),
        broken(NAIVE_QUEUE, "none", Linearizable, HOLE),
        broken(NAIVE_QUEUE, "pause", Linearizable, HOLE),
        broken(NAIVE_QUEUE, "clock", Linearizable, HOLE),
        broken(NAIVE_QUEUE, "delay", Linearizable, HOLE),
        broken(NAIVE_QUEUE, "loss", Linearizable, HOLE),
        broken(NAIVE_QUEUE, "duplicate", Linearizable, HOLE),
        broken(NAIVE_QUEUE, "partition", Linearizable, HOLE),
        broken(NAIVE_QUEUE, "crash", Linearizable, HOLE),
        broken(NAIVE_QUEUE, "power-loss", Linearizable, HOLE),
        broken(NAIVE_QUEUE, "all", Linearizable, HOLE),
        broken(NAIVE_WAITING, "pause", Linearizable, SKIPPED_ONE),
        broken(NAIVE_WAITING, "delay", Linearizable, SKIPPED_ONE),
        broken(NAIVE_WAITING, "loss", Linearizable, SKIPPED_ONE),
        broken(NAIVE_WAITING, "duplicate", Linearizable, SKIPPED_ONE),
        broken(NAIVE_WAITING, "partition", Linearizable, SKIPPED_ONE),
        broken(NAIVE_WAITING, "power-loss", Linearizable, SKIPPED_ONE),
        broken(NAIVE_WAITING, "crash", Linearizable, SKIPPED_ONE),
        broken(NAIVE_WAITING, "all", Linearizable, SKIPPED_ONE),
        broken(NAIVE_WAITING, "pause", DeadlockFreedom, SKIPPED),
        broken(NAIVE_WAITING, "delay", DeadlockFreedom, SKIPPED),
        broken(NAIVE_WAITING, "loss", DeadlockFreedom, SKIPPED),
        broken(NAIVE_WAITING, "duplicate", DeadlockFreedom, SKIPPED),
        broken(NAIVE_WAITING, "partition", DeadlockFreedom, SKIPPED),
        broken(NAIVE_WAITING, "crash", DeadlockFreedom, STALLED),
        broken(NAIVE_WAITING, "power-loss", DeadlockFreedom, SKIPPED),
        broken(NAIVE_WAITING, "all", DeadlockFreedom, SKIPPED),
        broken(QUEUE, "pause", Linearizable, TWICE),
        broken(QUEUE, "delay", Linearizable, TWICE),
        broken(QUEUE, "loss", Linearizable, TWICE),
        broken(QUEUE, "duplicate", Linearizable, TWICE),
        broken(QUEUE, "partition", Linearizable, TWICE),
        broken(QUEUE, "power-loss", Linearizable, TWICE),
        broken(QUEUE, "all", Linearizable, TWICE),
        kept(QUEUE, "none", Linearizable, ITEM_FIRST),
        broken(QUEUE, "pause", NoDuplicate, TWICE),
        broken(QUEUE, "delay", NoDuplicate, TWICE),
        broken(QUEUE, "loss", NoDuplicate, TWICE),
        broken(QUEUE, "crash", NoDuplicate, TWICE),
        broken(QUEUE, "duplicate", NoDuplicate, TWICE),
        broken(QUEUE, "partition", NoDuplicate, TWICE),
        broken(QUEUE, "power-loss", NoDuplicate, TWICE),
        broken(QUEUE, "all", NoDuplicate, TWICE),
        kept(QUEUE, "crash", NoHole, ITEM_FIRST),
        kept(QUEUE, "crash", DeadlockFreedom, ITEM_FIRST),
        kept(QUEUE_MARKED, "loss", Linearizable, OWN_ITEM),
        kept(QUEUE_MARKED, "crash", Linearizable, ITEM_FIRST),
        kept(QUEUE_MARKED, "duplicate", Linearizable, OWN_ITEM),
        kept(QUEUE_MARKED, "duplicate", NoDuplicate, OWN_ITEM),
        kept(QUEUE_MARKED, "loss", NoDuplicate, OWN_ITEM),
        kept(QUEUE_MARKED, "crash", NoHole, ITEM_FIRST),
        kept(QUEUE_MARKED, "crash", DeadlockFreedom, ITEM_FIRST),
        broken(NAIVE_HANDLER, "none", ExactlyOnce, AT_ONCE),
        broken(NAIVE_HANDLER, "pause", ExactlyOnce, AT_ONCE),
        broken(NAIVE_HANDLER, "clock", ExactlyOnce, AT_ONCE),
        broken(NAIVE_HANDLER, "delay", ExactlyOnce, AT_ONCE),
        broken(NAIVE_HANDLER, "loss", ExactlyOnce, AT_ONCE),
        broken(NAIVE_HANDLER, "duplicate", ExactlyOnce, AT_ONCE),
        broken(NAIVE_HANDLER, "partition", ExactlyOnce, AT_ONCE),
        broken(NAIVE_HANDLER, "crash", ExactlyOnce, AT_ONCE_OR_DIES),
        broken(NAIVE_HANDLER, "power-loss", ExactlyOnce, AT_ONCE_OR_DIES),
        broken(NAIVE_HANDLER, "all", ExactlyOnce, AT_ONCE_OR_DIES),
        kept(HANDLER, "none", ExactlyOnce, ONE_DECIDES),
        kept(HANDLER, "crash", ExactlyOnce, ONE_DECIDES),
        kept(HANDLER, "loss", ExactlyOnce, ONE_DECIDES),
        kept(HANDLER, "duplicate", ExactlyOnce, ONE_DECIDES),
        broken(NAIVE_STREAM, "pause", ExactlyOnce, COUNTED_TWICE),
        broken(NAIVE_STREAM, "delay", ExactlyOnce, COUNTED_TWICE),
        broken(NAIVE_STREAM, "loss", ExactlyOnce, COUNTED_TWICE),
        broken(NAIVE_STREAM, "duplicate", ExactlyOnce, COUNTED_TWICE),
        broken(NAIVE_STREAM, "partition", ExactlyOnce, COUNTED_TWICE),
        broken(NAIVE_STREAM, "crash", ExactlyOnce, DIES),
        broken(NAIVE_STREAM, "power-loss", ExactlyOnce, COUNTED_TWICE),
        broken(NAIVE_STREAM, "all", ExactlyOnce, DIES),
        kept(STREAM, "none", ExactlyOnce, ONE_DECIDES),
        kept(STREAM, "crash", ExactlyOnce, ONE_DECIDES),
    ]
};
