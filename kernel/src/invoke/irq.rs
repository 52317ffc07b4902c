//! Methods of interrupt capabilities: issuing handlers, and the methods of handlers.

use abi::{Method, Rights};

use super::{Answer, Error, Failure, Invocation, Outcome, ensure};
use crate::arch::{Arch, Irq};
use crate::cap::Cap;
use crate::slot::Slot;
use crate::token::Ptr;
use crate::{ExclusiveKernel, Kernel};

/// Whether no handler for this line can be issued now.
pub(crate) fn is_taken<A: Arch>(kernel: &Kernel<A>, irq: Irq) -> bool {
    kernel.arch.is_reserved(irq) || kernel.irqs[irq.0].is_issued
}

impl<A: Arch> Kernel<A> {
    /// Issues the handler of a line into `slot`, as a child of the capability in `control`, and unmasks the
    /// line.
    #[cfg_attr(target_os = "none", optimize(size))]
    pub fn issue_irq_handler(&mut self, irq: Irq, control: Ptr<Slot<A>>, slot: Ptr<Slot<A>>) {
        self.irqs[irq.0].is_issued = true;
        self.insert_copy(control, slot, Cap::IrqHandler(irq));
        self.arch.mask_interrupt(irq, false);
    }

    /// Handles an interrupt on a line that a user owns: masks it until it is acknowledged, and signals.
    pub(crate) fn deliver_interrupt(&mut self, irq: Irq) {
        self.arch.mask_interrupt(irq, true);
        let Some(entry) = self.irqs.get(irq.0) else {
            return;
        };
        if let Cap::Notification(cap) = entry.notification.cap()
            && entry.is_issued
            && cap.rights.contains(Rights::WRITE)
        {
            self.signal(cap.object, cap.badge);
        }
    }
}

impl<A: Arch> Invocation<A> {
    /// The empty slot for the handler of a line, by its index and depth below the first extra capability. For the
    /// architectures' own methods of `IRQControl`, too.
    ///
    /// # Errors
    /// [`Error::RevokeFirst`] if the line is in use; as for [`Invocation::find_empty_slot`].
    #[cfg_attr(target_os = "none", optimize(size))]
    pub fn find_irq_slot(
        &self,
        kernel: &mut ExclusiveKernel<A>,
        irq: Irq,
        destination: (usize, usize),
    ) -> Result<Ptr<Slot<A>>, Failure> {
        ensure(!is_taken(kernel, irq), Error::RevokeFirst)?;
        self.find_empty_slot(kernel, 0, destination)
    }

    #[cfg_attr(target_os = "none", optimize(size))]
    pub(super) fn invoke_irq_control(&self, kernel: &mut ExclusiveKernel<A>) -> Outcome {
        if self.method != Method::IrqIssueIrqHandler {
            return A::invoke_irq_control(kernel, self);
        }
        self.require(3, 1)?;
        let irq = kernel.arch.plain_interrupt(self.word(kernel, 0))?;
        let destination = (self.word(kernel, 1), self.word(kernel, 2));
        let slot = self.find_irq_slot(kernel, irq, destination)?;
        kernel.issue_irq_handler(irq, self.slot, slot);
        Ok(Answer::Nothing)
    }

    pub(super) fn invoke_irq_handler(&self, kernel: &mut ExclusiveKernel<A>, irq: Irq) -> Outcome {
        match self.method {
            // The line may raise the interrupt again.
            Method::IrqAckIrq => kernel.arch.mask_interrupt(irq, false),
            Method::IrqSetIrqHandler => {
                self.require(0, 1)?;
                let source = self.extra_slot(0);
                match kernel[source].cap() {
                    Cap::Notification(cap) if cap.rights.contains(Rights::WRITE) => {}
                    _ => return Err(Error::InvalidCapability(0).into()),
                }
                let slot = kernel.irqs.slot(irq);
                let cap = kernel[source].cap();
                kernel.delete(slot)?;
                if kernel[source].raw() == cap.encode() {
                    kernel.insert_copy(source, slot, cap);
                }
            }
            Method::IrqClearIrqHandler => {
                let slot = kernel.irqs.slot(irq);
                kernel.delete(slot)?;
            }
            _ => return Err(Error::IllegalOperation.into()),
        }
        Ok(Answer::Nothing)
    }
}
