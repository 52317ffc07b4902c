//! The queues of MC-IPC once more, with lists and without care for time, and with faults.

use crate::{Aborted, Client, Invoked, Replied, Service, SharedServer, SharingError, TaskId};

/// A fault that is put in on purpose: a negative control.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    None,
    /// A new head goes to the front of the global FIFO.
    OrderForgotten,
    /// The newest request of a cluster's FIFO joins the global one.
    WrongHead,
    /// A cluster whose aborted request is in service has another place in the global FIFO.
    NoBackPressure,
    /// No request enters the FIFO of a cluster whose aborted request is in service.
    BlockedFifo,
}

#[derive(Clone, Debug)]
pub(super) struct Model {
    fault: Fault,
    cores: usize,
    tasks: usize,
    served: Option<Service>,
    /// Those that wait in the global FIFO.
    global: Vec<Client>,
    clusters: Vec<Queues>,
    requests: u64,
}

#[derive(Clone, Debug, Default)]
struct Queues {
    fifo: Vec<TaskId>,
    /// With priority and number of request.
    rest: Vec<(u64, u64, TaskId)>,
}

impl Model {
    pub(super) fn new(fault: Fault, clusters: usize, cores: usize, tasks: usize) -> Self {
        Self {
            fault,
            cores,
            tasks,
            served: None,
            global: Vec::new(),
            clusters: vec![Queues::default(); clusters],
            requests: 0,
        }
    }

    fn has_orphan(&self, cluster: usize) -> bool {
        let is_own = |it: Service| it.is_orphan && it.client.cluster == cluster;
        self.served.is_some_and(is_own)
    }

    /// Whether the cluster has a request in the global FIFO or in service.
    fn has_place(&self, cluster: usize) -> bool {
        let is_own = |it: Service| it.client.cluster == cluster;
        let free = self.fault == Fault::NoBackPressure && self.has_orphan(cluster);
        let served = self.served.is_some_and(is_own) && !free;
        served || self.global.iter().any(|it| it.cluster == cluster)
    }

    /// Moves requests of the cluster on as far as they may go.
    fn advance(&mut self, cluster: usize) {
        let is_blocked = self.fault == Fault::BlockedFifo && self.has_orphan(cluster);
        let queues = &mut self.clusters[cluster];
        queues.rest.sort();
        while !is_blocked && queues.fifo.len() < self.cores && !queues.rest.is_empty() {
            let (_, _, first) = queues.rest.remove(0);
            queues.fifo.push(first);
        }
        let head = match self.fault {
            Fault::WrongHead => queues.fifo.last(),
            _ => queues.fifo.first(),
        };
        if let Some(&task) = head
            && !self.has_place(cluster)
        {
            let place = match self.fault {
                Fault::OrderForgotten => 0,
                _ => self.global.len(),
            };
            self.global.insert(place, Client { cluster, task });
        }
        if self.served.is_none() && !self.global.is_empty() {
            let client = self.global.remove(0);
            let is_orphan = false;
            self.served = Some(Service { client, is_orphan });
        }
    }

    fn forget(&mut self, client: Client) {
        let queues = &mut self.clusters[client.cluster];
        queues.fifo.retain(|it| *it != client.task);
        queues.rest.retain(|it| it.2 != client.task);
        self.global.retain(|it| *it != client);
    }

    fn check(&self, client: Client) -> Result<(), SharingError> {
        let exists =
            client.cluster < self.clusters.len() && usize::from(client.task.0) < self.tasks;
        exists.then_some(()).ok_or(SharingError::NoClient)
    }
}

impl SharedServer for Model {
    type Priority = u64;

    fn invoke(&mut self, client: Client, priority: u64) -> Result<Invoked, SharingError> {
        self.check(client)?;
        if self.waits(client) {
            return Err(SharingError::Waits);
        }
        let was_free = self.served.is_none();
        let entry = (priority, self.requests, client.task);
        self.requests += 1;
        self.clusters[client.cluster].rest.push(entry);
        self.advance(client.cluster);
        Ok(if was_free {
            Invoked::Serve
        } else {
            Invoked::Wait
        })
    }

    fn reply(&mut self) -> Result<Replied, SharingError> {
        let Service { client, is_orphan } = self.served.take().ok_or(SharingError::Idle)?;
        if !is_orphan {
            self.forget(client);
        }
        // The cluster goes to the tail before the next one is served.
        self.advance(client.cluster);
        Ok(Replied {
            to: (!is_orphan).then_some(client),
            next: self.served.map(|it| it.client),
        })
    }

    fn abort(&mut self, client: Client) -> Result<Aborted, SharingError> {
        self.check(client)?;
        if !self.waits(client) {
            return Err(SharingError::DoesNotWait);
        }
        self.forget(client);
        let mut result = Aborted::Withdrawn;
        if let Some(service) = &mut self.served
            && service.client == client
            && !service.is_orphan
        {
            service.is_orphan = true;
            result = Aborted::Orphaned;
        }
        self.advance(client.cluster);
        Ok(result)
    }

    fn in_service(&self) -> Option<Service> {
        self.served
    }

    fn waits(&self, client: Client) -> bool {
        let Some(queues) = self.clusters.get(client.cluster) else {
            return false;
        };
        queues.fifo.contains(&client.task) || queues.rest.iter().any(|it| it.2 == client.task)
    }
}
