//! The system's time, on this machine: the kernel's scheduler, in virtual time, with the description's budgets.

use protocols::addition;
use server::Adder;
use simulator::{System, ms, us, work};
use userlib::syscall;

#[test]
fn the_client_is_done_in_each_period() {
    let mut system = System::read("../system.toml");
    // The server's own code. A request takes its cost in the description.
    system.serve("server", addition::Protocol, |_| Adder);
    // A client that works for a millisecond in each period, and calls once.
    system.component("client", |given| {
        let server = addition::Client::find(given, "server").expect("the description gives it");
        loop {
            work(ms(1));
            assert_eq!(server.add(1, 2), Ok(3));
            syscall::yield_now();
        }
    });
    let run = system.run(ms(100));
    let client = run.of("client");
    assert_eq!(
        (client.responses().count(), client.misses()),
        (5, 0),
        "{run}"
    );
    assert!(client.longest_response() < us(1_300), "{run}");
}
