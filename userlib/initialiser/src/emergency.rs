//! Emergency time: a component whose time is used up continues on a context that is set aside for this.
//!
//! A passive server continues until it receives again. Then the kernel returns the context to the server's
//! notification, as it does with the time that is lent to it at the start.
//!
//! A component with time of its own continues until there is budget in its own context again. The supervisor learns
//! this from a *replenishment notifier*: a thread that has the component's own context meanwhile, and whose first
//! instruction is at an address without memory. So it has a fault as soon as it has budget.

use crate::objects::{Objects, Own, Role, badge, context};
use system_table::{Component, OnTimeout, TimeSource};
use userlib::cap::{Reply, SchedContext, Tcb};
use userlib::{BootInfo, Environment, Message, Result, Rights, boot};

/// What lets a component continue.
#[derive(Clone, Copy)]
pub struct Emergency {
    /// The context that is set aside.
    pub context: SchedContext,
    /// The replenishment notifier, which waits for the component's own time. That of a passive server has no use.
    notifier: Tcb,
}

impl Emergency {
    /// What a component needs, if its description gives it emergency time. The supervisor gets the notifier's faults.
    pub fn create(
        boot: &BootInfo,
        environment: &mut Environment,
        objects: &Objects,
        index: usize,
        component: &Component,
    ) -> Result<Option<Self>> {
        let OnTimeout::Emergency { time } = component.on_timeout else {
            return Ok(None);
        };
        let own = badge(Role::Emergency, index);
        let context = context(boot, environment, time, component.core, own)?;
        let notifier: Tcb = environment.allocator.create()?;
        let told = badge(Role::Notifier, index);
        let handler = environment
            .allocator
            .mint(objects.faults, Rights::ALL, told)?;
        notifier.set_space(handler, boot::CNODE, 0, boot::VSPACE)?;
        environment.allocator.delete(handler)?;
        notifier.set_priority(environment.tcb, component.priority)?;
        notifier.set_criticality(environment.tcb, component.criticality)?;
        if objects.has_domains {
            boot::DOMAIN.set(component.domain.into(), notifier)?;
        }
        // It has no time yet. Its registers are 0, and there is no memory at this address.
        notifier.resume()?;
        Ok(Some(Self { context, notifier }))
    }

    /// Lets the component `thread` continue, which has used up `spent`: its own time, or that of a caller. `reply`
    /// replies to its timeout.
    ///
    /// # Errors
    /// If it cannot get emergency time. It has none then.
    pub fn begin(
        &self,
        own: &Own,
        source: TimeSource,
        (thread, reply): (Tcb, Reply),
        spent: SchedContext,
    ) -> Result {
        // At a limit, the kernel has returned it to the caller already.
        let _ = spent.unbind_object(thread);
        match source {
            TimeSource::Callers => {
                // It may be there since an earlier emergency.
                let _ = own.context.unbind_object(own.notification);
                let _ = self.context.bind_notification(own.notification);
            }
            TimeSource::Own => own.context.bind(self.notifier)?,
        }
        self.put(thread, reply, self.context)
    }

    /// Lets the component `thread` continue on its own time. `reply` replies to its timeout, or to the notifier's fault,
    /// after which it does so. `has_none` says that it has no emergency time any more.
    ///
    /// # Errors
    /// If it has neither afterwards.
    pub fn end(&self, own: &Own, (thread, reply): (Tcb, Reply), has_none: bool) -> Result<End> {
        // After the notifier's fault it has no time.
        let _ = own.context.unbind_object(self.notifier);
        if !has_none && self.context.unbind_object(thread).is_err() {
            reply.send(Message::empty(0));
            return Ok(End::WithServer);
        }
        if self.put(thread, reply, own.context).is_ok() {
            return Ok(End::Done);
        }
        // It waits for something, and the notifier has used so much that there is no budget any more.
        own.context.bind(self.notifier)?;
        Ok(End::Later)
    }

    /// Replies, and then gives a context: the kernel gives one without budget only to a thread that does not wait.
    fn put(&self, thread: Tcb, reply: Reply, context: SchedContext) -> Result {
        reply.send(Message::empty(0));
        context.bind(thread)
    }
}

/// What has become of a component whose own time has come back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// It has its own time.
    Done,
    /// It has no time until the notifier's next fault.
    Later,
    /// A server that it calls has its emergency time, which it keeps until that is used up.
    WithServer,
}
