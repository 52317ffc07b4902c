//! I/O ports (Intel SDM vol. 1, chapter 19).
//!
//! User mode has no access to them: the task state has no permission map. The holder of a capability
//! invokes the kernel instead.

mod issued;

pub use issued::IssuedPorts;

use abi::Method;
use kernel::cap::Cap as AnyCap;
use kernel::invoke::{Answer, Error, Invocation, Outcome, allow, ensure};
use kernel::{ExclusiveKernel, Kernel};
use x86_64::instructions::port::Port;

use crate::cap::{Cap, PortsCap};
use crate::{Platform, X86_64};

/// Performs an invocation of the control of I/O ports.
///
/// # Errors
/// As specified by the ABI.
#[cfg_attr(target_os = "none", optimize(size))]
pub fn invoke_control<P: Platform>(
    kernel: &mut ExclusiveKernel<X86_64<P>>,
    invocation: &Invocation<X86_64<P>>,
) -> Outcome {
    allow(invocation.method == Method::X86IoPortControlIssue)?;
    invocation.require(4, 1)?;
    // Port numbers have 16 bits; the other bits of the words are ignored.
    let first = invocation.word(kernel, 0) as u16;
    let last = invocation.word(kernel, 1) as u16;
    let (index, depth) = (invocation.word(kernel, 2), invocation.word(kernel, 3));
    ensure(first <= last, Error::InvalidArgument(1))?;
    let ports = PortsCap { first, last };
    ensure(!kernel.arch.ports.any(ports), Error::RevokeFirst)?;
    let slot = invocation.find_empty_slot(kernel, 0, (index, depth))?;

    kernel.arch.ports.issue(ports);
    kernel.insert_copy(invocation.slot, slot, AnyCap::Arch(Cap::Ports(ports)));
    Ok(Answer::Nothing)
}

/// Performs an invocation of I/O ports.
///
/// # Errors
/// As specified by the ABI.
#[cfg_attr(target_os = "none", optimize(size))]
pub fn invoke<P: Platform>(
    kernel: &Kernel<X86_64<P>>,
    invocation: &Invocation<X86_64<P>>,
    cap: PortsCap,
) -> Outcome {
    let (bytes, words) = match invocation.method {
        Method::X86IoPortIn8 => (1, 1),
        Method::X86IoPortIn16 => (2, 1),
        Method::X86IoPortIn32 => (4, 1),
        Method::X86IoPortOut8 => (1, 2),
        Method::X86IoPortOut16 => (2, 2),
        Method::X86IoPortOut32 => (4, 2),
        _ => return Err(Error::IllegalOperation.into()),
    };
    invocation.require(words, 0)?;
    let port = invocation.word(kernel, 0) as u16;
    allow(cap.contains(port, bytes))?;

    // SAFETY: the holder of the capability is responsible for the effect on the device.
    unsafe {
        if words == 1 {
            Ok(Answer::word(match bytes {
                1 => Port::<u8>::new(port).read() as usize,
                2 => Port::<u16>::new(port).read() as usize,
                _ => Port::<u32>::new(port).read() as usize,
            }))
        } else {
            let data = invocation.word(kernel, 1);
            match bytes {
                1 => Port::new(port).write(data as u8),
                2 => Port::new(port).write(data as u16),
                _ => Port::new(port).write(data as u32),
            }
            Ok(Answer::Nothing)
        }
    }
}
