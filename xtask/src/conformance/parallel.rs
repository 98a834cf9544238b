//! Jobs side by side. Nineteen parts of twenty of a run of the suite are waiting, so some of them at
//! a time take little longer than one.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// How many jobs are done at a time.
const LANES: usize = 5;

/// Does all jobs, whichever is next in whichever lane is free. The results are in the jobs' order.
pub(super) fn side_by_side<J: Sync, R: Send>(jobs: &[J], work: impl Fn(&J) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::with_capacity(jobs.len()));
    thread::scope(|scope| {
        for _ in 0..LANES {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(job) = jobs.get(index) else { return };
                    let result = work(job);
                    done.lock().expect("no lane panics with the lock").push((index, result));
                }
            });
        }
    });
    let mut done = done.into_inner().expect("no lane panics with the lock");
    done.sort_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Barrier;

    #[test]
    fn all_lanes_at_a_time_and_in_order() {
        let all = Barrier::new(LANES);
        let jobs: Vec<usize> = (0..2 * LANES).rev().collect();
        let done = side_by_side(&jobs, |job| {
            all.wait();
            job * 10
        });
        let expected: Vec<usize> = jobs.iter().map(|job| job * 10).collect();
        assert_eq!(done, expected);
        assert_eq!(side_by_side(&[(); 0], |()| ()), []);
    }
}
