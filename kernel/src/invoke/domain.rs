//! Methods of the domain capability.

use abi::config::{DOMAIN_SCHEDULE_LENGTH, DOMAINS};
use abi::{Method, WORD_BITS};

use super::{Answer, Error, Invocation, Outcome};
use crate::Kernel;
use crate::arch::Arch;
use crate::cap::Cap;
use crate::object::{DomainEntry, MAX_DURATION};
use crate::time::Ticks;

impl<A: Arch> Invocation<A> {
    pub(super) fn invoke_domain(&self, kernel: &mut Kernel<A>) -> Outcome {
        match self.method {
            Method::DomainSetSet => self.set_domain(kernel),
            Method::DomainScheduleConfigure => self.configure_schedule(kernel),
            Method::DomainScheduleSetStart => self.set_schedule_start(kernel),
            _ => Err(Error::IllegalOperation.into()),
        }
    }

    fn set_domain(&self, kernel: &mut Kernel<A>) -> Outcome {
        self.require(1, 0)?;
        let domain = self.word(kernel, 0);
        if domain >= DOMAINS {
            return Err(Error::InvalidArgument(0).into());
        }
        self.require(1, 1)?;
        let Cap::Thread(thread) = self.extra_cap(kernel, 0) else {
            return Err(Error::InvalidArgument(1).into());
        };
        kernel.change_queue_position(thread, |kernel| kernel[thread].domain = domain as u8);
        Ok(Answer::Nothing)
    }

    fn configure_schedule(&self, kernel: &mut Kernel<A>) -> Outcome {
        self.require(if WORD_BITS == 64 { 3 } else { 4 }, 0)?;
        let index = self.word(kernel, 0);
        let domain = self.word(kernel, 1);
        let duration = Ticks(self.time(kernel, 2).0.0);
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

    fn set_schedule_start(&self, kernel: &mut Kernel<A>) -> Outcome {
        self.require(1, 0)?;
        let index = self.word(kernel, 0);
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
}
