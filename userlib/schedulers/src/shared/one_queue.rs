//! A shared server with one queue, for comparison with MC-IPC.

use super::{Aborted, Client, Invoked, Replied, Service, SharedServer, SharingError};
use crate::queue::Queue;

/// The order in which a server with one queue serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Discipline {
    /// In order of arrival. A request waits for one request of every other client: the bound grows with their number.
    Fifo,
    /// By priority, equal ones in order of arrival. A request waits for all those of higher priority in other clusters,
    /// however often their clients call.
    Priority,
}

/// A shared server with one queue for all clusters, and no other rule.
///
/// Operations take O(`CLUSTERS` + log `TASKS`) steps, for `TASKS` tasks in a cluster.
#[derive(Clone, Debug)]
pub struct OneQueue<P, const CLUSTERS: usize, const TASKS: usize> {
    discipline: Discipline,
    service: Option<Service>,
    /// Those that wait, by priority if that counts, and number of request. The queue is the union of these.
    clusters: [Queue<(P, u64), TASKS>; CLUSTERS],
    requests: u64,
}

impl<P: Ord + Copy + Default, const CLUSTERS: usize, const TASKS: usize>
    OneQueue<P, CLUSTERS, TASKS>
{
    /// A server without requests.
    pub fn new(discipline: Discipline) -> Self {
        Self {
            discipline,
            service: None,
            clusters: core::array::from_fn(|_| Queue::default()),
            requests: 0,
        }
    }

    fn is_served(&self, client: Client) -> bool {
        let is_orphan = false;
        self.service == Some(Service { client, is_orphan })
    }

    fn serve_first(&mut self) -> Option<Client> {
        let heads = self.clusters.iter().enumerate();
        let heads = heads.filter_map(|(cluster, queue)| Some((queue.first()?, cluster)));
        let client = heads
            .min()
            .map(|((_, task), cluster)| Client { cluster, task });
        if let Some(client) = client {
            self.clusters[client.cluster].remove(client.task);
        }
        let is_orphan = false;
        self.service = client.map(|client| Service { client, is_orphan });
        client
    }
}

impl<P: Ord + Copy + Default, const CLUSTERS: usize, const TASKS: usize> SharedServer
    for OneQueue<P, CLUSTERS, TASKS>
{
    type Priority = P;

    fn invoke(&mut self, client: Client, priority: P) -> Result<Invoked, SharingError> {
        if client.cluster >= CLUSTERS || client.task.index() >= TASKS {
            return Err(SharingError::NoClient);
        }
        if self.waits(client) {
            return Err(SharingError::Waits);
        }
        let priority = match self.discipline {
            Discipline::Fifo => P::default(),
            Discipline::Priority => priority,
        };
        self.clusters[client.cluster].set(client.task, (priority, self.requests));
        self.requests += 1;
        if self.service.is_some() {
            return Ok(Invoked::Wait);
        }
        self.serve_first();
        Ok(Invoked::Serve)
    }

    fn reply(&mut self) -> Result<Replied, SharingError> {
        let service = self.service.ok_or(SharingError::Idle)?;
        Ok(Replied {
            to: (!service.is_orphan).then_some(service.client),
            next: self.serve_first(),
        })
    }

    fn abort(&mut self, client: Client) -> Result<Aborted, SharingError> {
        if client.cluster >= CLUSTERS || client.task.index() >= TASKS {
            return Err(SharingError::NoClient);
        }
        if self.clusters[client.cluster].remove(client.task) {
            return Ok(Aborted::Withdrawn);
        }
        if !self.is_served(client) {
            return Err(SharingError::DoesNotWait);
        }
        let is_orphan = true;
        self.service = Some(Service { client, is_orphan });
        Ok(Aborted::Orphaned)
    }

    fn in_service(&self) -> Option<Service> {
        self.service
    }

    fn waits(&self, client: Client) -> bool {
        let exists = client.cluster < CLUSTERS && client.task.index() < TASKS;
        exists && (self.clusters[client.cluster].contains(client.task) || self.is_served(client))
    }
}
