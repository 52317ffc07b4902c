//! Whether the run is a success.
//!
//! In virtual time shares are exact and are checked. In host time, the emulator itself is preempted, and the
//! time that it loses is charged to the current thread; then only progress is checked. Only the tool knows
//! which time is used; it sets this at build time.

use crate::members::{Member, Members};
use userlib::println;

/// Whether the run uses host time.
const REAL_TIME: bool = option_env!("ESCAPEMENT_REAL_TIME").is_some();

/// Tolerance of a share in thousandths of the processor: a run is not a whole number of periods.
const TOLERANCE: u64 = 10;

/// Prints the result of the run.
pub fn judge(members: &Members) -> bool {
    if members.hog().overruns() == 0 {
        println!("The hog was never stopped inside the server.");
        return false;
    }
    if REAL_TIME {
        clients_were_served(members)
    } else {
        all_got_their_shares(members)
    }
}

fn clients_were_served(members: &Members) -> bool {
    for member in members.clients() {
        if member.report.done() == 0 {
            println!("{} was never served.", member.name);
            return false;
        }
    }
    println!(
        "The clients went on, although the hog comes before them and tried to keep the server for"
    );
    println!("itself. (In the host's time, shares depend on what else the host does.)");
    true
}

fn all_got_their_shares(members: &Members) -> bool {
    let received = |member: &Member| member.received(members.time());
    for member in members.iter() {
        let (name, promised) = (member.name, member.promised());
        if received(member) > promised + TOLERANCE {
            println!("{name} got more than it was promised: budgets are not enforced.");
            return false;
        }
        if received(member) + TOLERANCE < promised {
            println!("{name} got less than it was promised.");
            return false;
        }
    }
    println!(
        "All got their shares, and the hog no more than that, although it comes before the clients"
    );
    println!("and tried to keep the server for itself.");
    true
}
