//! The host's processor for an emulator that counts instructions.
//!
//! In virtual time QEMU's thread for the machine and the one for timers and devices take turns at every timer
//! event. On the same processor such a turn is a context switch; between two it is an IPI, which costs a quarter of
//! the emulator's time where the host is itself a virtual machine.

use std::fs::{self, DirEntry};
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
    /// Moves an emulator to a processor that this tool may use, and that the fewest machines use, also those of other
    /// instances of the tool: beside one of them it could hardly run. The emulator must have begun just now: threads that
    /// it has already do not move. None if the host does not give a processor.
    pub(super) fn assign(emulator: &Child) -> Option<Self> {
        let allowed = sched_getaffinity(Pid::from_raw(0)).ok()?;
        let allowed: Vec<_> = (0..CpuSet::count())
            .filter(|&one| allowed.is_set(one) == Ok(true))
            .collect();
        let mut used = USED.lock();
        // A further instance of this tool may begin with another processor.
        let first = std::process::id() as usize;
        let all = [&used[..], &used_by_others()].concat();
        let chosen = least_used(&allowed, &all, first)?;
        let mut set = CpuSet::new();
        set.set(chosen).ok()?;
        let emulator = Pid::from_raw(emulator.id().cast_signed());
        sched_setaffinity(emulator, &set).ok()?;
        used.push(chosen);
        Some(Self(chosen))
    }
}

/// The processors of the machines that are no children of this process. What cannot be read is left out.
fn used_by_others() -> Vec<usize> {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let processor = |process: DirEntry| {
        let name = fs::read_to_string(process.path().join("comm")).ok()?;
        if !name.starts_with("qemu-system") {
            return None;
        }
        let status = fs::read_to_string(process.path().join("status")).ok()?;
        let field = |name: &str| {
            let mut lines = status.lines();
            let line = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
            line?.trim().parse::<usize>().ok()
        };
        // A list of several is no number.
        field("Cpus_allowed_list").filter(|_| field("PPid") != Some(std::process::id() as usize))
    };
    processes.filter_map(processor).collect()
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
    use std::io::{BufRead, BufReader};
    use std::process::{Command, Stdio};
    use std::thread;
    use std::time::Duration;

    use nix::sys::signal::{Signal, kill};

    use super::*;
    const PAUSE: Duration = Duration::from_millis(10);

    /// A program with an emulator's name, whose parent is another process.
    #[test]
    fn machines_of_other_instances_count() {
        let emulator = "printf qemu-system-none > /proc/$$/comm; while :; do sleep 1; done";
        let mut shell = Command::new("sh")
            .args(["-c", "sh -c \"$0\" & echo $!; wait", emulator])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let mut output = BufReader::new(shell.stdout.take().unwrap());
        output.read_line(&mut line).unwrap();
        let pid = Pid::from_raw(line.trim().parse().unwrap());
        let allowed = sched_getaffinity(pid).unwrap();
        let chosen = (0..CpuSet::count()).find(|&one| allowed.is_set(one) == Ok(true));
        let mut set = CpuSet::new();
        set.set(chosen.unwrap()).unwrap();
        sched_setaffinity(pid, &set).unwrap();
        // It gives itself its name.
        let is_seen = || used_by_others().contains(&chosen.unwrap());
        let seen = (0..500).any(|_| {
            is_seen() || {
                thread::sleep(PAUSE);
                false
            }
        });
        kill(pid, Signal::SIGKILL).unwrap();
        shell.wait().unwrap();
        assert!(seen);
    }

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
