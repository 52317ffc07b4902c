//! Guarantees of the locks, in all orders in which cores can run: mutual exclusion, no core waits for
//! ever, and first come, first served.

use std::sync::{Arc, Mutex};

use locks_loom::atomics::WHEN_WAITING;
use locks_loom::{broken, explore, sync};
use loom::cell::UnsafeCell;
use loom::thread;

/// Tests of one kind of lock, on one set of atomics.
macro_rules! promises {
    ($sync:path) => {
        use $sync::{CoreToken, Guarded, Lock};

        /// Each core increments the value `rounds` times; all increments are visible at the end.
        pub fn one_at_a_time<L: Lock + 'static>(lock: fn() -> L, cores: usize, rounds: usize) {
            super::explore(move || {
                let shared = super::Arc::new(Guarded::new(lock(), 0));
                let work = |core: usize, shared: super::Arc<Guarded<usize, L>>| {
                    move || {
                        // SAFETY: one for each thread, which represents a core.
                        let mut core = unsafe { CoreToken::new(core) };
                        for _ in 0..rounds {
                            shared.with(&mut core, |value| *value += 1);
                        }
                    }
                };
                let others: Vec<_> = (1..cores)
                    .map(|core| super::thread::spawn(work(core, shared.clone())))
                    .collect();
                work(0, shared.clone())();
                for other in others {
                    other.join().unwrap();
                }
                // SAFETY: the token of core 0 no longer exists.
                let mut core = unsafe { CoreToken::new(0) };
                assert_eq!(shared.with(&mut core, |value| *value), cores * rounds);
            });
        }
    };
}

mod sound {
    promises!(locks_loom::sync);
}

mod without_release {
    promises!(locks_loom::broken::without_release);
}

mod without_acquire {
    promises!(locks_loom::broken::without_acquire);
}

mod torn {
    promises!(locks_loom::broken::torn);
}

mod mute {
    promises!(locks_loom::broken::mute);
}

/// For one kind of lock: its guarantees, and that each negative control fails.
macro_rules! tests_of {
    ($name:ident, $lock:ident) => {
        mod $name {
            use super::{broken, sync};

            #[test]
            fn two_cores_take_turns() {
                super::sound::one_at_a_time(sync::$lock::<2>::new, 2, 2);
            }

            #[test]
            fn three_cores_take_turns() {
                super::sound::one_at_a_time(sync::$lock::<3>::new, 3, 1);
            }

            #[test]
            fn the_lock_is_granted_in_fifo_order() {
                super::first_come_first_served(sync::$lock::<3>::new);
            }

            #[test]
            #[should_panic]
            fn a_lock_that_does_not_release_is_caught() {
                let lock = broken::without_release::$lock::<2>::new;
                super::without_release::one_at_a_time(lock, 2, 1);
            }

            #[test]
            #[should_panic]
            fn a_lock_that_does_not_acquire_is_caught() {
                let lock = broken::without_acquire::$lock::<2>::new;
                super::without_acquire::one_at_a_time(lock, 2, 1);
            }

            #[test]
            #[should_panic]
            fn a_lock_that_is_torn_is_caught() {
                super::torn::one_at_a_time(broken::torn::$lock::<2>::new, 2, 1);
            }

            #[test]
            #[should_panic]
            fn a_lock_that_wakes_no_core_is_caught() {
                super::mute::one_at_a_time(broken::mute::$lock::<2>::new, 2, 1);
            }
        }
    };
}

tests_of!(ticket, Ticket);
tests_of!(mcs, Mcs);
tests_of!(clh, Clh);

/// One core has the lock, another waits for it, then a third one arrives: they get it in that order.
fn first_come_first_served<L: sync::Lock + 'static>(lock: fn() -> L) {
    /// Acquires the lock and returns how many acquisitions there were.
    fn turn<L: sync::Lock>(core: usize, shared: &(L, UnsafeCell<usize>)) -> usize {
        // SAFETY: each thread is a core, and does not hold the lock.
        unsafe { shared.0.acquire(core) };
        // SAFETY: this core holds the lock.
        let turn = shared.1.with_mut(|turns| unsafe {
            *turns += 1;
            *turns
        });
        // SAFETY: acquired above.
        unsafe { shared.0.release(core) };
        turn
    }
    explore(move || {
        let shared = Arc::new((lock(), UnsafeCell::new(0)));
        // SAFETY: core 0 is this thread, and no core holds the lock.
        unsafe { shared.0.acquire(0) };
        let theirs = shared.clone();
        let first = thread::spawn(move || {
            let (third, waiting) = (theirs.clone(), Arc::new(Mutex::new(None)));
            let place = waiting.clone();
            WHEN_WAITING.with(|event| {
                *event.borrow_mut() = Some(Box::new(move || {
                    let second = thread::spawn(move || turn(2, &third));
                    *place.lock().unwrap() = Some(second);
                }));
            });
            let turn = turn(1, &theirs);
            let second = waiting.lock().unwrap().take();
            (turn, second.map(|second| second.join().unwrap()))
        });
        // SAFETY: acquired above.
        unsafe { shared.0.release(0) };
        let (first, second) = first.join().unwrap();
        // If no core had to wait, the third one did not start.
        assert!(first == 1 && second.is_none_or(|second| second == 2));
    });
}
