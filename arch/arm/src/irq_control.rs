//! The `IRQControl` methods that only Arm has, and the signal capabilities that one of them issues.

use abi::Method;
use kernel::ExclusiveKernel;
use kernel::arch::{Arch, Irq};
use kernel::cap::Cap;
use kernel::invoke::{Answer, Error, Invocation, Outcome, allow, ensure};
use kernel::sched::CORES;

use crate::interrupt::{InterruptController, Trigger};
use crate::lines::{self, Lines};

/// Number of software-generated interrupts.
const SIGNALS: usize = 16;

/// An Arm architecture with an interrupt controller.
pub trait HasController: Arch {
    /// The kind of controller.
    type Controller: InterruptController;

    /// The line of each core's timer.
    const TIMER: Irq;

    /// The lines of the controller.
    fn lines(&mut self) -> &mut Lines<Self::Controller>;

    /// Acknowledges the timer interrupt and disarms the timer.
    fn acknowledge_timer(&mut self);

    /// The capability that raises software-generated interrupt `number` on core `target`.
    fn signal_cap(number: usize, target: usize) -> Self::Cap;
}

/// The line with the number in a request.
///
/// # Errors
/// [`Error::Range`].
pub fn line<C: InterruptController>(number: usize) -> Result<Irq, Error> {
    ensure(number < C::LINES, Error::range(0, C::LINES - 1))?;
    Ok(Irq(number))
}

/// Performs a method of `IRQControl`.
///
/// # Errors
/// The error that is reported to the caller.
#[cfg_attr(target_os = "none", optimize(size))]
pub fn invoke<A: HasController>(
    kernel: &mut ExclusiveKernel<A>,
    invocation: &Invocation<A>,
) -> Outcome {
    match invocation.method {
        Method::ArmIrqIssueIrqHandlerTrigger => issue_handler(kernel, invocation),
        Method::ArmIrqIssueSgiSignal => issue_signal(kernel, invocation),
        #[cfg(feature = "smp")]
        Method::ArmIrqIssueIrqHandlerTriggerCore => issue_handler_on_core(kernel, invocation),
        _ => Err(Error::IllegalOperation.into()),
    }
}

fn issue_handler<A: HasController>(
    kernel: &mut ExclusiveKernel<A>,
    invocation: &Invocation<A>,
) -> Outcome {
    invocation.require(4, 1)?;
    allow(A::Controller::HAS_TRIGGERS)?;
    let word = |index| invocation.word(kernel, index);
    let (number, trigger, index, depth) = (word(0), word(1), word(2), word(3));
    let irq = line::<A::Controller>(number)?;
    // Not a private line: this request does not name a core; the method for lines of a certain core does.
    allow(CORES == 1 || number >= lines::OWN)?;
    let slot = invocation.find_irq_slot(kernel, irq, (index, depth))?;

    kernel.arch.lines().set_trigger(irq, trigger_of(trigger));
    kernel.issue_irq_handler(irq, invocation.slot, slot);
    Ok(Answer::Nothing)
}

/// Raises a software-generated interrupt for `DebugSendIPI`, with the number and on the core that the
/// current thread's registers name, if both exist.
#[cfg(feature = "smp")]
pub fn send_for_debugging<A: HasController>(kernel: &mut kernel::Kernel<A>) -> bool {
    use abi::registers::{CAP, INFO};
    use kernel::arch::UserContext;

    let Some(thread) = kernel.core.current else {
        return false;
    };
    let context = &kernel[thread].context;
    let (core, number) = (context.get(CAP), context.get(INFO));
    if core < kernel.cores() && number < SIGNALS {
        kernel.arch.lines().send_signal(number, core);
    }
    true
}

fn trigger_of(word: usize) -> Trigger {
    if word == 0 {
        Trigger::Level
    } else {
        Trigger::Edge
    }
}

/// As [`issue_handler`], for a line that is to interrupt a given core. The length of the message is not
/// checked, as the interface specifies.
#[cfg(feature = "smp")]
fn issue_handler_on_core<A: HasController>(
    kernel: &mut ExclusiveKernel<A>,
    invocation: &Invocation<A>,
) -> Outcome {
    let word = |index| invocation.word(kernel, index);
    let (number, trigger, index, depth) = (word(0), word(1), word(2), word(3) & 0xff);
    let core = word(4);
    let hardware = line::<A::Controller>(number)?;
    ensure(core < kernel.cores(), Error::InvalidArgument(0))?;
    let irq = lines::of_core::<A::Controller>(core, hardware);
    let slot = invocation.find_irq_slot(kernel, irq, (index, depth))?;

    let lines = kernel.arch.lines();
    lines.set_trigger(irq, trigger_of(trigger));
    lines.route(irq, core);
    kernel.issue_irq_handler(irq, invocation.slot, slot);
    Ok(Answer::Nothing)
}

fn issue_signal<A: HasController>(
    kernel: &mut ExclusiveKernel<A>,
    invocation: &Invocation<A>,
) -> Outcome {
    invocation.require(4, 1)?;
    let word = |index| invocation.word(kernel, index);
    let (number, target, index, depth) = (word(0), word(1), word(2), word(3));
    allow(A::Controller::SIGNAL_TARGETS > 0)?;
    ensure(number < SIGNALS, Error::range(0, SIGNALS - 1))?;
    let is_target = target < A::Controller::SIGNAL_TARGETS;
    ensure(is_target, Error::InvalidArgument(1))?;
    let slot = invocation.find_empty_slot(kernel, 0, (index, depth))?;

    kernel.insert_copy(
        invocation.slot,
        slot,
        Cap::Arch(A::signal_cap(number, target)),
    );
    Ok(Answer::Nothing)
}
