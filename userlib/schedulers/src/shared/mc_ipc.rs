//! The queues of MC-IPC (B. Brandenburg, RTSS 2014). The rules are our reconstruction, not the paper's text.

use super::fifo::Fifo;
use super::{Aborted, Client, Invoked, Replied, Service, SharedServer, SharingError};
use crate::queue::Queue;
use crate::task::TaskId;

/// A shared server with the three queues of MC-IPC, for clusters of up to `CORES` cores and `TASKS` tasks each.
///
/// - A cluster has a FIFO of up to `CORES` requests. The head stands in the global FIFO, whose head is served; a new
///   head joins its tail.
/// - If the cluster's FIFO is full, requests wait in a queue by priority, equal ones in order of arrival. The first of
///   them moves up when a request leaves the FIFO.
/// - Back-pressure: an aborted request in service keeps its cluster's place in the global FIFO. So no cluster has two
///   requests there, and clients of the others do not pay for its aborts twice.
///
/// An aborted request leaves the cluster's FIFO at once even if it is in service. If it kept its place there until the
/// end, requests of higher priority could arrive just before the end of each service, and pass a waiting client without
/// limit.
///
/// A request drains at most (1 + 2 C K) L of its client's budget, for K clusters of C cores and services of up to L: L
/// for an orphan of its own cluster at the call, C K L until it is in the cluster's FIFO, C K L from then on. It may be
/// L more for a client with C others of higher priority in its cluster, if one of those is aborted in service
/// meanwhile. The priorities must be those by which the cluster schedules reservations, in ties, too, and must not
/// change while clients wait.
///
/// Operations take O(C + K + log `TASKS`) steps.
#[derive(Clone, Debug)]
pub struct McIpc<P, const CLUSTERS: usize, const CORES: usize, const TASKS: usize> {
    /// The clusters with a request in the global FIFO; that of the first is in service.
    global: Fifo<usize, CLUSTERS>,
    clusters: [Queues<P, CORES, TASKS>; CLUSTERS],
    /// The client of the request in service if that is aborted.
    orphan: Option<TaskId>,
    /// The number of requests so far: the order of arrival.
    requests: u64,
}

/// The requests of one cluster.
#[derive(Clone, Debug)]
struct Queues<P, const CORES: usize, const TASKS: usize> {
    fifo: Fifo<TaskId, CORES>,
    /// Empty unless the FIFO is full.
    rest: Queue<(P, u64), TASKS>,
}

impl<P: Ord + Copy + Default, const CORES: usize, const TASKS: usize> Queues<P, CORES, TASKS> {
    fn contains(&self, task: TaskId) -> bool {
        self.rest.contains(task) || self.fifo.contains(task)
    }

    fn enter(&mut self, task: TaskId, key: (P, u64)) {
        if !self.fifo.push(task) {
            self.rest.set(task, key);
        }
    }

    fn leave(&mut self, task: TaskId) {
        if self.fifo.remove(task)
            && let Some((_, first)) = self.rest.first()
        {
            self.fifo.push(first);
            self.rest.remove(first);
        } else {
            self.rest.remove(task);
        }
    }
}

impl<P: Ord + Copy + Default, const CLUSTERS: usize, const CORES: usize, const TASKS: usize>
    McIpc<P, CLUSTERS, CORES, TASKS>
{
    /// A server without requests.
    pub fn new() -> Self {
        const { assert!(CORES > 0, "a cluster has a core") };
        Self {
            global: Fifo::default(),
            clusters: core::array::from_fn(|_| Queues {
                fifo: Fifo::default(),
                rest: Queue::default(),
            }),
            orphan: None,
            requests: 0,
        }
    }

    fn queues(&mut self, client: Client) -> Result<&mut Queues<P, CORES, TASKS>, SharingError> {
        let queues = self.clusters.get_mut(client.cluster);
        let queues = queues.filter(|_| client.task.index() < TASKS);
        queues.ok_or(SharingError::NoClient)
    }

    /// The head of the cluster's FIFO joins the global FIFO, unless that has a request of the cluster.
    fn join(&mut self, cluster: usize) {
        if !self.clusters[cluster].fifo.is_empty() && !self.global.contains(cluster) {
            self.global.push(cluster);
        }
    }
}

impl<P: Ord + Copy + Default, const CLUSTERS: usize, const CORES: usize, const TASKS: usize>
    SharedServer for McIpc<P, CLUSTERS, CORES, TASKS>
{
    type Priority = P;

    fn invoke(&mut self, client: Client, priority: P) -> Result<Invoked, SharingError> {
        let key = (priority, self.requests);
        let queues = self.queues(client)?;
        if queues.contains(client.task) {
            return Err(SharingError::Waits);
        }
        queues.enter(client.task, key);
        self.requests += 1;
        let is_free = self.global.is_empty();
        self.join(client.cluster);
        Ok(if is_free {
            Invoked::Serve
        } else {
            Invoked::Wait
        })
    }

    fn reply(&mut self) -> Result<Replied, SharingError> {
        let Service { client, is_orphan } = self.in_service().ok_or(SharingError::Idle)?;
        if is_orphan {
            self.orphan = None;
        } else {
            self.clusters[client.cluster].leave(client.task);
        }
        self.global.remove(client.cluster);
        self.join(client.cluster);
        Ok(Replied {
            to: (!is_orphan).then_some(client),
            next: self.in_service().map(|service| service.client),
        })
    }

    fn abort(&mut self, client: Client) -> Result<Aborted, SharingError> {
        let service = self.in_service();
        let queues = self.queues(client)?;
        if !queues.contains(client.task) {
            return Err(SharingError::DoesNotWait);
        }
        let was_head = queues.fifo.first() == Some(client.task);
        queues.leave(client.task);
        match service {
            // The global FIFO's place is that of the request in service.
            Some(service) if service.client.cluster == client.cluster => {
                if !was_head || service.is_orphan {
                    return Ok(Aborted::Withdrawn);
                }
                self.orphan = Some(client.task);
                return Ok(Aborted::Orphaned);
            }
            _ if was_head => {
                self.global.remove(client.cluster);
                self.join(client.cluster);
            }
            _ => {}
        }
        Ok(Aborted::Withdrawn)
    }

    fn in_service(&self) -> Option<Service> {
        let cluster = self.global.first()?;
        let task = self.orphan.or(self.clusters[cluster].fifo.first())?;
        Some(Service {
            client: Client { cluster, task },
            is_orphan: self.orphan.is_some(),
        })
    }

    fn waits(&self, client: Client) -> bool {
        let queues = self.clusters.get(client.cluster);
        let queues = queues.filter(|_| client.task.index() < TASKS);
        queues.is_some_and(|queues| queues.contains(client.task))
    }
}
