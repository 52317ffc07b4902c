//! The host's processor for an emulator that counts instructions.
//!
//! In virtual time QEMU's thread for the machine and the one for timers and devices take turns at every timer
//! event. On the same processor such a turn is a context switch; between two it is an IPI, which costs a quarter of
//! the emulator's time where the host is itself a virtual machine.

use std::process::Child;

use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;
use parking_lot::Mutex;

/// The processors of the machines that run now.
static USED: Mutex<Vec<usize>> = Mutex::new(Vec::new());

/// A processor that a machine uses until this is dropped.
#[derive(Debug)]
pub(crate) struct Processor(usize);

impl Processor {
    /// Moves an emulator to a processor that this tool may use, and that the fewest machines of this tool use. The
    /// emulator must have begun just now: threads that it has already do not move. None if the host does not give one.
    pub(super) fn assign(emulator: &Child) -> Option<Self> {
        let allowed = sched_getaffinity(Pid::from_raw(0)).ok()?;
        let allowed: Vec<_> = (0..CpuSet::count())
            .filter(|&one| allowed.is_set(one) == Ok(true))
            .collect();
        let mut used = USED.lock();
        // A further instance of this tool may begin with another processor.
        let first = std::process::id() as usize;
        let chosen = least_used(&allowed, &used, first)?;
        let mut set = CpuSet::new();
        set.set(chosen).ok()?;
        let emulator = Pid::from_raw(emulator.id().cast_signed());
        sched_setaffinity(emulator, &set).ok()?;
        used.push(chosen);
        Some(Self(chosen))
    }
}

/// The processor that occurs least often in `used`; of equals, the first from index `first` on, cyclically.
fn least_used(allowed: &[usize], used: &[usize], first: usize) -> Option<usize> {
    let mut allowed = allowed.to_vec();
    let middle = first.checked_rem(allowed.len())?;
    allowed.rotate_left(middle);
    let uses = |one: &usize| used.iter().filter(|other| *other == one).count();
    allowed.into_iter().min_by_key(uses)
}

impl Drop for Processor {
    fn drop(&mut self) {
        let mut used = USED.lock();
        if let Some(place) = used.iter().position(|one| *one == self.0) {
            used.swap_remove(place);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn machines_spread_over_the_processors_that_the_tool_may_use() {
        assert_eq!(least_used(&[2, 3], &[], 4), Some(2));
        assert_eq!(least_used(&[2, 3], &[], 5), Some(3));
        assert_eq!(least_used(&[2, 3], &[2], 4), Some(3));
        assert_eq!(least_used(&[2, 3], &[2, 3, 3], 5), Some(2));
        assert_eq!(least_used(&[], &[], 4), None);
    }

    #[test]
    fn a_processor_is_free_again_when_its_machine_has_ended() {
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let pid = Pid::from_raw(child.id().cast_signed());
        let processor = Processor::assign(&child).unwrap();
        let set = sched_getaffinity(pid).unwrap();
        let chosen = processor.0;
        for one in 0..CpuSet::count() {
            assert_eq!(set.is_set(one), Ok(one == chosen));
        }
        let uses = || USED.lock().iter().filter(|one| **one == chosen).count();
        let before = uses();
        drop(processor);
        assert_eq!(uses(), before - 1);
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
