//! A component: its process, and what it gets.

use crate::devices;
use crate::objects::{Objects, Role, badge, parameters};
use system_table::{
    ArenaSize, Component, Gift, Gifts, MOST_INTERRUPTS, OnFault, OnTimeout, TimeSource,
};
use userlib::abi::thread_flags::FPU_DISABLED;
use userlib::allocator::{arena_bytes, cnode_bytes};
use userlib::cap::{Attributes, IrqHandler, Line, Tcb};
use userlib::environment::PAGE;
use userlib::loader::Program;
use userlib::process::{
    Complete, HighWater, Inspection, MOST_HEAP_PAGES, MOST_SHARED_PAGES, ProcessSize,
};
use userlib::server::Passive;
use userlib::startup::{NOTIFICATION, TIMES};
use userlib::time::Clock;
use userlib::{Environment, Error, Process, Result, Rights, boot};

/// A table that is valid fits into an address space.
const _: () = {
    const MORE: usize = system_table::MORE_PAGES as usize;
    assert!(MOST_HEAP_PAGES >= system_table::MOST_HEAP_PAGES as usize);
    assert!(MOST_SHARED_PAGES >= system_table::MOST_MAPPED_PAGES as usize + MORE);
};

/// The tool has checked that it fits into the memory: no arena takes more than the tool counts.
const _: () = {
    let mut pages = 1;
    while pages < 1 << 19 {
        let slots = pages + pages / 3;
        let size = ArenaSize { pages, slots };
        let taken = arena_bytes(pages as usize * PAGE) + cnode_bytes(slots as usize);
        assert!(taken as u64 <= size.most_pages() * PAGE as u64);
        pages += 1 + pages / 50;
    }
};

/// A component that was set up.
pub struct Member {
    /// Its process.
    process: Complete,
    /// Its program.
    program: &'static [u8],
    /// Where its stack is.
    pub size: ProcessSize,
    /// The handlers of its interrupts.
    interrupts: [Option<IrqHandler>; MOST_INTERRUPTS],
}

impl Member {
    /// Creates the process of a component and gives it everything; [`start`](Self::start) starts it.
    pub fn create(
        environment: &mut Environment,
        objects: &Objects,
        clock: &Clock,
        index: usize,
        component: &Component,
        (gifts, mapped): (Gifts, u64),
        program: &'static [u8],
    ) -> Result<Self> {
        let own = objects.own[index];
        let stack = usize::from(component.stack_pages);
        let heap = component.heap_pages as usize;
        let pages = Program::parse(program)?.pages()? + stack + heap;
        let arena = ArenaSize::of_component(pages as u64, mapped);
        let size = ProcessSize {
            memory: arena.bytes().ok_or(Error::OutOfResources)?,
            slots: arena.slots as usize,
            stack_pages: stack,
            heap_pages: heap,
            ..ProcessSize::default()
        };
        let mut process = Process::with_size(environment, program, size)?;
        clock.give(environment, &mut process)?;
        if waits(gifts) {
            process.give(environment, NOTIFICATION, own.notification, Rights::READ)?;
        }
        if let Some(times) = &own.times {
            process.share(environment, TIMES, times, Rights::READ_WRITE)?;
        }
        let mut interrupts = [None; MOST_INTERRUPTS];
        let mut free = interrupts.iter_mut();
        for gift in gifts.iter() {
            let handler = give(environment, objects, (index, component), &mut process, gift)?;
            if handler.is_some()
                && let Some(place) = free.next()
            {
                *place = handler;
            }
        }
        let process = process.complete(environment)?;
        if component.may_restart() && !process.can_reset() {
            return Err(Error::BadProgram(
                "it has too many segments to be restarted",
            ));
        }
        let member = Self {
            process,
            program,
            size,
            interrupts,
        };
        member.set_thread(environment, objects, index, component, gifts)?;
        Ok(member)
    }

    /// Makes its thread, which is new, what the description says.
    fn set_thread(
        &self,
        environment: &mut Environment,
        objects: &Objects,
        index: usize,
        component: &Component,
        gifts: Gifts,
    ) -> Result {
        let (own, tcb) = (&objects.own[index], self.process.tcb);
        tcb.set_name(component.name);
        if !component.floating_point {
            tcb.set_flags(0, FPU_DISABLED)?;
        }
        self.set_handlers(environment, objects, index, component)?;
        let authority = environment.tcb;
        tcb.set_mc_priority(authority, component.max_controlled_priority)?;
        tcb.set_priority(authority, component.priority)?;
        tcb.set_mc_criticality(authority, component.max_controlled_criticality)?;
        tcb.set_criticality(authority, component.criticality)?;
        if objects.has_domains {
            // A new thread is in the domain of its creator.
            boot::DOMAIN.set(component.domain.into(), tcb)?;
        }
        own.context.unbind()?;
        if let Some(emergency) = own.emergency {
            emergency.context.unbind()?;
        }
        match component.time_source {
            TimeSource::Callers => {
                Passive::bind(tcb, own.context, own.notification)?.lend_time()?;
            }
            TimeSource::Own => {
                own.context.bind(tcb)?;
                if is_server(gifts) && waits(gifts) {
                    tcb.bind_notification(own.notification)?;
                }
            }
        }
        Ok(())
    }

