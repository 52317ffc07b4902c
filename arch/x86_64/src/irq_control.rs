//! Methods of `IRQControl` that only this architecture has.

use abi::Method;
use kernel::ExclusiveKernel;
use kernel::invoke::{Answer, Error, Invocation, Outcome, allow, ensure};

use crate::apic::{Polarity, Trigger};
use crate::lines;
use crate::{Platform, X86_64};

/// Performs such a method.
///
/// # Errors
/// As specified by the ABI.
#[cfg_attr(target_os = "none", optimize(size))]
pub fn invoke<P: Platform>(
    kernel: &mut ExclusiveKernel<X86_64<P>>,
    invocation: &Invocation<X86_64<P>>,
) -> Outcome {
    let is_pin = match invocation.method {
        Method::X86IrqIssueIrqHandlerIoapic => true,
        Method::X86IrqIssueIrqHandlerMsi => false,
        _ => return Err(Error::IllegalOperation.into()),
    };
    invocation.require(7, 1)?;
    let [index, depth, a, b, c, d, number] =
        core::array::from_fn(|word| invocation.word(kernel, word));
    let irq = lines::line(number)?;
    let slot = invocation.find_irq_slot(kernel, irq, (index, depth))?;

    if is_pin {
        let [controller, pin, level, polarity] = [a, b, c, d];
        let lines = &mut kernel.arch.lines;
        allow(lines.controllers() > 0)?;
        at_most(controller, lines.controllers() - 1)?;
        at_most(pin, lines.pins(controller) - 1)?;
        at_most(level, 1)?;
        at_most(polarity, 1)?;
        let trigger = if level == 1 {
            Trigger::Level
        } else {
            Trigger::Edge
        };
        let polarity = if polarity == 1 {
            Polarity::Low
        } else {
            Polarity::High
        };
        lines.use_pin(irq, controller, pin, trigger, polarity);
    } else {
        // Bus, device, function and handle: the user programs the device, the kernel only checks the range.
        at_most(a, 255)?;
        at_most(b, 31)?;
        at_most(c, 7)?;
        kernel.arch.lines.use_message(irq);
    }
    kernel.issue_irq_handler(irq, invocation.slot, slot);
    Ok(Answer::Nothing)
}

fn at_most(value: usize, maximum: usize) -> Result<(), Error> {
    ensure(value <= maximum, Error::range(0, maximum))
}
