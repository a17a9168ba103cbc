//! `--jobs`: on how many threads.

use super::BadCall;
use clap::Args;

const JOBS_MAX: usize = 1024;

/// The option.
#[derive(Clone, Debug, Default, Args)]
pub struct Jobs {
    /// On how many threads; as many as there are cores unless given. The results are the same for any number
    #[arg(long, short, value_name = "N")]
    jobs: Option<usize>,
}

impl Jobs {
    /// How many.
    pub fn count(&self) -> Result<usize, BadCall> {
        match self.jobs {
            None => Ok(std::thread::available_parallelism().map_or(1, usize::from)),
            Some(jobs @ 1..=JOBS_MAX) => Ok(jobs),
            Some(jobs) => Err(BadCall(format!("--jobs {jobs}: it takes 1 to {JOBS_MAX} threads"))),
        }
    }

    /// So many threads.
    pub fn pool(&self) -> Result<rayon::ThreadPool, BadCall> {
        let jobs = self.count()?;
        rayon::ThreadPoolBuilder::new()
            .num_threads(jobs)
            .build()
            .map_err(|error| BadCall(format!("--jobs {jobs}: the threads cannot be started: {error}")))
    }
}
