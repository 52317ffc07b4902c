//! The choice of the reservation on which a server runs.

use super::client;
use crate::{Lenders, McIpc, SharedServer, SharingError, TaskId};

type Server = McIpc<u64, 3, 2, 4>;

fn tasks(first: u16, second: u16) -> [Option<TaskId>; 2] {
    [Some(TaskId(first)), Some(TaskId(second))]
}

/// A server that serves task 0 of cluster 1; task 1 of each cluster waits.
fn server() -> Server {
    let mut server = Server::new();
    server.invoke(client(1, 0), 0).unwrap();
    for cluster in 0..3 {
        server.invoke(client(cluster, 1), 1).unwrap();
    }
    server
}

#[test]
fn the_cluster_of_the_request_in_service_lends_first() {
    let server = server();
    let mut lenders = Lenders::<3, 2>::new();
    assert_eq!(lenders.lender(&server, &[1; 3]), None);
    for cluster in [0, 2, 1] {
        lenders.offer(cluster, 1, tasks(3, 1)).unwrap();
    }
    assert_eq!(lenders.lender(&server, &[1; 3]), Some(client(1, 1)));
    // Its cluster decides again: the offer does not count any more, and the next cluster lends.
    assert_eq!(lenders.lender(&server, &[1, 2, 1]), Some(client(2, 1)));
    assert_eq!(lenders.lender(&server, &[1, 2, 2]), Some(client(0, 1)));
    // No reservation pays.
    assert_eq!(lenders.lender(&server, &[2, 2, 2]), None);
    // The client in service is scheduled again, and pays for itself.
    lenders.offer(1, 3, tasks(0, 1)).unwrap();
    assert_eq!(lenders.lender(&server, &[2, 3, 2]), Some(client(1, 0)));
}

#[test]
fn only_a_client_that_waits_lends() {
    let mut server = server();
    let mut lenders = Lenders::<3, 2>::new();
    lenders.offer(1, 1, tasks(3, 0)).unwrap();
    assert_eq!(lenders.lender(&server, &[0, 1, 0]), Some(client(1, 0)));
    // Its budget ends. Without a new decision, too, it lends no more; nor does a task that does not call.
    server.abort(client(1, 0)).unwrap();
    assert_eq!(lenders.lender(&server, &[0, 1, 0]), None);
    // A task of the same decision that calls now lends at once, to the orphan before it.
    server.invoke(client(1, 3), 0).unwrap();
    assert!(server.in_service().unwrap().is_orphan);
    assert_eq!(lenders.lender(&server, &[0, 1, 0]), Some(client(1, 3)));
}

#[test]
fn a_free_server_runs_on_nothing() {
    let mut lenders = Lenders::<3, 2>::new();
    lenders.offer(0, 1, tasks(0, 1)).unwrap();
    assert_eq!(lenders.lender(&Server::new(), &[1; 3]), None);
    let refused = lenders.offer(3, 1, tasks(0, 1));
    assert_eq!(refused, Err(SharingError::NoClient));
}
