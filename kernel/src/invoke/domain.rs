//! Methods of the domain capability.

use abi::config::{DOMAIN_SCHEDULE_LENGTH, DOMAINS};
use abi::{Method, WORD_BITS};

use super::{Answer, Error, Invocation, Outcome};
use crate::Kernel;
use crate::arch::Arch;
use crate::cap::Cap;
use crate::object::{DomainEntry, MAX_DURATION};
use crate::time::Ticks;

pub(super) fn invoke<A: Arch>(kernel: &mut Kernel<A>, invocation: &Invocation<A>) -> Outcome {
    match invocation.method {
        Method::DomainSetSet => set(kernel, invocation),
        Method::DomainScheduleConfigure => configure(kernel, invocation),
        Method::DomainScheduleSetStart => set_start(kernel, invocation),
        _ => Err(Error::IllegalOperation.into()),
    }
}

fn set<A: Arch>(kernel: &mut Kernel<A>, invocation: &Invocation<A>) -> Outcome {
    invocation.require(1, 0)?;
    let domain = invocation.word(kernel, 0);
    if domain >= DOMAINS {
        return Err(Error::InvalidArgument(0).into());
    }
    invocation.require(1, 1)?;
    let Cap::Thread(thread) = invocation.extra_cap(kernel, 0) else {
        return Err(Error::InvalidArgument(1).into());
    };
    kernel.change_queue_position(thread, |kernel| kernel[thread].domain = domain as u8);
    Ok(Answer::Nothing)
}

fn configure<A: Arch>(kernel: &mut Kernel<A>, invocation: &Invocation<A>) -> Outcome {
    invocation.require(if WORD_BITS == 64 { 3 } else { 4 }, 0)?;
    let index = invocation.word(kernel, 0);
    let domain = invocation.word(kernel, 1);
    let duration = Ticks(invocation.time(kernel, 2).0.0);
    if index >= DOMAIN_SCHEDULE_LENGTH - 1 {
        return Err(Error::range(0, DOMAIN_SCHEDULE_LENGTH - 2).into());
    }
    if domain >= DOMAINS {
        return Err(Error::range(0, DOMAINS - 1).into());
    }
    if duration > MAX_DURATION {
        return Err(Error::InvalidArgument(2).into());
    }
    if duration == Ticks::ZERO && domain != 0 {
        return Err(Error::InvalidArgument(1).into());
    }
    if duration == Ticks::ZERO && index == kernel.domains.start {
        return Err(Error::InvalidArgument(2).into());
    }
    let entry = DomainEntry {
        domain: domain as u8,
        duration,
    };
    kernel
        .exclusive()
        .each_core(|kernel| kernel.domains.entries[index] = entry);
    Ok(Answer::Nothing)
}

fn set_start<A: Arch>(kernel: &mut Kernel<A>, invocation: &Invocation<A>) -> Outcome {
    invocation.require(1, 0)?;
    let index = invocation.word(kernel, 0);
    if index >= DOMAIN_SCHEDULE_LENGTH {
        return Err(Error::range(0, DOMAIN_SCHEDULE_LENGTH - 1).into());
    }
    if kernel.domains.entries[index].is_end() {
        return Err(Error::InvalidArgument(0).into());
    }
    kernel.exclusive().modify_each_core(|kernel| {
        kernel.domains.start = index;
        kernel.enter_domain(index);
    });
    Ok(Answer::Nothing)
}
