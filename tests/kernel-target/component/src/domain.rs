//! Domains: the checks of each method, in kernels with one domain or several.

use crate::check_eq;
use crate::support::events::{note, noted};
use crate::support::protocol::names;
use crate::support::{ABOVE, Outcome, Test};
use abi::config::{DOMAIN_SCHEDULE_LENGTH, DOMAINS};
use abi::{Method, WORD_BITS};
use userlib::cap::{DomainSet, Endpoint, Tcb};
use userlib::invoke::invoke;
use userlib::{CPtr, Capability, Error, Result};

tests![
    labels_of_others_are_illegal,
    short_messages_are_truncated,
    domains_end_at_the_last,
    only_threads_have_domains,
    the_current_thread_may_be_set,
    waiting_threads_may_be_set,
    schedule_entries_are_checked_in_order,
    schedule_entries_can_be_written,
    a_start_must_be_an_entry,
];

fn call(object: impl Capability, method: Method, words: &[usize], caps: &[CPtr]) -> Result {
    invoke(object.cptr(), method.number(), words, caps).map(drop)
}

fn domains(test: &Test) -> DomainSet {
    test.startup.capability(names::DOMAIN)
}

const fn up_to(maximum: usize) -> Result {
    Err(Error::Range {
        minimum: 0,
        maximum,
    })
}

fn labels_of_others_are_illegal(test: &mut Test) -> Outcome {
    for method in [
        Method::InvalidInvocation,
        Method::UntypedRetype,
        Method::TcbSuspend,
        Method::SchedControlConfigureFlags,
    ] {
        let result = call(domains(test), method, &[0; 8], &[test.tcb.0]);
        check_eq!(result, Err(Error::IllegalOperation));
    }
    Ok(())
}

fn short_messages_are_truncated(test: &mut Test) -> Outcome {
    let truncated = Err(Error::TruncatedMessage);
    let (set, tcb) = (domains(test), test.tcb.0);
    check_eq!(call(set, Method::DomainSetSet, &[], &[tcb]), truncated);
    check_eq!(call(set, Method::DomainSetSet, &[0], &[]), truncated);
    let length = if WORD_BITS == 64 { 3 } else { 4 };
    for length in 0..length {
        let words = [usize::MAX; 4];
        let method = Method::DomainScheduleConfigure;
        check_eq!(call(set, method, &words[..length], &[]), truncated);
    }
    check_eq!(
        call(set, Method::DomainScheduleSetStart, &[], &[]),
        truncated
    );
    Ok(())
}

fn domains_end_at_the_last(test: &mut Test) -> Outcome {
    let new: Tcb = test.create()?;
    for domain in [DOMAINS, DOMAINS + 1, 256, usize::MAX] {
        let result = domains(test).set(domain, new);
        check_eq!(result, Err(Error::InvalidArgument(0)));
        // The number is checked before the thread.
        let result = call(domains(test), Method::DomainSetSet, &[domain], &[]);
        check_eq!(result, Err(Error::InvalidArgument(0)));
    }
    for domain in 0..DOMAINS {
        check_eq!(domains(test).set(domain, new), Ok(()));
    }
    Ok(())
}

fn only_threads_have_domains(test: &mut Test) -> Outcome {
    let endpoint: Endpoint = test.create()?;
    for object in [endpoint.0, CPtr::NULL, test.vspace.0] {
        let result = domains(test).set(0, Tcb(object));
        check_eq!(result, Err(Error::InvalidArgument(1)));
    }
    Ok(())
}

fn the_current_thread_may_be_set(test: &mut Test) -> Outcome {
    check_eq!(domains(test).set(0, test.tcb), Ok(()));
    check_eq!(domains(test).set(0, test.tcb), Ok(()));
    Ok(())
}

fn waiting_threads_may_be_set(test: &mut Test) -> Outcome {
    let endpoint: Endpoint = test.create()?;
    let waiting = test.spawn(ABOVE, move || {
        note('a');
        endpoint.wait();
        note('b');
    })?;
    let ready = test.thread(crate::support::BELOW, || note('c'))?;
    ready.start()?;
    let set = domains(test);
    for thread in [waiting, ready] {
        check_eq!(set.set(0, thread.tcb), Ok(()));
    }
    check_eq!(noted(), "a");
    endpoint.send(userlib::Message::empty(0));
    check_eq!(noted(), "ab");
    test.let_others_run()?;
    check_eq!(noted(), "abc");
    Ok(())
}

fn schedule_entries_are_checked_in_order(test: &mut Test) -> Outcome {
    let set = domains(test);
    const LAST: usize = DOMAIN_SCHEDULE_LENGTH - 2;
    const LONG: u64 = 1 << 56;
    for index in [LAST + 1, LAST + 2, usize::MAX] {
        check_eq!(set.configure_schedule(index, usize::MAX, LONG), up_to(LAST));
    }
    for domain in [DOMAINS, usize::MAX] {
        let result = set.configure_schedule(LAST, domain, LONG);
        check_eq!(result, up_to(DOMAINS - 1));
    }
    for ticks in [LONG, u64::MAX] {
        let result = set.configure_schedule(LAST, 0, ticks);
        check_eq!(result, Err(Error::InvalidArgument(2)));
    }
    // The entry at which the schedule starts cannot be an end marker.
    let result = set.configure_schedule(0, 0, 0);
    check_eq!(result, Err(Error::InvalidArgument(2)));
    Ok(())
}

fn schedule_entries_can_be_written(test: &mut Test) -> Outcome {
    const LONGEST: u64 = (1 << 56) - 1;
    for ticks in [1_000_000, LONGEST] {
        check_eq!(domains(test).configure_schedule(0, 0, ticks), Ok(()));
        check_eq!(domains(test).set_schedule_start(0), Ok(()));
    }
    Ok(())
}

fn a_start_must_be_an_entry(test: &mut Test) -> Outcome {
    let set = domains(test);
    for index in [DOMAIN_SCHEDULE_LENGTH, usize::MAX] {
        let result = set.set_schedule_start(index);
        check_eq!(result, up_to(DOMAIN_SCHEDULE_LENGTH - 1));
    }
    // The last entry is always an end marker.
    let result = set.set_schedule_start(DOMAIN_SCHEDULE_LENGTH - 1);
    check_eq!(result, Err(Error::InvalidArgument(0)));
    check_eq!(set.set_schedule_start(0), Ok(()));
    Ok(())
}
