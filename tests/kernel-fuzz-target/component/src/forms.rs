//! The message words and capabilities that the methods of the interface take.

use abi::Method;

use crate::arch;
use crate::kind::Kind;

/// The meaning of a word, or of several words in sequence, of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Any number.
    Any,
    /// A number below this one.
    Below(usize),
    /// Index and depth of an empty slot in the CNode: the target for 0, else the extra capability of this
    /// number.
    Empty(usize),
    /// Index and depth of a slot in use, in the same CNode.
    Full(usize),
    /// Index and depth 0 for the CNode itself, and the first of some empty slots in it.
    Range(usize),
    /// Type and size of an object.
    Object,
    /// Rights.
    Rights,
    /// A badge, or a guard for a CNode of the component.
    Data,
    /// A priority.
    Priority,
    /// Budget and period.
    Budget,
    /// A duration in ticks.
    Ticks,
    /// A duration in microseconds.
    Microseconds,
    /// The address of a page.
    Page,
    /// Start and end of a part of a page.
    Span,
    /// The registers of a thread that makes system calls.
    Registers,
    /// The number of an I/O port without a device.
    Port,
}

/// How a method is called.
#[derive(Clone, Copy, Debug)]
pub struct Form {
    /// The method.
    pub method: Method,
    /// The kind of object.
    pub on: Kind,
    /// The message.
    pub words: &'static [Part],
    /// The extra capabilities; [`Kind::None`] for one that may be missing.
    pub caps: &'static [Kind],
}

/// A form, in one line.
pub(crate) const fn form(
    method: Method,
    on: Kind,
    words: &'static [Part],
    caps: &'static [Kind],
) -> Form {
    Form {
        method,
        on,
        words,
        caps,
    }
}

/// The forms of all architectures.
pub const COMMON: &[Form] = {
    use Kind::{
        CNode, Domain, Endpoint, Frame, IrqControl, IrqHandler, Notification, SchedContext,
        SchedControl, Space, Thread, Untyped,
    };
    use Method::*;
    use Part::*;
    &[
        form(
            UntypedRetype,
            Untyped,
            &[Object, Range(1), Below(6)],
            &[CNode],
        ),
        form(TcbReadRegisters, Thread, &[Below(2), Below(40)], &[]),
        form(TcbWriteRegisters, Thread, &[Below(2), Registers], &[]),
        form(TcbCopyRegisters, Thread, &[Below(16)], &[Thread]),
        form(
            TcbConfigure,
            Thread,
            &[Data, Below(1), Page],
            &[CNode, Space, Frame],
        ),
        form(TcbSetPriority, Thread, &[Priority], &[Thread]),
        form(TcbSetMcPriority, Thread, &[Priority], &[Thread]),
        form(TcbSetCriticality, Thread, &[Below(3)], &[Thread]),
        form(TcbSetMcCriticality, Thread, &[Below(3)], &[Thread]),
        form(
            TcbSetSchedParams,
            Thread,
            &[Priority, Priority],
            &[Thread, SchedContext, Endpoint],
        ),
        form(TcbSetTimeoutEndpoint, Thread, &[], &[Endpoint]),
        form(TcbSetIpcBuffer, Thread, &[Page], &[Frame]),
        form(
            TcbSetSpace,
            Thread,
            &[Data, Below(1)],
            &[Endpoint, CNode, Space],
        ),
        form(TcbSuspend, Thread, &[], &[]),
        form(TcbResume, Thread, &[], &[]),
        form(TcbBindNotification, Thread, &[], &[Notification]),
        form(TcbUnbindNotification, Thread, &[], &[]),
        form(
            TcbSetBreakpoint,
            Thread,
            &[Below(11), Page, Below(3), Below(9), Below(4)],
            &[],
        ),
        form(TcbGetBreakpoint, Thread, &[Below(11)], &[]),
        form(TcbUnsetBreakpoint, Thread, &[Below(11)], &[]),
        form(
            TcbConfigureSingleStepping,
            Thread,
            &[Below(11), Below(9)],
            &[],
        ),
        form(TcbSetTlsBase, Thread, &[Any], &[]),
        form(TcbSetFlags, Thread, &[Below(4), Below(4)], &[]),
        form(CNodeRevoke, CNode, &[Full(0)], &[]),
        form(CNodeDelete, CNode, &[Full(0)], &[]),
        form(CNodeCancelBadgedSends, CNode, &[Full(0)], &[]),
        form(CNodeCopy, CNode, &[Empty(0), Full(1), Rights], &[CNode]),
        form(
            CNodeMint,
            CNode,
            &[Empty(0), Full(1), Rights, Data],
            &[CNode],
        ),
        form(CNodeMove, CNode, &[Empty(0), Full(1)], &[CNode]),
        form(CNodeMutate, CNode, &[Empty(0), Full(1), Data], &[CNode]),
        form(
            CNodeEndpointSetThreshold,
            CNode,
            &[Full(0), Microseconds, Below(4)],
            &[],
        ),
        form(
            CNodeRotate,
            CNode,
            &[Empty(0), Data, Full(1), Data, Full(2)],
            &[CNode, CNode],
        ),
        form(
            IrqIssueIrqHandler,
            IrqControl,
            &[Below(arch::LINES), Empty(1)],
            &[CNode],
        ),
        form(IrqAckIrq, IrqHandler, &[], &[]),
        form(IrqSetIrqHandler, IrqHandler, &[], &[Notification]),
        form(IrqClearIrqHandler, IrqHandler, &[], &[]),
        form(DomainSetSet, Domain, &[Below(1)], &[Thread]),
        form(
            DomainScheduleConfigure,
            Domain,
            &[Below(3), Below(1), Ticks],
            &[],
        ),
        form(DomainScheduleSetStart, Domain, &[Below(2)], &[]),
        form(
            SchedControlConfigureFlags,
            SchedControl,
            &[Budget, Below(9), Any, Below(4)],
            &[SchedContext],
        ),
        form(
            SchedControlSetCriticalityLevel,
            SchedControl,
            &[Below(9)],
            &[],
        ),
        form(SchedContextBind, SchedContext, &[], &[Thread]),
        form(SchedContextBind, SchedContext, &[], &[Notification]),
        form(SchedContextUnbind, SchedContext, &[], &[]),
        form(SchedContextUnbindObject, SchedContext, &[], &[Thread]),
        form(SchedContextUnbindObject, SchedContext, &[], &[Notification]),
        form(SchedContextConsumed, SchedContext, &[], &[]),
        form(SchedContextYieldTo, SchedContext, &[], &[]),
        form(
            SchedContextYieldToTimeout,
            SchedContext,
            &[Microseconds],
            &[],
        ),
    ]
};
