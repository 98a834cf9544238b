//! What the kernel says about a process: CPU time and memory. Linux only, as the bench is.

use std::fs;
use std::time::Duration;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::fault::Fault;

/// CPU time so far, user and system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CpuTime {
    /// Of all threads of the process.
    pub(crate) own: Duration,
    /// Of its children that have ended and been waited for, and of theirs.
    pub(crate) children: Duration,
}

/// CPU time of a process and its children so far.
pub(crate) fn cpu_time(pid: u32) -> Result<CpuTime, Fault> {
    let stat = read(pid, "stat")?;
    // The second field is the program's name in parentheses and may hold spaces; user and system
    // time are the 14th and 15th field of the line, so the 12th and 13th after the name. Those of
    // the children follow.
    let fields = stat.rsplit_once(')').map_or("", |(_, rest)| rest).split_ascii_whitespace();
    let ticks: Vec<u64> = fields.skip(11).take(4).filter_map(|it| it.parse().ok()).collect();
    let per_second = rustix::param::clock_ticks_per_second() as f64;
    let time =
        |ticks: &[u64]| Duration::from_secs_f64(ticks.iter().sum::<u64>() as f64 / per_second);
    let (own, children) = ticks.split_at_checked(2).unwrap_or_default();
    Ok(CpuTime { own: time(own), children: time(children) })
}

/// Memory of a process that is in RAM now, in bytes.
pub(crate) fn resident(pid: u32) -> Result<u64, Fault> {
    memory(pid, "VmRSS:")
}

/// The most memory that a process has had in RAM, in bytes.
pub(crate) fn peak(pid: u32) -> Result<u64, Fault> {
    memory(pid, "VmHWM:")
}

fn memory(pid: u32, member: &str) -> Result<u64, Fault> {
    let status = read(pid, "status")?;
    let line = status.lines().find_map(|line| line.strip_prefix(member));
    let kilobytes = line.and_then(|rest| rest.split_ascii_whitespace().next()?.parse::<u64>().ok());
    kilobytes.map(|it| it * 1024).ok_or(Fault::Closed("its process"))
}

/// Raises the number of open files to what the machine allows; children inherit it.
pub(crate) fn raise_file_limit() -> u64 {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit { current: limit.maximum, maximum: limit.maximum };
    // A refusal leaves the limit as it is; the caller looks at what is in force.
    let _ = setrlimit(Resource::Nofile, raised);
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}

fn read(pid: u32, file: &str) -> Result<String, Fault> {
    let path = format!("/proc/{pid}/{file}");
    fs::read_to_string(&path).map_err(Fault::machine(format!("read {path}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_uses_memory_and_time() {
        let pid = std::process::id();
        assert!(resident(pid).expect("a living process") > 100_000);
        assert!(peak(pid).expect("a living process") > 100_000);
        let before = cpu_time(pid).expect("a living process");
        let mut sum = 0_u64;
        while cpu_time(pid).expect("a living process") == before {
            sum = std::hint::black_box(sum + 1);
        }
    }
}
