//! The rules one by one.

use super::super::client;
use super::{CALLS, Servers};
use crate::{Aborted, Caller, NotLater, SharingError, Step, TaskId};

fn servers() -> Servers<3> {
    Servers::new(CALLS).unwrap()
}

/// Server 0 serves a client of core 0; a client of core 1 has called server 1.
fn contended() -> Servers<3> {
    let mut servers = servers();
    servers.invoke(client(0, 0), 0, 0).unwrap();
    assert_eq!(servers.step(), Some(Step::Serve(0, client(0, 0))));
    servers.invoke(client(1, 0), 1, 0).unwrap();
    servers
}

#[test]
fn a_server_waits_for_earlier_requests_that_may_use_it() {
    let mut servers = contended();
    // Server 1 is free, but the first request may still call it.
    assert_eq!(servers.step(), None);
    assert_eq!(servers.lends_to(client(1, 0)), Some(0));
    servers.call(0, 1).unwrap();
    assert_eq!(servers.step(), Some(Step::Serve(1, client(0, 0))));
    assert_eq!(servers.lends_to(client(1, 0)), Some(1));
    assert_eq!(servers.reply(1), Ok(Some(Caller::Server(0))));
    assert_eq!(servers.step(), None);
    assert_eq!(servers.reply(0), Ok(Some(Caller::Client(client(0, 0)))));
    assert_eq!(servers.step(), Some(Step::Serve(1, client(1, 0))));
}

#[test]
fn requests_that_need_no_common_server_are_served_at_once() {
    let mut servers = servers();
    servers.invoke(client(0, 0), 2, 0).unwrap();
    assert_eq!(servers.step(), Some(Step::Serve(2, client(0, 0))));
    servers.invoke(client(1, 0), 0, 0).unwrap();
    // Server 0 is not used by the first request; a nested call of server 1 comes to where it may wait.
    assert_eq!(servers.step(), Some(Step::Serve(0, client(1, 0))));
    servers.call(0, 1).unwrap();
    assert_eq!(servers.step(), Some(Step::Serve(1, client(1, 0))));
    servers.call(1, 3).unwrap();
    assert_eq!(servers.step(), None);
    let scheduled = [None, Some(TaskId(0)), None];
    assert_eq!(servers.lender(2, &scheduled), Some(client(1, 0)));
    let scheduled = [Some(TaskId(0)), Some(TaskId(0)), None];
    assert_eq!(servers.lender(2, &scheduled), Some(client(0, 0)));
    assert_eq!(servers.lender(1, &scheduled), None);
}

#[test]
fn an_orphan_keeps_its_core_waiting_and_waits_for_nothing() {
    let mut servers = servers();
    servers.invoke(client(0, 0), 2, 0).unwrap();
    servers.invoke(client(1, 1), 1, 1).unwrap();
    assert_eq!(servers.step(), Some(Step::Serve(2, client(0, 0))));
    assert_eq!(servers.step(), Some(Step::Serve(1, client(1, 1))));
    servers.call(1, 2).unwrap();
    assert_eq!(servers.step(), None);
    servers.invoke(client(1, 0), 0, 0).unwrap();
    assert_eq!(servers.abort(client(1, 1)), Ok(Aborted::Orphaned));
    assert_eq!(servers.step(), Some(Step::Refuse(1)));
    assert_eq!(servers.step(), None);
    assert!(!servers.waits(client(1, 1)));
    assert_eq!(servers.lends_to(client(1, 0)), Some(1));
    // A free server serves its calls.
    servers.call(1, 3).unwrap();
    assert_eq!(servers.step(), Some(Step::Refuse(1)));
    assert_eq!(servers.reply(1), Ok(None));
    assert_eq!(servers.step(), Some(Step::Serve(0, client(1, 0))));
}

#[test]
fn requests_of_a_core_wait_by_priority_and_are_withdrawn() {
    let mut servers = contended();
    for task in [3, 1, 2] {
        servers.invoke(client(0, task), 3, task).unwrap();
    }
    assert_eq!(servers.abort(client(0, 1)), Ok(Aborted::Withdrawn));
    assert_eq!(servers.reply(0), Ok(Some(Caller::Client(client(0, 0)))));
    assert_eq!(servers.step(), Some(Step::Serve(1, client(1, 0))));
    // Its ticket is later than that of a request that may use server 3.
    assert_eq!(servers.step(), None);
    assert_eq!(servers.lends_to(client(0, 3)), Some(1));
    // Without a server, it gives its ticket up.
    assert_eq!(servers.abort(client(0, 2)), Ok(Aborted::Withdrawn));
    assert_eq!(servers.reply(1), Ok(Some(Caller::Client(client(1, 0)))));
    assert_eq!(servers.step(), Some(Step::Serve(3, client(0, 3))));
}

#[test]
fn what_cannot_be_is_refused() {
    let refused = Servers::<3>::new([&[1], &[], &[1], &[]]);
    assert_eq!(refused.err(), Some(NotLater { from: 2, to: 1 }));
    let refused = Servers::<3>::new([&[], &[], &[], &[4]]);
    assert_eq!(refused.err(), Some(NotLater { from: 3, to: 4 }));
    let mut servers = contended();
    for (client, error) in [
        (client(3, 0), SharingError::NoClient),
        (client(0, 8), SharingError::NoClient),
        (client(0, 0), SharingError::Waits),
    ] {
        for server in [0, 4] {
            assert_eq!(servers.invoke(client, server, 0), Err(error));
        }
    }
    let unknown = servers.invoke(client(2, 0), 4, 0);
    assert_eq!(unknown, Err(SharingError::NoServer));
    for to in [0, 3, 4] {
        assert_eq!(servers.call(0, to), Err(SharingError::NoServer));
    }
    // It waits, so it does not run.
    assert_eq!(servers.call(1, 2), Err(SharingError::Idle));
    assert_eq!(servers.reply(1), Err(SharingError::Idle));
    let refused = servers.abort(client(2, 0));
    assert_eq!(refused, Err(SharingError::DoesNotWait));
    assert_eq!(servers.abort(client(0, 8)), Err(SharingError::NoClient));
    assert!(!servers.waits(client(3, 0)) && !servers.waits(client(0, 8)));
}
