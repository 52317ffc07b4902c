//! Invocations of kernel objects.

use crate::cap::CPtr;
use crate::message::Message;
use crate::{Error, Result, syscall};

/// The label of a method as a compile-time constant.
macro_rules! label {
    ($method:ident) => {
        const { abi::Method::$method.number() }
    };
}
pub(crate) use label;

/// The label of a method that is an option of the build. If this build lacks it, returns the error that the
/// kernel would.
macro_rules! optional_label {
    ($method:ident) => {
        const { abi::Method::$method.checked_number() }.ok_or($crate::Error::IllegalOperation)?
    };
}
pub(crate) use optional_label;

/// Invokes `object` and waits for the reply.
#[inline(always)]
pub fn invoke(
    object: CPtr,
    label: usize,
    words: &[usize],
    capabilities: &[CPtr],
) -> Result<Message> {
    request(
        object,
        Message::new(label, words).with_capabilities(capabilities),
    )
}

/// Invokes `object` with a message, and waits for the reply.
#[inline(always)]
pub(crate) fn request(object: CPtr, request: Message) -> Result<Message> {
    let answer = syscall::call(object, request);
    if answer.label() == 0 {
        Ok(answer)
    } else {
        Err(Error::from_answer(&answer))
    }
}

/// Invokes `object`, for methods without a result.
#[inline(always)]
pub fn perform(object: CPtr, label: usize, words: &[usize], capabilities: &[CPtr]) -> Result {
    invoke(object, label, words, capabilities).map(drop)
}
