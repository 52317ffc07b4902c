//! The rules of each type of shared server at their boundaries, and against a model.

use oorandom::Rand64;

use super::client;
use super::model::{Fault, Model};
use crate::{
    Aborted, Client, Discipline, Invoked, McIpc, OneQueue, Replied, Service, SharedServer,
    SharingError,
};

/// Two clusters of two cores with up to six tasks each.
type Server = McIpc<u64, 2, 2, 6>;

fn orphan(client: Client) -> Option<Service> {
    let is_orphan = true;
    Some(Service { client, is_orphan })
}

/// Calls in this order, each with the same priority as its task's number.
fn invoke(server: &mut impl SharedServer<Priority = u64>, clients: &[(usize, u16)]) {
    for &(cluster, task) in clients {
        server.invoke(client(cluster, task), task.into()).unwrap();
    }
}

/// The clients of all services to come, each of which ends with a reply or, if `None`, without.
fn drain(server: &mut impl SharedServer) -> Vec<Option<(usize, u16)>> {
    let mut order = Vec::new();
    while server.in_service().is_some() {
        let to = server.reply().unwrap().to;
        order.push(to.map(|client| (client.cluster, client.task.0)));
    }
    order
}

fn served(clients: &[(usize, u16)]) -> Vec<Option<(usize, u16)>> {
    clients.iter().copied().map(Some).collect()
}

#[test]
fn an_idle_server_serves_at_once() {
    let mut server = Server::new();
    assert_eq!(server.in_service(), None);
    assert_eq!(server.reply(), Err(SharingError::Idle));
    assert_eq!(server.invoke(client(0, 0), 0), Ok(Invoked::Serve));
    assert_eq!(server.invoke(client(1, 0), 0), Ok(Invoked::Wait));
    let replied = |to, next| Ok(Replied { to, next });
    let (first, second) = (Some(client(0, 0)), Some(client(1, 0)));
    assert_eq!(server.reply(), replied(first, second));
    assert_eq!(server.reply(), replied(second, None));
    assert_eq!(server.reply(), Err(SharingError::Idle));
}

#[test]
fn wrong_numbers_are_refused() {
    fn check(mut server: impl SharedServer<Priority = u64>) {
        for absent in [client(2, 0), client(0, 6)] {
            assert_eq!(server.invoke(absent, 0), Err(SharingError::NoClient));
            assert_eq!(server.abort(absent), Err(SharingError::NoClient));
            assert!(!server.waits(absent));
        }
    }
    check(Server::new());
    check(OneQueue::<u64, 2, 6>::new(Discipline::Fifo));
}

#[test]
fn a_client_waits_once() {
    let mut server = Server::new();
    // In service, in its cluster's FIFO and in the queue behind it.
    invoke(&mut server, &[(0, 0), (0, 1), (0, 2)]);
    for task in 0..3 {
        assert!(server.waits(client(0, task)));
        let again = server.invoke(client(0, task), 9);
        assert_eq!(again, Err(SharingError::Waits));
    }
    assert_eq!(drain(&mut server), served(&[(0, 0), (0, 1), (0, 2)]));
    assert!(!server.waits(client(0, 0)));
    assert_eq!(server.abort(client(0, 0)), Err(SharingError::DoesNotWait));
}

#[test]
fn clusters_alternate_and_their_rest_is_by_priority() {
    let mut server = Server::new();
    invoke(&mut server, &[(0, 4), (0, 5), (0, 3), (0, 1), (0, 2)]);
    invoke(&mut server, &[(1, 1), (1, 0)]);
    let order = [(0, 4), (1, 1), (0, 5), (1, 0), (0, 1), (0, 2), (0, 3)];
    assert_eq!(drain(&mut server), served(&order));
}

#[test]
fn equal_priorities_are_in_order_of_arrival() {
    let mut server = Server::new();
    for task in [0, 1, 5, 3, 4] {
        server.invoke(client(0, task), 7).unwrap();
    }
    let order = [(0, 0), (0, 1), (0, 5), (0, 3), (0, 4)];
    assert_eq!(drain(&mut server), served(&order));
}

#[test]
fn an_aborted_head_sends_its_successor_to_the_tail() {
    let mut server = Server::new();
    invoke(&mut server, &[(0, 0), (1, 0), (1, 1), (0, 1), (1, 2)]);
    // Only in the other cluster, since the head of the first is in service.
    assert_eq!(server.abort(client(1, 0)), Ok(Aborted::Withdrawn));
    assert!(!server.waits(client(1, 0)));
    let order = [(0, 0), (1, 1), (0, 1), (1, 2)];
    assert_eq!(drain(&mut server), served(&order));

    let mut server = McIpc::<u64, 3, 2, 6>::new();
    invoke(&mut server, &[(0, 0), (1, 0), (1, 1), (2, 0)]);
    server.abort(client(1, 0)).unwrap();
    assert_eq!(drain(&mut server), served(&[(0, 0), (2, 0), (1, 1)]));
}

