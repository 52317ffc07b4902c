//! The owning cores of objects.

use kernel::invariants::{check_endpoint, check_notification, check_reply};

use super::caught;

#[test]
fn owners() {
    let waits = "only threads of its core wait at an object that belongs to a core";
    caught(waits, |system, reach| {
        let endpoint = system.endpoint();
        system.kernel()[endpoint].set_core(1);
        check_endpoint(system.machine.kernel, endpoint, reach)
    });
    caught(waits, |system, reach| {
        let signal = system.notification(system.signal);
        system.kernel()[signal].core = 1;
        check_notification(system.machine.kernel, signal, reach)
    });
    let replies = "a reply object belongs to the core of its waiting thread, or of the donated context that it returns";
    for inner in [false, true] {
        caught(replies, |system, reach| {
            let reply = system.reply(if inner { system.inner } else { system.waiting });
            system.kernel()[reply].set_core(1);
            check_reply(system.machine.kernel, reply, reach)
        });
    }
}
