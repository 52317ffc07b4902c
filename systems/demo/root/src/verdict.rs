//! Whether the run has shown what it should.
//!
//! In virtual time shares are exact, so they are judged. In the host's time an emulator is itself kept
//! waiting, and what it loses is charged to the thread that was running; then only progress is judged. Which
//! time it is only the tool knows; it says so when it builds.

use crate::members::{Member, Members};
use userlib::println;

/// Whether time is the host's.
const REAL_TIME: bool = option_env!("ESCAPEMENT_REAL_TIME").is_some();

/// A share may differ from the promise by so many thousandths of the processor: a run holds no whole number
/// of periods.
const TOLERANCE: u64 = 10;

/// Says what the run has shown.
pub fn judge(members: &Members) -> bool {
    if members.hog().overruns() == 0 {
        println!("The hog was never stopped inside the server.");
        return false;
    }
    if REAL_TIME {
        all_were_served(members)
    } else {
        all_got_their_shares(members)
    }
}

fn all_were_served(members: &Members) -> bool {
    for member in members.iter() {
        if member.report.done() == 0 {
            println!("{} was never served.", member.plan.name);
            return false;
        }
    }
    println!(
        "All went on, although the hog comes before the clients and tried to keep the server for"
    );
    println!("itself. (In the host's time, shares depend on what else the host does.)");
    true
}

fn all_got_their_shares(members: &Members) -> bool {
    let received = |member: &Member| member.received(members.time());
    for member in members.iter() {
        let (name, promised) = (member.plan.name, member.promised());
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
