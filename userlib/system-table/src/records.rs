//! The records of a table. Times are in microseconds; an index counts the records of its kind from 0.

use crate::bytes::{choice, record};

record! {
    /// Parameters of a scheduling context.
    Time {
        /// The time that may be used in each period. If equal to the period: round robin.
        budget: u64,
        /// The time after which used budget comes back.
        period: u64,
        /// Replenishments beyond the two that each context has.
        extra_refills: u32,
        /// Whether replenishments follow wake-ups.
        sporadic: bool,
        /// Whether the context is charged while its thread waits at an endpoint.
        idling: bool,
    }
}

record! {
    /// The initialiser after the start.
    Supervisor {
        /// Its time.
        time: Time,
        /// Its priority.
        priority: u8,
        /// Its core.
        core: u32,
        /// Its domain.
        domain: u8,
    }
}

record! {
    /// A turn of a domain.
    Turn {
        /// The domain.
        domain: u8,
        /// How long it takes.
        duration: u64,
    }
}

record! {
    /// An endpoint.
    Endpoint {
        /// The budget that a caller must have left; 0 for none.
        threshold: u64,
        /// Whether the threshold is also the most that the server may use.
        limit: bool,
        /// Whether only callers that donate their context may call.
        donation_required: bool,
        /// Whether the server learns the donated budget.
        tell_budget: bool,
    }
}

record! {
    /// Shared memory.
    Region {
        /// Its size in pages.
        pages: u32,
        /// Whether the processor's caches hold it.
        cacheable: bool,
    }
}

choice! {
    /// Whose time a component uses.
    TimeSource {
        /// Its own.
        Own = 0,
        /// That of its callers; its context is lent to it until it first waits.
        Callers = 1,
    }
}

choice! {
    /// What the supervisor does with a component.
    Action {
        /// It stops the component.
        Stop = 0,
        /// It starts the component again.
        Restart = 1,
        /// It reports, and the component continues with its next replenishment.
        Report = 2,
    }
}

choice! {
    /// Where faults go.
    OnFault {
        /// To the supervisor.
        Supervisor {
            /// What it does.
            action: Action,
        } = 0,
        /// To another component.
        Handler {
            /// The endpoint.
            endpoint: u16,
            /// The badge that names the component.
            badge: u64,
        } = 1,
    }
}

choice! {
    /// Where timeouts go.
    OnTimeout {
        /// Nowhere: the component waits for its next replenishment.
        Wait = 0,
        /// To the supervisor.
        Supervisor {
            /// What it does.
            action: Action,
        } = 1,
        /// To another component.
        Handler {
            /// The endpoint.
            endpoint: u16,
            /// The badge that names the component.
            badge: u64,
        } = 2,
        /// The supervisor lets the component continue on another context.
        Emergency {
            /// That context.
            time: Time,
        } = 3,
    }
}

record! {
    /// A component.
    Component<'a> {
        /// Its name.
        name: &'a str,
        /// The name of its program in the archive.
        program: &'a str,
        /// Pages of its stack.
        stack_pages: u16,
        /// Pages of its heap.
        heap_pages: u32,
        /// Its context.
        time: Time,
        /// Whose time it uses.
        time_source: TimeSource,
        /// Its priority.
        priority: u8,
        /// The highest priority that it may give to a thread.
        max_controlled_priority: u8,
        /// Its criticality.
        criticality: u8,
        /// The highest criticality that it may give to a thread.
        max_controlled_criticality: u8,
        /// Its core.
        core: u32,
        /// Its domain.
        domain: u8,
        /// What happens after a fault.
        on_fault: OnFault,
        /// What happens when its time is used up.
        on_timeout: OnTimeout,
        /// The most restarts within that time.
        most_restarts: u32,
        /// The time within which restarts count.
        restarts_within: u64,
        /// Whether the run ends when it ends, with its result.
        ends_run: bool,
        /// Whether it may use the floating-point unit.
        floating_point: bool,
    }
}

choice! {
    /// What a component gets, under a name on its startup page.
    Gift<'a> {
        /// The right to receive from an endpoint.
        Serve {
            /// The name.
            name: &'a str,
            /// The endpoint.
            endpoint: u16,
        } = 0,
        /// The right to call an endpoint.
        Call {
            /// The name.
            name: &'a str,
            /// The endpoint.
            endpoint: u16,
            /// The number by which the server recognises the caller.
            badge: u64,
        } = 1,
        /// The number of the bit of a signal for which it waits.
        Wait {
            /// The name.
            name: &'a str,
            /// The bit of its notification.
            bit: u8,
        } = 2,
        /// The right to signal a component.
        Signal {
            /// The name.
            name: &'a str,
            /// The component that waits.
            receiver: u16,
            /// The bit of its notification.
            bit: u8,
        } = 3,
        /// Shared memory.
        Memory {
            /// The name.
            name: &'a str,
            /// The memory.
            region: u16,
            /// Whether it may write.
            write: bool,
            /// Whether it may execute.
            execute: bool,
        } = 4,
        /// A number.
        Number {
            /// The name.
            name: &'a str,
            /// The value.
            value: u64,
        } = 5,
        /// The scheduling context of another component.
        Watch {
            /// The name, which is that of the component.
            name: &'a str,
            /// The component.
            component: u16,
            /// The parameters of its context.
            time: Time,
        } = 6,
        /// The registers of a device.
        Registers {
            /// The name.
            name: &'a str,
            /// The physical address.
            address: u64,
            /// The number of pages.
            pages: u16,
        } = 7,
        /// I/O ports of a device.
        Ports {
            /// The name.
            name: &'a str,
            /// The first port.
            first: u16,
            /// The last port.
            last: u16,
        } = 8,
        /// An interrupt.
        Interrupt {
            /// The name.
            name: &'a str,
            /// The number of the line.
            line: u32,
            /// On PCs the input of the I/O APIC.
            pin: u32,
            /// Whether it comes when the line becomes active, not as long as it is.
            edge: bool,
            /// The bit of the component's notification.
            bit: u8,
        } = 9,
        /// A text.
        Text {
            /// The name.
            name: &'a str,
            /// The text.
            value: &'a str,
        } = 10,
        /// The right to ask the supervisor.
        Supervisor {
            /// The name.
            name: &'a str,
        } = 11,
    }
}

impl<'a> Gift<'a> {
    /// Its name.
    pub fn name(&self) -> &'a str {
        match self {
            Self::Serve { name, .. }
            | Self::Call { name, .. }
            | Self::Wait { name, .. }
            | Self::Signal { name, .. }
            | Self::Memory { name, .. }
            | Self::Number { name, .. }
            | Self::Watch { name, .. }
            | Self::Registers { name, .. }
            | Self::Ports { name, .. }
            | Self::Interrupt { name, .. }
            | Self::Text { name, .. }
            | Self::Supervisor { name } => name,
        }
    }

    /// How many records it takes on a startup page.
    pub fn records(&self) -> usize {
        match self {
            Self::Serve { .. } | Self::Watch { .. } => 2,
            _ => 1,
        }
    }
}

impl Component<'_> {
    /// Whether the supervisor may have to start it again.
    pub fn may_restart(&self) -> bool {
        let restart = Action::Restart;
        self.on_fault == (OnFault::Supervisor { action: restart })
            || self.on_timeout == (OnTimeout::Supervisor { action: restart })
    }
}
