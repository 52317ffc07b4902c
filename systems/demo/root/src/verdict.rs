//! Whether the run has shown what it should, and what it has shown.
//!
//! An emulator is itself kept waiting by the machine that it runs on, and the time that it loses is
//! charged to whoever was running. So the bounds of failure are wide: without enforcement, the hog
//! would have had everything.

use crate::members::{Member, Members};
use userlib::println;

/// Failure: more than the promise by so many thousandths of the processor,
const FAR_MORE: u64 = 50;
/// or less than this part of the promise.
const FAR_LESS: u64 = 2;
/// Worth a remark: less than the promise by more than this part of it.
const LESS: u64 = 20;

/// Says what the run has shown.
pub fn judge(members: &Members) -> bool {
    let received = |member: &Member| member.received(members.time());
    for member in members.iter() {
        let (name, promised) = (member.plan.name, member.promised());
        if received(member) > promised + FAR_MORE {
            println!("{name} got more than it was promised: budgets are not enforced.");
            return false;
        }
        if received(member) < promised / FAR_LESS {
            println!("{name} got much less than it was promised.");
            return false;
        }
    }
    if members.hog().overruns() == 0 {
        println!("The hog was never stopped inside the server.");
        return false;
    }

    println!(
        "Everybody got its share, and the hog no more than that, although it comes before the"
    );
    println!("clients and tried to keep the server for itself.");
    let is_disturbed = |member: &Member| {
        let promised = member.promised();
        received(member) < promised - promised / LESS
            || member.report.longest_blackout() > member.plan.period.0
    };
    if members.iter().any(is_disturbed) {
        println!(
            "(Where a share is smaller than promised, or a blackout longer than a period, the"
        );
        println!("emulator had to wait for the machine that it runs on.)");
    }
    true
}
