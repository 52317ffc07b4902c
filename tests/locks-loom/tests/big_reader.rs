//! Guarantees of the entry lock, in all orders in which cores can run: in shared mode a core can use
//! what it owns, in exclusive mode a core can use everything, and no core waits for ever.

use std::sync::Arc;

use locks_loom::{atomics::spin_loop, explore};
use loom::cell::UnsafeCell;
use loom::thread;

/// Tests on one set of atomics.
macro_rules! promises {
    ($name:ident, $sync:path) => {
        #[allow(dead_code, reason = "not every negative control fails in every test")]
        mod $name {
            use super::{Arc, UnsafeCell, explore, spin_loop, thread};
            use $sync::{BigReaderLock, Mailbox};

            /// An entry lock of two or three cores, and a cell that each core owns.
            struct Machine<const CORES: usize> {
                lock: BigReaderLock<CORES>,
                belongings: [UnsafeCell<usize>; CORES],
                requests: [Mailbox<usize>; CORES],
            }

            // SAFETY: the subject of the tests; loom checks the accesses to the cells.
            unsafe impl<const CORES: usize> Sync for Machine<CORES> {}

            impl<const CORES: usize> Machine<CORES> {
                fn new() -> Arc<Self> {
                    Arc::new(Self {
                        lock: BigReaderLock::new(),
                        belongings: core::array::from_fn(|_| UnsafeCell::new(0)),
                        requests: core::array::from_fn(|_| Mailbox::new()),
                    })
                }

                fn use_own(&self, core: usize) {
                    // SAFETY: the subject of the tests.
                    self.belongings[core].with_mut(|value| unsafe { *value += 1 });
                }

                fn handle_requests(&self, core: usize) {
                    // SAFETY: the mailbox belongs to this core.
                    unsafe {
                        self.requests[core].handle(|more| {
                            self.belongings[core].with_mut(|value| *value += more);
                        });
                    }
                }

                fn enter(&self, core: usize) {
                    if !self.lock.try_lock_shared(core) {
                        self.lock.lock_shared(core, || {
                            self.handle_requests(core);
                            spin_loop();
                        });
                    }
                }

                /// A core-local kernel entry.
                fn work(&self, core: usize) {
                    self.enter(core);
                    self.use_own(core);
                    self.lock.unlock_shared(core);
                }

                /// A kernel entry in exclusive mode.
                fn work_on_all(&self, core: usize) {
                    self.enter_exclusively(core);
                    for other in 0..CORES {
                        self.use_own(other);
                    }
                    self.lock.unlock_exclusive(core);
                }

                fn enter_exclusively(&self, core: usize) {
                    self.lock.lock_exclusive(core, || {
                        self.handle_requests(core);
                        spin_loop();
                    });
                }
            }

            pub fn shared_and_exclusive<const CORES: usize>() {
                explore(|| {
                    let machine = Machine::<CORES>::new();
                    let others: Vec<_> = (1..CORES)
                        .map(|core| {
                            let machine = machine.clone();
                            thread::spawn(move || machine.work(core))
                        })
                        .collect();
                    machine.work_on_all(0);
                    for other in others {
                        other.join().unwrap();
                    }
                });
            }

            pub fn two_want_exclusive_mode() {
                explore(|| {
                    let machine = Machine::<2>::new();
                    let other = machine.clone();
                    let other = thread::spawn(move || other.work_on_all(1));
                    // It finds out in shared mode that it needs exclusive mode.
                    machine.enter(0);
                    machine.use_own(0);
                    machine.work_on_all(0);
                    other.join().unwrap();
                    // SAFETY: no other core is left.
                    machine.belongings[0].with_mut(|value| unsafe { assert_eq!(*value, 3) });
                });
            }

            /// A core in exclusive mode makes a remote call; the other core gets an IPI for it.
            pub fn remote_calls_are_handled() {
                explore(|| {
                    let machine = Machine::<2>::new();
                    let exclusive = machine.clone();
                    let exclusive = thread::spawn(move || {
                        exclusive.enter_exclusively(1);
                        // SAFETY: only the core in exclusive mode makes remote calls.
                        unsafe { exclusive.requests[0].call(7, spin_loop) };
                        exclusive.use_own(0);
                        exclusive.lock.unlock_exclusive(1);
                    });
                    // The IPI arrives when the other core is in exclusive mode.
                    let mut seen = 0;
                    while seen < 7 {
                        machine.enter(0);
                        // SAFETY: this core is in shared mode.
                        seen = machine.belongings[0].with(|value| unsafe { *value });
                        machine.lock.unlock_shared(0);
                        spin_loop();
                    }
                    exclusive.join().unwrap();
                });
            }
        }
    };
}

promises!(sound, locks_loom::sync);
promises!(without_fence, locks_loom::broken::without_fence);
promises!(without_release, locks_loom::broken::without_release);
promises!(without_acquire, locks_loom::broken::without_acquire);
promises!(mute, locks_loom::broken::mute);

#[test]
fn exclusive_mode_excludes_the_other_core() {
    sound::shared_and_exclusive::<2>();
}

#[test]
fn exclusive_mode_excludes_three_cores() {
    sound::shared_and_exclusive::<3>();
}

#[test]
fn two_want_exclusive_mode() {
    sound::two_want_exclusive_mode();
}

#[test]
fn remote_calls_are_handled() {
    sound::remote_calls_are_handled();
}

#[test]
#[should_panic]
fn an_entry_lock_without_barriers_is_caught() {
    without_fence::shared_and_exclusive::<2>();
}

#[test]
#[should_panic]
fn an_entry_lock_that_does_not_release_is_caught() {
    without_release::shared_and_exclusive::<2>();
}

#[test]
#[should_panic]
fn an_entry_lock_that_does_not_acquire_is_caught() {
    without_acquire::shared_and_exclusive::<2>();
}

#[test]
#[should_panic]
fn a_core_that_sends_no_ipi_is_caught() {
    mute::two_want_exclusive_mode();
}

#[test]
#[should_panic]
fn work_that_is_not_released_is_caught() {
    without_release::remote_calls_are_handled();
}
