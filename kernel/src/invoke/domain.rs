//! Methods of the domain capability.

use abi::config::{DOMAIN_SCHEDULE_LENGTH, DOMAINS};
use abi::{Method, WORD_BITS};

use super::{Answer, Error, Invocation, Outcome, ensure};
use crate::ExclusiveKernel;
use crate::arch::Arch;
use crate::cap::Cap;
use crate::object::{DomainEntry, MAX_DURATION};
use crate::time::Ticks;

impl<A: Arch> Invocation<A> {
    #[cfg_attr(target_os = "none", optimize(size))]
    pub(super) fn invoke_domain(&self, kernel: &mut ExclusiveKernel<A>) -> Outcome {
        match self.method {
            Method::DomainSetSet => self.set_domain(kernel),
            Method::DomainScheduleConfigure => self.configure_schedule(kernel),
            Method::DomainScheduleSetStart => self.set_schedule_start(kernel),
            _ => Err(Error::IllegalOperation.into()),
        }
    }

    #[cfg_attr(target_os = "none", optimize(size))]
    fn set_domain(&self, kernel: &mut ExclusiveKernel<A>) -> Outcome {
        self.require(1, 0)?;
        let domain = self.word(kernel, 0);
        ensure(domain < DOMAINS, Error::InvalidArgument(0))?;
        self.require(1, 1)?;
        let Cap::Thread(thread) = self.extra_cap(kernel, 0) else {
            return Err(Error::InvalidArgument(1).into());
        };
        kernel.change_queue_position(thread, |kernel| kernel[thread].domain = domain as u8);
        Ok(Answer::Nothing)
    }

    #[cfg_attr(target_os = "none", optimize(size))]
    fn configure_schedule(&self, kernel: &mut ExclusiveKernel<A>) -> Outcome {
        self.require(if WORD_BITS == 64 { 3 } else { 4 }, 0)?;
        let index = self.number_in(kernel, 0, 0..=DOMAIN_SCHEDULE_LENGTH - 2)?;
        let domain = self.number_in(kernel, 1, 0..=DOMAINS - 1)?;
        let duration = Ticks(self.time(kernel, 2).0.0);
        let is_end = duration == Ticks::ZERO;
        ensure(duration <= MAX_DURATION, Error::InvalidArgument(2))?;
        ensure(!is_end || domain == 0, Error::InvalidArgument(1))?;
        let is_start = index == kernel.domains.start;
        ensure(!is_end || !is_start, Error::InvalidArgument(2))?;
        let entry = DomainEntry {
            domain: domain as u8,
            duration,
        };
        kernel
            .exclusive()
            .each_core(|kernel| kernel.domains.entries[index] = entry);
        Ok(Answer::Nothing)
    }

    #[cfg_attr(target_os = "none", optimize(size))]
    fn set_schedule_start(&self, kernel: &mut ExclusiveKernel<A>) -> Outcome {
        self.require(1, 0)?;
        let index = self.number_in(kernel, 0, 0..=DOMAIN_SCHEDULE_LENGTH - 1)?;
        let is_end = kernel.domains.entries[index].is_end();
        ensure(!is_end, Error::InvalidArgument(0))?;
        kernel.exclusive().modify_each_core(|kernel| {
            kernel.domains.start = index;
            kernel.enter_domain(index);
        });
        Ok(Answer::Nothing)
    }
}