    /// Sets the handlers of its faults and timeouts.
    pub fn set_handlers(
        &self,
        environment: &mut Environment,
        objects: &Objects,
        index: usize,
        component: &Component,
    ) -> Result {
        let supervisor = (objects.faults, badge(Role::Own, index));
        let other = |endpoint: u16, badge: u64| {
            let endpoint = objects.endpoints[usize::from(endpoint)];
            (endpoint, badge as usize)
        };
        let (endpoint, own) = match component.on_fault {
            OnFault::Supervisor { .. } => supervisor,
            OnFault::Handler { endpoint, badge } => other(endpoint, badge),
        };
        let handler = environment.allocator.mint(endpoint, Rights::ALL, own)?;
        self.process.set_fault_endpoint(handler)?;
        environment.allocator.delete(handler)?;
        let (endpoint, own) = match component.on_timeout {
            OnTimeout::Wait => return Ok(()),
            OnTimeout::Supervisor { .. } | OnTimeout::Emergency { .. } => supervisor,
            OnTimeout::Handler { endpoint, badge } => other(endpoint, badge),
        };
        let handler = environment.allocator.mint(endpoint, Rights::ALL, own)?;
        self.process.tcb.set_timeout_endpoint(handler)?;
        environment.allocator.delete(handler)
    }

    /// Its thread.
    pub fn thread(&self) -> Tcb {
        self.process.tcb
    }

    /// Starts it.
    pub fn start(&self) -> Result {
        self.process.start()
    }

    /// Starts it again, with fresh memory, a new thread and its old capabilities. Its interrupts come, although it
    /// may not have acknowledged the last ones.
    pub fn restart(
        &self,
        environment: &mut Environment,
        objects: &Objects,
        index: usize,
        component: &Component,
        gifts: Gifts,
    ) -> Result {
        let program = Program::parse(self.program)?;
        self.process.reset(environment, &program)?;
        self.set_thread(environment, objects, index, component, gifts)?;
        for handler in self.interrupts.iter().flatten() {
            handler.ack()?;
        }
        self.start()
    }

    /// What it was doing when it failed.
    pub fn inspect<'a>(
        &self,
        environment: &mut Environment,
        component: &Component<'a>,
    ) -> Result<Inspection<'a>> {
        let program = Program::parse(self.program)?;
        let (process, stack) = (&self.process, self.size.stack());
        process.inspect(environment, component.program, &program, &stack)
    }

    /// How much of its stack and its heap it has used at the most.
    pub fn high_water(&self, environment: &mut Environment) -> Result<HighWater> {
        let program = Program::parse(self.program)?;
        self.process.high_water(environment, &program, self.size)
    }

    /// Stops it.
    pub fn stop(&self) -> Result {
        self.process.tcb.suspend()
    }
}

/// Whether a component serves.
fn is_server(gifts: Gifts) -> bool {
    gifts.iter().any(|gift| matches!(gift, Gift::Serve { .. }))
}

/// Whether a component waits for signals or interrupts.
fn waits(gifts: Gifts) -> bool {
    let is_signal = |gift| matches!(gift, Gift::Wait { .. } | Gift::Interrupt { .. });
    gifts.iter().any(is_signal)
}

/// Gives one thing to a component. Returns the handler if it is an interrupt.
fn give(
    environment: &mut Environment,
    objects: &Objects,
    (index, component): (usize, &Component),
    process: &mut Process,
    gift: Gift,
) -> Result<Option<IrqHandler>> {
    let endpoint = |id: u16| objects.endpoints[usize::from(id)];
    match gift {
        Gift::Serve { name, endpoint: id } => {
            let reply = objects.replies[usize::from(id)];
            process.give_server(environment, name, endpoint(id), reply)?;
        }
        Gift::Call {
            name,
            endpoint: id,
            badge,
        } => {
            let rights = Rights::WRITE.union(Rights::GRANT_REPLY);
            process.give_badged(environment, name, endpoint(id), rights, badge as usize)?;
        }
        Gift::Supervisor { name } => {
            let rights = Rights::WRITE.union(Rights::GRANT_REPLY);
            let own = badge(Role::Request, index);
            process.give_badged(environment, name, objects.faults, rights, own)?;
        }
        Gift::Wait { name, bit } => process.give_number(environment, name, bit.into())?,
        Gift::Signal {
            name,
            receiver,
            bit,
        } => {
            let notification = objects.own[usize::from(receiver)].notification;
            let badge = 1usize.checked_shl(bit.into()).unwrap_or_default();
            process.give_badged(environment, name, notification, Rights::WRITE, badge)?;
        }
        Gift::Memory {
            name,
            region,
            write,
            execute,
        } => {
            let rights = if write {
                Rights::READ_WRITE
            } else {
                Rights::READ
            };
            let attributes = match execute {
                _ if !objects.is_cacheable(region) => Attributes::DEVICE,
                true => Attributes::NORMAL,
                false => Attributes::NO_EXECUTE,
            };
            let frames = objects.region(region).iter();
            process.map_all(environment, name, frames, rights, attributes)?;
        }
        Gift::Number { name, value } => process.give_number(environment, name, value as usize)?,
        Gift::Text { name, value } => process.give_text(environment, name, value)?,
        Gift::Watch {
            name,
            component,
            time,
        } => {
            let context = objects.own[usize::from(component)].context;
            process.give_watched(
                environment,
                name,
                context,
                component.into(),
                &parameters(time),
            )?;
        }
        Gift::Registers {
            name,
            address,
            pages,
        } => devices::give_registers(environment, process, name, address, pages)?,
        Gift::Ports { name, first, last } => {
            devices::give_ports(environment, process, name, first, last)?;
        }
        Gift::Interrupt {
            name,
            line,
            pin,
            edge,
            bit,
        } => {
            let line = Line {
                number: line as usize,
                pin: pin as usize,
                edge,
                core: component.core as usize,
            };
            let notification = objects.own[index].notification;
            return devices::give_interrupt(environment, process, name, line, notification, bit)
                .map(Some);
        }
    }
    Ok(None)
}
