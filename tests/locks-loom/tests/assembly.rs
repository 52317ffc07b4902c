//! The entry and the exit of fast paths in assembly, as a model of their steps, beside the entry lock itself: a
//! core that enters by assembly excludes a core in exclusive mode, and sees what that core has modified.
//!
//! The model has one step for each memory access and barrier of `fastpath/entry.s` (x86-64) and
//! `fastpath/require.s` (Arm), with the ordering that the instruction guarantees: `xchg` and `dmb ish` are
//! fences; the flag is read by a load that later loads do not overtake, by the architecture (x86-64), by `ldarb`
//! (AArch64) or by `dmb ish` (AArch32); all other accesses are relaxed.

use std::sync::Arc;

use locks_loom::atomics::spin_loop;
use locks_loom::explore;
use locks_loom::sync::{BigReaderLock, SHARED, UNLOCKED};
use loom::cell::UnsafeCell;
use loom::sync::atomic::{AtomicBool, AtomicUsize, Ordering, fence};
use loom::thread;

/// A deviation from the assembly, which must be noticed: the negative controls.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mistake {
    None,
    /// There is no barrier between the announcement and the look at the flag.
    NoBarrier,
    /// The mark may be read before the flag.
    EarlyMark,
    /// The exit does not publish what was written.
    NoRelease,
}

/// Core 0 enters by assembly, core 1 in exclusive mode.
struct Machine {
    lock: BigReaderLock<2>,
    /// What core 0 owns.
    belongings: UnsafeCell<usize>,
    /// The mark that core 0 was remotely modified.
    remotely_modified: AtomicBool,
    mistake: Mistake,
}

// SAFETY: the subject of the tests; loom checks the accesses to the cell.
unsafe impl Sync for Machine {}

impl Machine {
    /// The word in which core 0 announces its state.
    fn state(&self) -> &AtomicUsize {
        // SAFETY: under loom, the word is one of loom's.
        unsafe { &*self.lock.state_address(0).cast() }
    }

    /// The flag that a core is in exclusive mode.
    fn exclusive(&self) -> &AtomicBool {
        // SAFETY: under loom, the byte is one of loom's.
        unsafe { &*self.lock.exclusive_flag().cast() }
    }

    /// Enters by assembly. If not, the core is in the same state as after the announcement: it is for the slow
    /// path to withdraw it.
    fn enter_by_assembly(&self) -> bool {
        self.state().store(SHARED, Ordering::Relaxed);
        if self.mistake != Mistake::NoBarrier {
            fence(Ordering::SeqCst);
        }
        let mark = || self.remotely_modified.load(Ordering::Relaxed);
        let early = (self.mistake == Mistake::EarlyMark).then(mark);
        let exclusive = self.exclusive().load(Ordering::Acquire);
        !(exclusive | early.unwrap_or_else(mark))
    }

    fn exit_by_assembly(&self) {
        self.state().store(
            UNLOCKED,
            if self.mistake == Mistake::NoRelease {
                Ordering::Relaxed
            } else {
                Ordering::Release
            },
        );
    }

    /// Adds to what core 0 owns. Returns what it was.
    fn add(&self, more: usize) -> usize {
        self.belongings.with_mut(|value| {
            // SAFETY: the subject of the tests.
            let value = unsafe { &mut *value };
            *value += more;
            *value - more
        })
    }

    /// A kernel entry of core 0, which knows what it owns unless it is told of a remote modification.
    fn enter(&self, known: &mut usize) {
        if self.enter_by_assembly() {
            assert_eq!(self.add(1), *known, "there was a remote modification");
            self.exit_by_assembly();
        } else {
            if !self.lock.try_lock_shared(0) {
                self.lock.lock_shared(0, spin_loop);
            }
            let found = self.add(1);
            if self.remotely_modified.load(Ordering::Relaxed) {
                self.remotely_modified.store(false, Ordering::Relaxed);
                *known = found;
            }
            assert_eq!(found, *known, "there was a remote modification");
            self.lock.unlock_shared(0);
        }
        *known += 1;
    }

    /// A remote access of core 1.
    fn access(&self) {
        self.lock.lock_exclusive(1, spin_loop);
        self.add(10);
        self.remotely_modified.store(true, Ordering::Relaxed);
        self.lock.unlock_exclusive(1);
    }
}

fn entries_and_a_remote_access(mistake: Mistake) {
    explore(move || {
        let machine = Arc::new(Machine {
            lock: BigReaderLock::new(),
            belongings: UnsafeCell::new(0),
            remotely_modified: AtomicBool::new(false),
            mistake,
        });
        let other = machine.clone();
        let other = thread::spawn(move || other.access());
        let mut known = 0;
        machine.enter(&mut known);
        machine.enter(&mut known);
        other.join().unwrap();
        machine.enter(&mut known);
        assert_eq!(known, 13);
    });
}

#[test]
fn assembly_enters_as_the_lock_does() {
    entries_and_a_remote_access(Mistake::None);
}

#[test]
#[should_panic]
fn an_entry_without_a_barrier_is_caught() {
    entries_and_a_remote_access(Mistake::NoBarrier);
}

#[test]
#[should_panic = "there was a remote modification"]
fn an_entry_that_reads_the_mark_before_the_flag_is_caught() {
    entries_and_a_remote_access(Mistake::EarlyMark);
}

#[test]
#[should_panic]
fn an_exit_that_does_not_release_is_caught() {
    entries_and_a_remote_access(Mistake::NoRelease);
}
