//! Which reservation a shared server runs on.

use super::{Client, SharedServer, SharingError};
use crate::task::TaskId;

/// The number of a cluster's decision about what its cores run. The first is 1; each later one has a larger number.
pub type Decision = u64;

/// What the clusters have offered to one shared server: bandwidth inheritance as in MC-IPC (B. Brandenburg, RTSS 2014).
///
/// A cluster publishes the number of its latest decision for all servers, and offers to a server, under the number of
/// the decision, the reservations that it schedules and whose clients wait. An offer of an earlier decision does not
/// count. So a new decision withdraws what a cluster has offered to any server, without a change of each.
///
/// When the lender's budget ends, its request is aborted and its cluster decides again. The server then asks for
/// another lender; if there is none, no reservation pays, and the server waits for the next offer. It asks as well
/// whenever a cluster decides, and after a call or a reply.
#[derive(Clone, Debug)]
pub struct Lenders<const CLUSTERS: usize, const CORES: usize> {
    offers: [(Decision, [Option<TaskId>; CORES]); CLUSTERS],
}

impl<const CLUSTERS: usize, const CORES: usize> Lenders<CLUSTERS, CORES> {
    /// No offers.
    pub fn new() -> Self {
        Self {
            offers: [(0, [None; CORES]); CLUSTERS],
        }
    }

    /// The cluster offers the reservations of these tasks, which its decision schedules. Tasks that do not wait for the
    /// server may be among them: they lend from when they do.
    ///
    /// # Errors
    /// [`SharingError::NoClient`] if the cluster's number is too large.
    pub fn offer(
        &mut self,
        cluster: usize,
        decision: Decision,
        tasks: [Option<TaskId>; CORES],
    ) -> Result<(), SharingError> {
        let offer = self.offers.get_mut(cluster);
        *offer.ok_or(SharingError::NoClient)? = (decision, tasks);
        Ok(())
    }

    /// The client whose reservation the server runs on, by the clusters' latest decisions: one that waits for this
    /// server and would be scheduled in its cluster now, in the cluster of the request in service if possible, so that
    /// the server need not migrate. None if no request is in service, or no reservation pays. It takes
    /// `CLUSTERS` times `CORES` steps.
    pub fn lender(
        &self,
        server: &impl SharedServer,
        latest: &[Decision; CLUSTERS],
    ) -> Option<Client> {
        let own = server.in_service()?.client.cluster;
        let mut clients = (own..CLUSTERS).chain(0..own).flat_map(|cluster| {
            let (decision, tasks) = &self.offers[cluster];
            let counts = *decision == latest[cluster];
            let tasks = tasks.iter().flatten().filter(move |_| counts);
            tasks.map(move |&task| Client { cluster, task })
        });
        clients.find(|client| server.waits(*client))
    }
}
