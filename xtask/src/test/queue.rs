//! The runs of one call and their order: builders take from it what they can build at once.

use std::collections::VecDeque;

use parking_lot::{Condvar, Mutex};

/// Work that may not be done at the same time as other work with the same key: builds for one target share a folder.
#[derive(Debug)]
pub(super) struct Queue<'a, T> {
    state: Mutex<State<'a, T>>,
    freed: Condvar,
}

#[derive(Debug)]
struct State<'a, T> {
    left: VecDeque<(&'a str, T)>,
    busy: Vec<&'a str>,
}

impl<'a, T> Queue<'a, T> {
    /// A queue of items with their keys.
    pub(super) fn new(items: impl IntoIterator<Item = (&'a str, T)>) -> Self {
        Self {
            state: Mutex::new(State {
                left: items.into_iter().collect(),
                busy: Vec::new(),
            }),
            freed: Condvar::new(),
        }
    }

    /// Performs `work` on the first item whose key is free. Waits while there are only others; returns `None` when
    /// nothing is left.
    pub(super) fn next<R>(&self, work: impl FnOnce(&T) -> R) -> Option<(T, R)> {
        let mut state = self.state.lock();
        let (key, item) = loop {
            if state.left.is_empty() {
                return None;
            }
            let is_free = |(key, _): &(&str, T)| !state.busy.contains(key);
            let place = state.left.iter().position(is_free);
            if let Some(found) = place.and_then(|place| state.left.remove(place)) {
                break found;
            }
            self.freed.wait(&mut state);
        };
        state.busy.push(key);
        drop(state);
        let _busy = Busy { queue: self, key };
        let result = work(&item);
        Some((item, result))
    }
}

/// The time during which a key is busy, which ends also when the work panics.
struct Busy<'q, 'a, T> {
    queue: &'q Queue<'a, T>,
    key: &'a str,
}

impl<T> Drop for Busy<'_, '_, T> {
    fn drop(&mut self) {
        let mut state = self.queue.state.lock();
        state.busy.retain(|key| *key != self.key);
        self.queue.freed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::thread;

    use super::*;

    #[test]
    fn an_item_waits_for_another_of_its_key_and_for_no_other() {
        let queue = &Queue::new([("arm", 1), ("arm", 2), ("x86", 3)]);
        let (begun, begins) = mpsc::channel();
        let (end, ends) = mpsc::channel::<()>();
        thread::scope(|scope| {
            scope.spawn(move || {
                queue.next(|_| {
                    begun.send(()).unwrap();
                    ends.recv().unwrap();
                })
            });
            begins.recv().unwrap();
            assert_eq!(queue.next(|_| ()), Some((3, ())));
            end.send(()).unwrap();
            assert_eq!(queue.next(|_| ()), Some((2, ())));
            assert_eq!(queue.next(|_| ()), None);
        });
    }
}
