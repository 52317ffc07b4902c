//! Handles the timeouts of one component, and the faults of another. The first one continues with its next
//! replenishment; the second one starts again.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

use userlib::protocol::Text;
use userlib::{Fault, Message, Outcome, println};

userlib::component!(main);

/// The badges of both, which count from 1 in the order of the description.
const COUNTED: usize = 1;
const HANDLED: usize = 2;
/// The labels of replies after which the sender of a fault continues, or does not.
const CONTINUE: usize = 0;
const END: usize = 1;

fn main(given: Given) {
    let mut event = given.events.receive();
    loop {
        let message = event.message.expect("faults are messages");
        let outcome = Outcome::from(Fault::from_message(&message));
        let label = match (event.badge, outcome) {
            (COUNTED, Outcome::Faulted(Fault::Timeout { .. })) => {
                println!("handler: `counted` has used up its time; it continues");
                CONTINUE
            }
            (HANDLED, Outcome::Panicked) => {
                println!("handler: `handled` has panicked; it starts again");
                let again = given.supervisor.restart(Text::new("handled"));
                assert_eq!(again, Ok(Ok(())));
                // The thread that has panicked is gone.
                END
            }
            (HANDLED, Outcome::Exited(code)) => {
                println!("handler: `handled` has ended with {code}");
                END
            }
            (badge, outcome) => panic!("{outcome:?} of component {badge}"),
        };
        event = event.reply_and_receive(Message::empty(label));
    }
}
