//! Whether the run has shown what it should.

use crate::members::{Member, Members};
use userlib::println;

/// A budget is charged when somebody looks at the clock. On an emulator that is itself kept waiting,
/// a single look can be late by many milliseconds; so the bounds are wide.
const MORE: u64 = 20;
const LESS: u64 = 4;

/// Says what went wrong, if anything did.
pub fn judge(members: &Members, attacks: usize) -> bool {
    let mut good = true;
    for member in members.iter() {
        good &= judge_share(member, member.received(members.time()));
    }
    if members.hog().overruns() < attacks {
        println!("The hog was cut off less often than it should have been.");
        good = false;
    }
    good
}

fn judge_share(member: &Member, received: u64) -> bool {
    let (name, promised) = (member.plan.name, member.promised());
    if received > promised + MORE {
        println!("{name} got more than it was promised.");
        return false;
    }
    if received < promised - promised / LESS {
        println!("{name} got much less than it was promised.");
        return false;
    }
    true
}
