//! Invocations of objects.
//!
//! There is one file per object. Each decodes the message into a request, makes all checks, and only then
//! performs the request, so that an operation that fails changes nothing.

mod breakpoint;
mod cancel_badged;
mod cnode;
mod deletion;
mod domain;
mod invocation;
mod irq;
mod lookup;
mod sched_context;
mod sched_control;
mod thread;
mod thread_spaces;
mod untyped;

pub(crate) use crate::error::Missing;
pub use crate::error::{Error, Failure, Preempted, allow, ensure};
pub use invocation::{Answer, Done, Invocation, Outcome};
pub(crate) use lookup::Invoked;
pub(crate) use untyped::emplace;
pub use untyped::reset;

use abi::Method;

use crate::ExclusiveKernel;
use crate::arch::Arch;
use crate::cap::Cap;
use crate::slot::RawCap;

impl<A: Arch> Invocation<A> {
    /// Performs the invocation of `cap`, of any kind except endpoint, notification and reply object.
    ///
    /// # Errors
    /// The error for the caller, or [`Failure::Preempted`].
    pub(crate) fn perform(&self, kernel: &mut ExclusiveKernel<A>, cap: RawCap) -> Outcome {
        match Cap::decode(cap) {
            Cap::CNode(cnode) => self.invoke_cnode(kernel, cnode),
            Cap::Thread(thread) => self.invoke_thread(kernel, thread),
            Cap::IrqControl => self.invoke_irq_control(kernel),
            Cap::IrqHandler(irq) => self.invoke_irq_handler(kernel, irq),
            Cap::Domain => self.invoke_domain(kernel),
            Cap::SchedContext { object, .. } => self.invoke_context(kernel, object),
            Cap::SchedControl { core } => self.invoke_sched_control(kernel, core),
            Cap::Untyped(untyped) => self.invoke_untyped(kernel, untyped),
            Cap::Arch(_) => A::invoke(kernel, self, cap),
            Cap::Null
            | Cap::Endpoint(_)
            | Cap::Notification(_)
            | Cap::Reply { .. }
            | Cap::Zombie(_) => Err(Error::InvalidCapability(0).into()),
        }
    }

    /// Performs the invocation of untyped memory, or of an architecture-specific object.
    ///
    /// # Errors
    /// As for [`Invocation::perform`].
    #[inline(always)]
    pub(crate) fn perform_on_memory(
        &self,
        kernel: &mut ExclusiveKernel<A>,
        cap: RawCap,
    ) -> Outcome {
        match Cap::<A>::decode(cap) {
            Cap::Untyped(cap) => self.invoke_untyped(kernel, cap),
            _ => A::invoke(kernel, self, cap),
        }
    }
}

/// Whether a capability of this kind cannot be invoked in the send phase of `ReplyRecv`, `NBSendRecv` and
/// `NBSendWait`, which expects no reply: the operation could block or destroy the thread before the receive
/// phase. `YieldToTimeout` can do neither if its caller expects no reply.
#[cold]
pub(crate) fn refuses_send_phase<A: Arch>(cap: RawCap, wanted: Method) -> bool {
    match Cap::<A>::decode(cap) {
        Cap::Thread(_) | Cap::Domain | Cap::CNode(_) | Cap::SchedControl { .. } => true,
        Cap::SchedContext { .. } => wanted != Method::SchedContextYieldToTimeout,
        _ => false,
    }
}

/// The method with this label, if this build has it.
fn method(label: usize) -> Method {
    Method::from_number(label).unwrap_or(Method::InvalidInvocation)
}
