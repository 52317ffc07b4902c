//! The requests of components that may ask the supervisor.

use super::Supervisor;
use crate::objects::{Role, badge};
use system_table::TimeSource;
use userlib::environment::PAGE;
use userlib::protocol::Text;
use userlib::supervision::{Memory, NotAgain, Report, requests};
use userlib::{Environment, Message, println};

impl Supervisor {
    /// Replies to a request.
    pub(super) fn answer(&mut self, environment: &mut Environment, message: &Message) {
        let mut desk = Desk {
            supervisor: self,
            environment,
        };
        // All that may ask have the same rights.
        let reply = requests::answer(&mut desk, 0, message);
        self.objects.fault_reply.send(reply);
    }

    /// Asks the kernel for the time that a component has used since it was last asked, which it tells once.
    fn ask_time(&mut self, index: usize) {
        let own = &self.objects.own[index];
        let emergency = own.emergency.map(|one| (Role::Emergency, one.context));
        let contexts = [Some((Role::Own, own.context)), emergency];
        for (role, context) in contexts.into_iter().flatten() {
            if let Ok(consumed) = context.consumed() {
                self.account(badge(role, index), consumed);
            }
        }
    }
}

/// The supervisor, and what it needs to start something.
struct Desk<'a> {
    supervisor: &'a mut Supervisor,
    environment: &'a mut Environment,
}

impl requests::Service for Desk<'_> {
    fn report(&mut self, _: usize, index: usize) -> Option<Report> {
        let (component, _) = self.supervisor.table.component(index)?;
        self.supervisor.ask_time(index);
        let ends = self.supervisor.ends[index];
        Some(Report {
            name: Text::new(component.name),
            is_passive: component.time_source == TimeSource::Callers,
            budget: userlib::Microseconds(component.time.budget),
            period: userlib::Microseconds(component.time.period),
            used: self.supervisor.used[index],
            has_stopped: self.supervisor.stopped[index],
            failures: ends.count,
            last: ends.last,
        })
    }

    fn memory(&mut self, _: usize, index: usize) -> Option<Memory> {
        let (component, _) = self.supervisor.table.component(index)?;
        let member = self.supervisor.members[index].as_ref()?;
        let used = member.high_water(self.environment).ok()?;
        Some(Memory {
            stack: usize::from(component.stack_pages) * PAGE,
            stack_used: used.stack,
            heap: component.heap_pages as usize * PAGE,
            heap_used: used.heap,
        })
    }

    fn restart(&mut self, _: usize, name: Text<32>) -> Result<(), NotAgain> {
        let mut components = self.supervisor.table.components();
        let index = components.position(|(one, _)| one.name == name.as_str());
        let found = index.and_then(|index| Some((index, self.supervisor.component(index)?)));
        let (index, component) = found.ok_or(NotAgain::Unknown)?;
        if self.supervisor.stopped[index] {
            return Err(NotAgain::Stopped);
        }
        if !component.may_restart() {
            return Err(NotAgain::Unprepared);
        }
        self.supervisor.answer_callers(index);
        match self.supervisor.restart(self.environment, index, &component) {
            true => {
                println!(
                    "supervisor: `{}` starts again, as it was asked",
                    component.name
                );
                Ok(())
            }
            false => Err(NotAgain::Unprepared),
        }
    }
}
