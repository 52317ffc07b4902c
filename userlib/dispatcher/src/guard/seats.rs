//! What the guard knows of its clients.

use schedulers::{Client, TaskId};
use userlib::Microseconds;
use userlib::cap::{Notification, SchedContext, Tcb};

use super::{Mailbox, NotServed, Words};

/// What a client does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// Nothing: it sleeps, or waits for budget.
    Away,
    /// It computes when its core has no higher-priority client.
    Computes,
    /// It waits for the server's answer.
    Waits,
}

/// A client.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seat {
    pub thread: Tcb,
    pub context: SchedContext,
    /// Bound to the thread: ends its wait.
    pub wake: Notification,
    pub answer: &'static Mailbox,
    /// The number of its core in its cluster.
    pub core: usize,
    pub priority: u8,
    pub phase: Phase,
    pub request: Words,
    /// What the request has used of its budget, except since the kernel was asked last.
    pub drained: Microseconds,
    /// Whether the context is bound to neither the thread nor the server.
    pub is_apart: bool,
}

impl Seat {
    /// The client's wait ends with this answer.
    pub fn end_wait(&mut self, answer: Result<Words, NotServed>) {
        self.phase = match answer {
            Err(NotServed::Aborted) => Phase::Away,
            _ => Phase::Computes,
        };
        self.answer.put(answer);
    }
}

/// All clients, by cluster and number.
#[derive(Debug)]
pub(super) struct Seats<const CLUSTERS: usize, const TASKS: usize>(
    pub [[Option<Seat>; TASKS]; CLUSTERS],
);

impl<const CLUSTERS: usize, const TASKS: usize> Seats<CLUSTERS, TASKS> {
    pub fn get(&mut self, client: Client) -> Option<&mut Seat> {
        let cluster = self.0.get_mut(client.cluster)?;
        cluster.get_mut(usize::from(client.task.0))?.as_mut()
    }

    /// Removes a client.
    pub fn take(&mut self, client: Client) -> Option<Seat> {
        let cluster = self.0.get_mut(client.cluster)?;
        cluster.get_mut(usize::from(client.task.0))?.take()
    }

    /// The highest priority of a client, or 0.
    pub fn highest_priority(&self) -> u8 {
        let seats = self.0.iter().flatten().flatten();
        seats.map(|seat| seat.priority).max().unwrap_or(0)
    }

    /// The tasks that would lend: on each core the client of the highest priority that is not away is scheduled, and lends
    /// if it waits. It takes `TASKS` steps.
    pub fn scheduled<const CORES: usize>(&self, cluster: usize) -> [Option<TaskId>; CORES] {
        let mut first: [Option<(u8, Phase, TaskId)>; CORES] = [None; CORES];
        for (index, seat) in self.0[cluster].iter().enumerate() {
            let Some(seat) = seat.as_ref().filter(|seat| seat.phase != Phase::Away) else {
                continue;
            };
            let first = &mut first[seat.core];
            if first.is_none_or(|(priority, ..)| seat.priority > priority) {
                *first = Some((seat.priority, seat.phase, TaskId(index as u16)));
            }
        }
        first.map(|first| {
            let (_, phase, task) = first?;
            (phase == Phase::Waits).then_some(task)
        })
    }
}
