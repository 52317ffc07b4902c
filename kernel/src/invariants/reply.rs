//! Reply objects and the call chains that they form.

use super::{Check, Reach, require};
use crate::Kernel;
use crate::arch::Arch;
use crate::config::CORES;
use crate::object::{Above, Reply, ThreadState};
use crate::token::Ptr;

/// Checks a reply object and its position in a call chain.
///
/// # Errors
/// The first violation found.
pub fn check_reply<A: Arch>(kernel: &Kernel<A>, reply: Ptr<Reply<A>>, reach: Reach) -> Check {
    let require = |holds, rule| require(holds, reply.address(), rule);
    let object = &kernel[reply];
    let is_call = match object.thread().map(|thread| kernel[thread].state) {
        None => false,
        Some(
            ThreadState::BlockedOnReply { reply: other }
            | ThreadState::BlockedOnReturn { reply: other },
        ) => {
            require(other == reply, "a caller knows its reply object")?;
            true
        }
        Some(ThreadState::BlockedOnReceive { reply: other, .. }) => {
            require(other == Some(reply), "a receiver knows its reply object")?;
            false
        }
        Some(_) => return require(false, "the thread of a reply object waits with it"),
    };
    let core = match (object.thread(), object.above) {
        (_, Above::Context(context) | Above::Limited(context)) => Some(kernel[context].core),
        (Some(receiver), _) if !is_call => Some(kernel[receiver].core),
        _ => None,
    };
    rules! { require;
        "a reply object belongs to the core of its waiting thread, or of the donated context that it returns":
            CORES == 1 || core.is_none_or(|core| object.core() == core);
    }
    let is_stacked = !matches!(object.above, Above::None) || object.below.is_some();
    require(is_call || !is_stacked, "only a call is in a call chain")?;
    match object.above {
        Above::None => {}
        Above::Reply(above) => require(
            kernel[above].below == Some(reply),
            "the inner call of a call chain knows the outer one",
        )?,
        Above::Context(context) | Above::Limited(context) => require(
            kernel[context].reply == Some(reply),
            "the context of a call chain knows its top",
        )?,
    }
    if let Some(below) = object.below {
        rules! { require;
            "the outer call of a call chain knows the inner one":
                matches!(kernel[below].above, Above::Reply(above) if above == reply);
        }
    }
    require(ends(kernel, reply, reach), "a call chain has an end")
}

/// Whether the call chain below ends: of two iterators, one twice as fast, both meet only in a cycle (Knuth,
/// The Art of Computer Programming, vol. 2, section 3.1, exercise 6).
fn ends<A: Arch>(kernel: &Kernel<A>, reply: Ptr<Reply<A>>, reach: Reach) -> bool {
    let below = |reply: Option<Ptr<Reply<A>>>| reply.and_then(|reply| kernel[reply].below);
    let (mut slow, mut fast) = (Some(reply), below(Some(reply)));
    for _ in 0..reach.members {
        if fast.is_none() {
            return true;
        }
        if fast == slow {
            return false;
        }
        (slow, fast) = (below(slow), below(below(fast)));
    }
    true
}
