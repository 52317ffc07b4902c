//! The owning cores of objects.

use kernel::invariants::{check_endpoint, check_notification, check_reply};

use super::caught;

#[test]
fn owners() {
    let waits = "what belongs to a core is waited for by its threads";
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
    let replies = "a reply object belongs to the core of who waits with it, or of the time that comes \
                   back by it";
    for inner in [false, true] {
        caught(replies, |world, reach| {
            let reply = world.reply(if inner { world.inner } else { world.waiting });
            world.kernel()[reply].set_core(1);
            check_reply(world.machine.kernel, reply, reach)
        });
    }
}
