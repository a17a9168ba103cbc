//! How much memory a search may take, so that it stops with what it has found out before the machine stops it.

use super::interrupt;
use clap::Args;
use std::convert::Infallible;
use std::fs;
use std::hint::black_box;
use std::str::FromStr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The option, for commands that search.
#[derive(Debug, Args)]
pub struct MaxMemory {
    /// Gives up when the process takes so much memory, such as 500M or 8G; that is no pass [default: three quarters of what is free]
    #[arg(long, value_name = "SIZE")]
    max_memory: Option<Size>,
}

/// A size in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Size(u64);

impl FromStr for Size {
    type Err = String;

    fn from_str(text: &str) -> Result<Size, String> {
        let wrong = || format!("{text}: a size is a whole number with M or G behind it, such as 500M or 8G");
        let (number, unit) = match text.strip_suffix(['M', 'm']) {
            Some(number) => (number, 1 << 20),
            None => (text.strip_suffix(['G', 'g']).ok_or_else(wrong)?, 1 << 30),
        };
        let number: u64 = number.parse().map_err(|_| wrong())?;
        number.checked_mul(unit).filter(|bytes| *bytes > 0).map(Size).ok_or_else(wrong)
    }
}

/// Asks the kernel for pages of its usual size, from now on; mimalloc asks for huge ones. Of a huge one a server that stores little
/// uses little, and when it forgets what it stored no huge page that anything is left on goes back: redis-server asks for the same.
/// A search takes 2% to 10% less of its own time in huge ones, and in a virtual machine waits longer than that until they are
/// cleared: all theorems took 306 s in huge pages, 62 s of it in the kernel, and 225 s in small ones. Where the kernel has no such
/// thing nothing changes.
pub fn in_small_pages() {
    #[cfg(target_os = "linux")]
    let _ = nix::sys::prctl::set_thp_disable(true);
}

/// How often memory that is free goes back to the machine. mimalloc keeps it for a second.
const GIVE_BACK_PERIOD: Duration = Duration::from_secs(1);

/// In bytes. More than mimalloc cuts out of a page that it shares (`MI_LARGE_MAX_OBJ_SIZE`).
const OF_ITS_OWN_PAGE: usize = 1 << 20;

/// Never ends. What mimalloc has that is free goes back to the machine when a page is given up after that, and not before:
/// a server that has forgotten a million keys and is asked nothing more would keep all of it. So a page is given up, time and
/// again. Nobody writes to it, so it costs no memory.
pub async fn give_back() -> Infallible {
    loop {
        tokio::time::sleep(GIVE_BACK_PERIOD).await;
        drop(black_box(Vec::<u8>::with_capacity(black_box(OF_ITS_OWN_PAGE))));
    }
}

/// Why a search was given up that took too much.
pub const REACHED: &str = "the limit of memory was reached (--max-memory sets another)";

/// Watches over the memory of this process, and over ^C.
pub struct Watch {
    /// Of which more is too much; `None`: nobody can say how much it takes.
    bytes_max: Option<u64>,
    is_too_much: AtomicBool,
    stop: AtomicBool,
}

impl MaxMemory {
    /// From now on. The pages of what is searched are small.
    pub fn watch(&self) -> Watch {
        in_small_pages();
        let free = || Some(kilobytes("/proc/meminfo", "MemAvailable:")? * 1024 / 4 * 3);
        let bytes_max = self.max_memory.map(|size| size.0).or_else(free);
        Watch { bytes_max, is_too_much: AtomicBool::new(false), stop: AtomicBool::new(false) }
    }
}

impl Watch {
    /// The flag that the search watches.
    pub fn stop(&self) -> &AtomicBool {
        let _ = interrupt::flag();
        &self.stop
    }

    /// To be asked now and then.
    pub fn look(&self) {
        let taken = || kilobytes("/proc/self/status", "VmRSS:").map(|kilobytes| kilobytes * 1024);
        if self.bytes_max.is_some_and(|max| taken().is_some_and(|taken| taken > max)) {
            self.is_too_much.store(true, Ordering::Relaxed);
        }
        if self.is_too_much() || interrupt::happened() {
            self.stop.store(true, Ordering::Relaxed);
        }
    }

    /// Whether that was the reason to stop. A search that comes later begins with nothing.
    pub fn is_too_much(&self) -> bool {
        self.is_too_much.load(Ordering::Relaxed)
    }

    /// The next search is another one.
    pub fn begin_anew(&self) {
        self.is_too_much.store(false, Ordering::Relaxed);
        self.stop.store(interrupt::happened(), Ordering::Relaxed);
    }
}

/// What the kernel says in a line of such a file.
fn kilobytes(file: &str, name: &str) -> Option<u64> {
    let text = fs::read_to_string(file).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_has_a_unit_and_is_not_nothing() {
        assert_eq!("500M".parse(), Ok(Size(500 << 20)));
        assert_eq!("8g".parse(), Ok(Size(8 << 30)));
        for wrong in ["", "8", "G", "0G", "-1G", "1.5G", "99999999999999G", "8GB", "8 G"] {
            assert!(wrong.parse::<Size>().is_err_and(|said| said.contains("500M or 8G")), "{wrong}");
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn more_memory_than_allowed_stops_a_search_and_the_next_one_begins_anew() {
        let watch = MaxMemory { max_memory: Some(Size(1)) }.watch();
        watch.look();
        assert!(watch.is_too_much() && watch.stop().load(Ordering::Relaxed));
        watch.begin_anew();
        assert!(!watch.is_too_much() && !watch.stop().load(Ordering::Relaxed));
        let roomy = MaxMemory { max_memory: None }.watch();
        roomy.look();
        assert!(roomy.bytes_max.is_some_and(|max| max > 1 << 20) && !roomy.is_too_much());
    }
}
