//! Several pieces of work at a time, with their outcomes in the order of the work.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Does each piece of work, of which some run beside each other.
pub(super) fn run<T: Sync, R: Send>(work: &[T], perform: impl Fn(usize, &T) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let perform_some = || {
        let mut done = Vec::new();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(piece) = work.get(index) else { return done };
            done.push((index, perform(index, piece)));
        }
    };
    let mut done: Vec<_> = thread::scope(|scope| {
        let workers: Vec<_> = (0..WORKERS).map(|_| scope.spawn(perform_some)).collect();
        workers.into_iter().flat_map(|worker| worker.join().expect("work does not panic")).collect()
    });
    done.sort_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, outcome)| outcome).collect()
}

/// Most of the work is the start of interpreters, which wait for the disk and for each other now and then.
const WORKERS: usize = 3;

#[cfg(test)]
mod tests {
    #[test]
    fn outcomes_are_in_the_order_of_the_work() {
        let work: Vec<_> = (0..100).collect();
        let done = super::run(&work, |index, piece| (index, piece * 2));
        assert_eq!(done, (0..100).map(|piece| (piece, piece * 2)).collect::<Vec<_>>());
    }
}
