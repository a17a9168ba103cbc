//! The lock manager against its rules: tables, queues, deadlocks, value blocks, sublocks.

mod deadlocks;
mod naive;
mod recovery;
mod sublocks;
mod tables;
mod values;
mod views;