#[test]
fn an_aborted_request_that_waits_makes_room() {
    let mut server = Server::new();
    invoke(&mut server, &[(0, 0), (0, 5), (0, 4), (0, 3)]);
    // From the FIFO: the best of the rest moves up, and keeps its place before a better one that comes later.
    assert_eq!(server.abort(client(0, 5)), Ok(Aborted::Withdrawn));
    invoke(&mut server, &[(0, 1)]);
    // From the rest.
    assert_eq!(server.abort(client(0, 4)), Ok(Aborted::Withdrawn));
    assert_eq!(drain(&mut server), served(&[(0, 0), (0, 3), (0, 1)]));
}

#[test]
fn the_last_request_can_be_aborted() {
    let mut server = Server::new();
    invoke(&mut server, &[(0, 0), (1, 0)]);
    server.abort(client(1, 0)).unwrap();
    assert_eq!(drain(&mut server), served(&[(0, 0)]));
    assert_eq!(server.invoke(client(1, 0), 0), Ok(Invoked::Serve));
}

#[test]
fn an_orphan_keeps_the_place_of_its_cluster() {
    let mut server = Server::new();
    invoke(&mut server, &[(0, 0), (0, 1), (1, 0)]);
    assert_eq!(server.abort(client(0, 0)), Ok(Aborted::Orphaned));
    assert_eq!(server.in_service(), orphan(client(0, 0)));
    let again = server.abort(client(0, 0));
    assert_eq!(again, Err(SharingError::DoesNotWait));
    // Back-pressure: the second request of the cluster comes after that of the other.
    let end = server.reply();
    let (to, next) = (None, Some(client(1, 0)));
    assert_eq!(end, Ok(Replied { to, next }));
    assert_eq!(drain(&mut server), served(&[(1, 0), (0, 1)]));
}

#[test]
fn an_orphan_leaves_its_clusters_fifo_at_once() {
    let mut server = Server::new();
    invoke(&mut server, &[(0, 0), (0, 5), (0, 4)]);
    server.abort(client(0, 0)).unwrap();
    // Task 4 has moved up, so that a better one comes after it.
    invoke(&mut server, &[(0, 1)]);
    let order = [None, Some((0, 5)), Some((0, 4)), Some((0, 1))];
    assert_eq!(drain(&mut server), order);
}

#[test]
fn a_client_can_call_again_while_its_orphan_is_in_service() {
    let mut server = Server::new();
    invoke(&mut server, &[(0, 0)]);
    server.abort(client(0, 0)).unwrap();
    assert_eq!(server.invoke(client(0, 0), 0), Ok(Invoked::Wait));
    assert!(server.waits(client(0, 0)));
    // The new request is withdrawn; the orphan stays.
    assert_eq!(server.abort(client(0, 0)), Ok(Aborted::Withdrawn));
    assert_eq!(server.in_service(), orphan(client(0, 0)));
    invoke(&mut server, &[(0, 0)]);
    assert_eq!(drain(&mut server), [None, Some((0, 0))]);
}

#[test]
fn one_queue_is_in_order_of_arrival_or_priority() {
    let calls = [(1, 3), (0, 2), (1, 1), (0, 1), (1, 0)];
    let order = |discipline| {
        let mut server = OneQueue::<u64, 2, 4>::new(discipline);
        invoke(&mut server, &calls);
        assert_eq!(server.invoke(client(1, 3), 0), Err(SharingError::Waits));
        assert_eq!(server.invoke(client(0, 1), 0), Err(SharingError::Waits));
        assert_eq!(server.abort(client(1, 3)), Ok(Aborted::Orphaned));
        assert_eq!(server.abort(client(0, 2)), Ok(Aborted::Withdrawn));
        let again = server.abort(client(1, 3));
        assert_eq!(again, Err(SharingError::DoesNotWait));
        drain(&mut server)
    };
    let by_arrival = [None, Some((1, 1)), Some((0, 1)), Some((1, 0))];
    assert_eq!(order(Discipline::Fifo), by_arrival);
    let by_priority = [None, Some((1, 0)), Some((1, 1)), Some((0, 1))];
    assert_eq!(order(Discipline::Priority), by_priority);
}

/// Whether any operations have the same results as those of the model.
fn agrees<const CLUSTERS: usize, const CORES: usize>(fault: Fault) -> bool {
    const TASKS: usize = 7;
    let mut random = Rand64::new(5);
    let mut server = McIpc::<u64, CLUSTERS, CORES, TASKS>::new();
    let mut model = Model::new(fault, CLUSTERS, CORES, TASKS);
    let mut number = |end: usize| random.rand_range(0..end as u64);
    (0..20_000).all(|_| {
        let client = client(number(CLUSTERS) as usize, number(TASKS) as u16);
        let priority = number(4);
        let same = match number(7) {
            0..4 => server.invoke(client, priority) == model.invoke(client, priority),
            4 => server.abort(client) == model.abort(client),
            _ => server.reply() == model.reply(),
        };
        same && server.in_service() == model.in_service()
            && server.waits(client) == model.waits(client)
    })
}

#[test]
fn any_operations_do_what_the_model_does() {
    assert!(agrees::<2, 2>(Fault::None));
    assert!(agrees::<4, 1>(Fault::None));
    assert!(agrees::<1, 3>(Fault::None));
    for fault in [
        Fault::OrderForgotten,
        Fault::WrongHead,
        Fault::NoBackPressure,
        Fault::BlockedFifo,
    ] {
        assert!(!agrees::<3, 2>(fault), "{fault:?}");
    }
}
