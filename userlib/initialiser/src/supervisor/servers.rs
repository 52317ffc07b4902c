//! What waits for a component that ends: its callers, and the threads whose faults it handles.

use super::Supervisor;
use system_table::{Action, Component, Gift, MOST_COMPONENTS, OnFault, OnTimeout};
use userlib::server::ABORTED;
use userlib::{Environment, Message};

/// The label of the reply after which a thread executes the instruction that has faulted once more.
const REPEAT: usize = 0;

impl Supervisor {
    /// Handles what was handled at this endpoint. Faults that wait there are repeated.
    pub(super) fn take_over(&self, environment: &mut Environment, endpoint: u16) {
        let handled = || {
            let components = self.table.components().enumerate();
            components.filter_map(|(index, (one, _))| Some((index, handler_badge(&one, endpoint)?)))
        };
        for (index, _) in handled() {
            if let Some((member, component)) =
                self.members[index].as_ref().zip(self.component(index))
            {
                // This cannot fail, as above.
                let _ = member.set_handlers(environment, &self.objects, index, &component);
            }
        }
        let waiting = self.objects.endpoints[usize::from(endpoint)];
        while handled().next().is_some()
            && let Some(received) = waiting.nb_recv(self.objects.fault_reply)
        {
            let is_fault = handled().any(|(_, badge)| badge as usize == received.badge);
            let label = if is_fault { REPEAT } else { ABORTED };
            self.objects.fault_reply.send(Message::empty(label));
        }
    }

    /// Gives the callers of a component an error, and thereby their time back. Faults that it handles are repeated.
    pub(super) fn answer_callers(&self, index: usize) {
        for endpoint in self.endpoints(index) {
            let mut gifts = self.table.components().flat_map(|(_, gifts)| gifts.iter());
            let is_called =
                |gift| matches!(gift, Gift::Call { endpoint: id, .. } if id == endpoint);
            let label = if gifts.any(is_called) {
                ABORTED
            } else {
                REPEAT
            };
            let reply = self.objects.replies[usize::from(endpoint)];
            reply.send(Message::empty(label));
        }
    }

    /// The component at `index`. The supervisor is in the place of handlers that have stopped.
    pub(super) fn component(&self, index: usize) -> Option<Component<'static>> {
        let (mut component, _) = self.table.component(index)?;
        let has_stopped = |endpoint| {
            let mut stopped = (0..MOST_COMPONENTS).filter(|&index| self.stopped[index]);
            stopped.any(|index| self.endpoints(index).any(|id| id == endpoint))
        };
        let action = Action::Stop;
        if let OnFault::Handler { endpoint, .. } = component.on_fault
            && has_stopped(endpoint)
        {
            component.on_fault = OnFault::Supervisor { action };
        }
        if let OnTimeout::Handler { endpoint, .. } = component.on_timeout
            && has_stopped(endpoint)
        {
            component.on_timeout = OnTimeout::Supervisor { action };
        }
        Some(component)
    }

    /// The endpoints at which a component serves.
    pub(super) fn endpoints(&self, index: usize) -> impl Iterator<Item = u16> + use<> {
        let gifts = self.table.component(index).map(|(_, gifts)| gifts);
        let gifts = gifts.into_iter().flat_map(|gifts| gifts.iter());
        gifts.filter_map(|gift| match gift {
            Gift::Serve { endpoint, .. } => Some(endpoint),
            _ => None,
        })
    }
}

/// The badge by which the handler at this endpoint knows a component, if it handles its faults or timeouts.
fn handler_badge(component: &Component, at: u16) -> Option<u64> {
    match (component.on_fault, component.on_timeout) {
        (OnFault::Handler { endpoint, badge }, _) | (_, OnTimeout::Handler { endpoint, badge })
            if endpoint == at =>
        {
            Some(badge)
        }
        _ => None,
    }
}
