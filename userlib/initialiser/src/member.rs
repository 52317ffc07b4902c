//! A component: its process, and what it gets.

use crate::devices;
use crate::objects::{Objects, badge, parameters};
use system_table::{Component, Gift, Gifts, MOST_INTERRUPTS, OnFault, OnTimeout, TimeSource};
use userlib::cap::{Attributes, IrqHandler, Line};
use userlib::loader::Program;
use userlib::process::{Complete, ProcessSize};
use userlib::server::Passive;
use userlib::startup::TIMES;
use userlib::time::Clock;
use userlib::{Environment, Error, Process, Result, Rights};

/// Pages that the clock takes at the most.
const CLOCK: usize = 1;
/// The page with the times that timeouts have reported.
const REPORTED: usize = 1;

/// A component that was set up.
pub struct Member {
    /// Its process.
    process: Complete,
    /// Its program.
    program: &'static [u8],
    /// Where its stack is.
    pub size: ProcessSize,
    /// If it is passive, how it gets its first time.
    passive: Option<Passive>,
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
        gifts: Gifts,
        program: &'static [u8],
    ) -> Result<Self> {
        let own = objects.own[index];
        let mapped = |gift: Gift| match gift {
            Gift::Memory { region, .. } => objects.region(region).len(),
            Gift::Registers { pages, .. } => pages.into(),
            _ => 0,
        };
        let mapped: usize = gifts.iter().map(mapped).sum();
        let size = ProcessSize::of(
            &Program::parse(program)?,
            component.stack_pages.into(),
            component.heap_pages.into(),
            mapped + CLOCK + REPORTED,
        )?;
        let mut process = Process::with_size(environment, program, size)?;
        process.set_name(component.name);
        clock.give(environment, &mut process)?;
        let is_server = gifts.iter().any(|gift| matches!(gift, Gift::Serve { .. }));
        let is_signal = |gift| matches!(gift, Gift::Wait { .. } | Gift::Interrupt { .. });
        let waits = gifts.iter().any(is_signal);
        if waits {
            process.give(environment, "notification", own.notification, Rights::READ)?;
        }
        let watches = gifts.iter().any(|gift| matches!(gift, Gift::Watch { .. }));
        if watches {
            process.share(environment, TIMES, &objects.times, Rights::READ)?;
        }
        let mut interrupts = [None; MOST_INTERRUPTS];
        let mut free = interrupts.iter_mut();
        for gift in gifts.iter() {
            let handler = give(environment, objects, index, &mut process, gift)?;
            if handler.is_some()
                && let Some(place) = free.next()
            {
                *place = handler;
            }
        }
        handlers(environment, objects, &mut process, index, component)?;
        process.set_priorities(
            environment,
            component.priority,
            component.max_controlled_priority,
        )?;
        process.set_criticalities(
            environment,
            component.criticality,
            component.max_controlled_criticality,
        )?;
        let passive = match component.time_source {
            TimeSource::Callers => Some(Passive::bind(&process, own.context, own.notification)?),
            TimeSource::Own => {
                process.set_context(own.context)?;
                if waits && is_server {
                    process.tcb.bind_notification(own.notification)?;
                }
                None
            }
        };
        let process = process.complete();
        if component.may_restart() && !process.can_reset() {
            return Err(Error::BadProgram("it has too much memory to be restarted"));
        }
        Ok(Self {
            process,
            program,
            size,
            passive,
            interrupts,
        })
    }

    /// Starts it.
    pub fn start(&self) -> Result {
        if let Some(passive) = self.passive {
            passive.lend_time()?;
        }
        self.process.start()
    }

    /// Starts it again, with fresh memory and its old capabilities. Its interrupts come, although it may not have
    /// acknowledged the last ones.
    pub fn restart(&self, environment: &mut Environment) -> Result {
        self.process.tcb.suspend()?;
        self.process
            .reset(environment, &Program::parse(self.program)?)?;
        for handler in self.interrupts.iter().flatten() {
            handler.ack()?;
        }
        self.start()
    }

    /// Stops it.
    pub fn stop(&self) -> Result {
        self.process.tcb.suspend()
    }

    /// Whether it uses the time of its callers.
    pub fn is_passive(&self) -> bool {
        self.passive.is_some()
    }
}

/// Gives one thing to the component at `index`. Returns the handler if it is an interrupt.
fn give(
    environment: &mut Environment,
    objects: &Objects,
    index: usize,
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
            let frames = objects.region(region);
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
            };
            let notification = objects.own[index].notification;
            return devices::give_interrupt(environment, process, name, line, notification, bit)
                .map(Some);
        }
    }
    Ok(None)
}

/// Sets the handlers of its faults and timeouts.
fn handlers(
    environment: &mut Environment,
    objects: &Objects,
    process: &mut Process,
    index: usize,
    component: &Component,
) -> Result {
    let (endpoint, own) = match component.on_fault {
        OnFault::Supervisor { .. } => (objects.faults, badge(index)),
        OnFault::Handler { endpoint, badge } => {
            (objects.endpoints[usize::from(endpoint)], badge as usize)
        }
    };
    process.set_fault_endpoint(environment, endpoint, own)?;
    match component.on_timeout {
        OnTimeout::Wait => Ok(()),
        OnTimeout::Supervisor { .. } => {
            process.set_timeout_endpoint(environment, objects.faults, badge(index))
        }
        OnTimeout::Handler { endpoint, badge } => {
            let endpoint = objects.endpoints[usize::from(endpoint)];
            process.set_timeout_endpoint(environment, endpoint, badge as usize)
        }
    }
}
