//! The owning cores of objects.

use kernel::invariants::{check_endpoint, check_notification, check_reply};

use super::caught;

#[test]
fn owners() {
    let waits = "only threads of its core wait at an object that belongs to a core";
    caught(waits, |world, reach| {
        let endpoint = world.endpoint();
        world.kernel()[endpoint].set_core(1);
        check_endpoint(world.machine.kernel, endpoint, reach)
    });
    caught(waits, |world, reach| {
        let signal = world.notification(world.signal);
        world.kernel()[signal].core = 1;
        check_notification(world.machine.kernel, signal, reach)
    });
    let replies = "a reply object belongs to the core of its waiting thread, or of the donated context that it returns";
    for inner in [false, true] {
        caught(replies, |world, reach| {
            let reply = world.reply(if inner { world.inner } else { world.waiting });
            world.kernel()[reply].set_core(1);
            check_reply(world.machine.kernel, reply, reach)
        });
    }
}
