//! What the kernel knows of processes: who is alive, what they hold open, how much memory they
//! use. Processes are found by a mark in their environment, which their children inherit.

use std::fs;

use rustix::process::{Pid, Signal, kill_process};
use tokio::time::{Duration, Instant, sleep};

/// How long a state may take to come about.
const TIMEOUT: Duration = Duration::from_secs(30);

/// The living processes that carry a mark in their environment, whoever their parent is.
pub fn marked(mark: &str) -> Vec<u32> {
    all().filter(|id| carries(*id, mark)).collect()
}

/// The living processes that carry a mark and lead a group: one for each running tool.
pub fn leaders(mark: &str) -> Vec<u32> {
    marked(mark).into_iter().filter(|id| field(*id, 2) == Some(u64::from(*id))).collect()
}

/// The children of a process that have ended and were not waited for.
pub fn zombies(parent: u32) -> Vec<u32> {
    let is_zombie = |id: &u32| state(*id) == Some('Z') && field(*id, 1) == Some(parent.into());
    all().filter(is_zombie).collect()
}

/// The living children of a process with this word in their command line.
pub fn children(parent: u32, word: &str) -> Vec<u32> {
    let is_child = |id: &u32| field(*id, 1) == Some(parent.into());
    let has_word = |id: &u32| {
        let line = fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
        line.split(|byte| *byte == 0).any(|it| it == word.as_bytes())
    };
    all().filter(is_child).filter(has_word).collect()
}

/// Whether a process has a file open whose path holds these words.
pub fn holds(id: u32, words: &str) -> bool {
    let open = fs::read_dir(format!("/proc/{id}/fd")).into_iter().flatten().flatten();
    let mut files = open.filter_map(|entry| fs::read_link(entry.path()).ok());
    files.any(|file| file.to_string_lossy().contains(words))
}

/// How many descriptors a process has open.
pub fn descriptors(id: u32) -> usize {
    fs::read_dir(format!("/proc/{id}/fd")).map_or(0, Iterator::count)
}

/// A line of a process's status in kilobytes: `VmRSS` for its memory, `VmHWM` for the most it had.
pub fn memory(id: u32, line: &str) -> u64 {
    let status = fs::read_to_string(format!("/proc/{id}/status")).expect("the process is alive");
    let found = status.lines().find_map(|it| it.strip_prefix(line)?.strip_prefix(':'));
    let number = found.and_then(|it| it.split_whitespace().next()?.parse().ok());
    number.unwrap_or_else(|| panic!("the status of a process has the line {line}"))
}

/// Kills every process that carries a mark, until none is left.
pub fn end(mark: &str) {
    loop {
        let left = marked(mark);
        if left.is_empty() {
            return;
        }
        for id in left {
            signal(id, Signal::KILL);
        }
    }
}

/// Sends a signal. A process that has ended does not hear it.
pub fn signal(id: u32, signal: Signal) {
    if let Some(id) = i32::try_from(id).ok().and_then(Pid::from_raw) {
        let _ = kill_process(id, signal);
    }
}

/// Waits for a state that nobody announces, and says what it was if it does not come.
pub async fn until(what: &str, reached: impl Fn() -> bool) {
    let start = Instant::now();
    while !reached() {
        assert!(start.elapsed() < TIMEOUT, "{what} did not come within {TIMEOUT:?}");
        // Only the pause between two looks; nothing depends on its length.
        sleep(Duration::from_millis(5)).await;
    }
}

/// Waits until no process carries the mark.
pub async fn until_none(mark: &str) {
    until("the end of every process of the tools", || marked(mark).is_empty()).await;
}

fn all() -> impl Iterator<Item = u32> {
    let entries = fs::read_dir("/proc").expect("there is a /proc").flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// A process that has ended but was not waited for has no environment any more.
fn carries(id: u32, mark: &str) -> bool {
    let environment = fs::read(format!("/proc/{id}/environ")).unwrap_or_default();
    environment.windows(mark.len()).any(|window| window == mark.as_bytes())
}

fn state(id: u32) -> Option<char> {
    stat(id)?.chars().next()
}

/// A number of `/proc/ID/stat`, counted from the state of the process.
fn field(id: u32, index: usize) -> Option<u64> {
    stat(id)?.split(' ').nth(index)?.parse().ok()
}

/// `/proc/ID/stat` after the name, which may hold anything.
fn stat(id: u32) -> Option<String> {
    let text = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    text.rsplit_once(") ").map(|(_, rest)| rest.to_owned())
}
